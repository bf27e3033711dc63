import { audit, type By } from '../../audit/audit.ts'
import { orderNoOf } from '../../lib/ids.ts'
import { notFound, Refusal } from '../../lib/refusal.ts'
import { changeOrders } from '../../orders/change.ts'
import { lockWalletAndOrders } from '../../orders/lock.ts'
import { refundItems } from '../../orders/refund.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'
import { writeItems } from '../outcomes/items.ts'
import { parseReason } from './justification.ts'

/**
 * Cancels an order that no supplier was asked for yet, and refunds it. The attempt that would ask one is committed
 * under the order's row lock, as this is: one of the two comes first.
 *
 * Locks: the wallet, the order.
 * @throws Refusal without a reason, or once a supplier was asked: then only the eSIMs can be cancelled, one by one.
 */
export async function cancelOrder(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'wake'>,
  asked: { tenantId: string; orderId: string; reason: string },
  by: By,
): Promise<void> {
  const { tenantId, orderId } = asked
  const reason = parseReason(asked.reason)
  await deps.db.tx(async (tx) => {
    const { orders, now } = await lockWalletAndOrders(tx, tenantId, [orderId])
    const order = orders.get(orderId)
    if (order === undefined) throw notFound('order')
    if (order.orderStatus !== 'PAID') {
      const words = `The order is ${order.orderStatus}: only one that no supplier was asked for can be cancelled.`
      throw new Refusal(409, 'ORDER_IN_WORK', words)
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
