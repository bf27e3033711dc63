import type { Tx } from '../../lib/postgres/db.ts'

export interface WatchedItemKey {
  orderId: string
  itemNo: number
  purpose: 'REFUNDED_IN_DOUBT' | 'DELIVERED_IN_DOUBT' | 'CANCEL'
}

/** And whom to ask: an item may be another supplier's than the one that is in doubt. */
export interface WatchedItem extends WatchedItemKey {
  supplier: string
  /** What it was asked for there. */
  productCode: string | null
}

const DAY_MS = 86_400_000
/** An eSIM that has not come a month after its item was settled will not come; the supplier's list still shows it. */
const WATCHED_MS = { REFUNDED_IN_DOUBT: 30 * DAY_MS, DELIVERED_IN_DOUBT: 30 * DAY_MS, CANCEL: 7 * DAY_MS } as const
const FIRST_ASK_MS = 60_000

/** Makes reconciliation ask about an item of a settled order. */
export function watchItem(tx: Tx, tenantId: string, watched: WatchedItem, now: Date): void {
  const { orderId, itemNo, purpose, supplier, productCode } = watched
  tx.send({
    text: `insert into watched_items (tenant_id, order_id, item_no, purpose, supplier, product_code, due_at, give_up_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
    values: [
      tenantId,
      orderId,
      itemNo,
      purpose,
      supplier,
      productCode,
      new Date(now.getTime() + FIRST_ASK_MS),
      new Date(now.getTime() + WATCHED_MS[purpose]),
    ],
  })
}

export function unwatchItem(tx: Tx, tenantId: string, { orderId, itemNo, purpose }: WatchedItemKey): void {
  tx.send({
    text: `delete from watched_items where tenant_id = $1 and order_id = $2 and item_no = $3 and purpose = $4`,
    values: [tenantId, orderId, itemNo, purpose],
  })
}
