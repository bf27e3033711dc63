import type { Tx } from '../../lib/postgres/db.ts'

/** An item of a closed order whose supplier must be asked again. */
export interface WatchedItemKey {
  orderId: string
  itemNo: number
  purpose: 'REFUNDED_IN_DOUBT' | 'DELIVERED_IN_DOUBT'
}

export interface WatchedItem extends WatchedItemKey {
  /** The supplier to ask. The item itself may belong to another one by now. */
  supplier: string
  /** The product that was ordered there. */
  productCode: string | null
}

const DAY_MS = 86_400_000
/** An eSIM that has not arrived a month after its item closed will not arrive. The supplier's list would still show it. */
const WATCHED_MS = 30 * DAY_MS
const FIRST_ASK_MS = 60_000

/** Makes reconciliation ask the supplier about the item until it answers or the time is up. */
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
      new Date(now.getTime() + WATCHED_MS),
    ],
  })
}

export function unwatchItem(tx: Tx, tenantId: string, { orderId, itemNo, purpose }: WatchedItemKey): void {
  tx.send({
    text: `delete from watched_items where tenant_id = $1 and order_id = $2 and item_no = $3 and purpose = $4`,
    values: [tenantId, orderId, itemNo, purpose],
  })
}
