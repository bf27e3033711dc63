import { orderNoOf } from '@dealer-esim/contract'
import { audit, type By } from '../../audit/audit.ts'
import { notFound, Refusal } from '../../lib/refusal.ts'
import { changeOrders } from '../../orders/change.ts'
import { parseReason } from '../../orders/justification.ts'
import { lockWalletAndOrders } from '../../orders/lock.ts'
import { refundItems } from '../../orders/refund.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'
import { writeItems } from '../outcomes/items.ts'

/**
 * Cancels and refunds an order that was not sent to any supplier yet. An attempt to send it is committed under the same order
 * lock, so only one of the two happens.
 *
 * Locks: the wallet, the order.
 * @throws Refusal without a reason, or once the order was sent to a supplier: then only its eSIMs can be cancelled.
 */
export async function cancelOrder(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'wake'>,
  input: { tenantId: string; orderId: string; reason: string },
  by: By,
): Promise<void> {
  const { tenantId, orderId } = input
  const reason = parseReason(input.reason)
  await deps.db.tx(async (tx) => {
    const { orders, now } = await lockWalletAndOrders(tx, tenantId, [orderId])
    const order = orders.get(orderId)
    if (order === undefined) throw notFound('order')
    if (order.orderStatus !== 'PAID') {
      const message = `The order is ${order.orderStatus}. Only an order that was not sent to a supplier yet can be cancelled.`
      throw new Refusal(409, 'ORDER_IN_WORK', message)
    }
    if (order.items.some((item) => item.itemStatus !== 'WAITING')) {
      const message =
        'The order is being sent to a supplier. Only an order that was not sent to a supplier yet can be cancelled.'
      throw new Refusal(409, 'ORDER_IN_WORK', message)
    }
    for (const item of order.items) Object.assign(item, { itemStatus: 'CANCELLED', failureReason: reason })
    const items = order.items.map((item) => ({ orderId, item }))
    writeItems(tx, tenantId, items, now)
    const refunds = order.items.map((item) => ({ itemNo: item.itemNo, amount: item.price }))
    await refundItems(tx, tenantId, order, refunds, reason)
    changeOrders(tx, deps, tenantId, [{ order, profilesChanged: false, release: { dueAt: null } }], now)
    const after = { orderStatus: 'CANCELLED', reason }
    audit(tx, deps.ids, { tenantId, ...by, action: 'order.cancel', subject: orderNoOf(orderId), after })
  })
  deps.wake.wake('webhooks')
}
