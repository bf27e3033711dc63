import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { isUnfinished } from '#orders/order-item.ts'
import { isHeld } from '#platform/held-tenants.ts'

interface AskDeps {
  db: Db
  wake: Pick<Wakeups<'fulfilment'>, 'wake'>
}

/**
 * Makes fulfilment query the suppliers about an order now, not when the next query is due. A worker that holds the order's
 * lease sees the new time after its current pass. Suppliers are not queried about an item that only an operator can decide.
 * @param itemNo only this item; undefined: all undecided items
 * @returns false if no item of the order is undecided
 */
export async function askNow(
  deps: AskDeps,
  { tenantId, orderId, itemNo }: { tenantId: string; orderId: string; itemNo?: number },
): Promise<boolean> {
  const isOpen = await deps.db.tx(async (tx) => {
    const rows = await tx.query({
      text: `update orders o set due_at = now()
             where tenant_id = $1 and order_id = $2 and due_at is not null and ${isUnfinished('o')}
               and not ${isHeld('o.tenant_id')} returning order_id`,
      values: [tenantId, orderId],
    })
    tx.send({
      text: `update order_items set retry_at = now()
             where tenant_id = $1 and order_id = $2 and ($3::int is null or item_no = $3)
               and item_status in ('WAITING', 'UNKNOWN', 'REVIEW') and retry_at > now()`,
      values: [tenantId, orderId, itemNo ?? null],
    })
    return rows.length > 0
  })
  if (isOpen) deps.wake.wake('fulfilment')
  return isOpen
}

/** The same for an operator. @throws Refusal if there is no such order, or none of its items is undecided */
export async function askAboutOrder(deps: AskDeps, order: { tenantId: string; orderId: string }): Promise<void> {
  if (await askNow(deps, order)) return
  const known = await deps.db.query({
    text: 'select from orders where tenant_id = $1 and order_id = $2',
    values: [order.tenantId, order.orderId],
  })
  if (known.length === 0) throw notFound('order')
  throw new Refusal(
    409,
    'ORDER_DECIDED',
    'This order is not waiting for a supplier: reload the page to see its result.',
  )
}
