import { type OrderStatus, orderNoOf } from '@dealer-esim/contract'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { changeOrders } from '#orders/change-order.ts'
import { parseReason } from '#orders/justification.ts'
import { type LockedItem, lockWalletAndOrders } from '#orders/lock-orders.ts'
import { refundItems } from '#orders/refund.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { requireReleased } from '#platform/held-tenants.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { writeItems } from '../outcomes/outcome-items.ts'

/**
 * Refunds what an order still waits for, such as a supplier that is paused or lacks money. An order that has not been sent
 * to any supplier yet becomes CANCELLED. In any other order, the waiting eSIMs count as refused, and the delivered ones are
 * kept. An attempt is committed under the same order lock, so an eSIM is either bought or refunded.
 * Locks: the wallet, the order.
 * @returns the status that the order has now
 * @throws Refusal without a reason, if nothing is waiting, or while an eSIM is being bought, in doubt or under review
 */
export async function cancelOrder(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'wake'>,
  input: { tenantId: string; orderId: string; reason: string },
  by: By,
): Promise<OrderStatus> {
  const { tenantId, orderId } = input
  const reason = parseReason(input.reason)
  const orderStatus = await deps.db.tx(async (tx) => {
    const { orders, now } = await lockWalletAndOrders(tx, tenantId, [orderId])
    const order = orders.get(orderId)
    if (order === undefined) throw notFound('order')
    if (order.items.some(isUndecided)) {
      const message =
        'A supplier is still being asked for eSIMs in this order, or has not reported the outcome. Try again once every eSIM is decided.'
      throw new Refusal(409, 'ORDER_IN_WORK', message)
    }
    await requireReleased(
      tx,
      tenantId,
      'A supplier may have delivered the order since the backup. Ask, then use: order settle.',
    )
    const waiting = order.items.filter((item) => item.itemStatus === 'WAITING')
    if (waiting.length === 0) {
      const message = `The order is ${order.orderStatus}, and none of its eSIMs is waiting for a supplier.`
      throw new Refusal(409, 'ORDER_IN_WORK', message)
    }
    const itemStatus = order.orderStatus === 'PAID' ? 'CANCELLED' : 'REFUSED'
    for (const item of waiting) Object.assign(item, { itemStatus, failureReason: reason })
    writeItems(
      tx,
      tenantId,
      waiting.map((item) => ({ orderId, item })),
      now,
    )
    const refunds = waiting.map((item) => ({ itemNo: item.itemNo, amount: item.price }))
    await refundItems(tx, tenantId, order, refunds, reason)
    changeOrders(tx, deps, tenantId, [{ order, profilesChanged: false, release: { dueAt: null } }], now)
    const after = { orderStatus: order.orderStatus, reason, refundedItems: waiting.map(({ itemNo }) => itemNo) }
    audit(tx, deps.ids, { tenantId, ...by, action: 'order.cancel', subject: orderNoOf(orderId), after })
    return order.orderStatus
  })
  deps.wake.wake('webhooks')
  return orderStatus
}

function isUndecided({ itemStatus }: LockedItem): boolean {
  return itemStatus === 'ASKED' || itemStatus === 'UNKNOWN' || itemStatus === 'REVIEW'
}
