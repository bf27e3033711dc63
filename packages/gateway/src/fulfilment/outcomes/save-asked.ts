import { failpoint } from '../../lib/process/failpoint.ts'
import { changeOrders } from '../../orders/change.ts'
import { lockOrders } from '../../orders/lock.ts'
import type { HeldLease } from './apply-outcome.ts'
import type { FulfilmentDeps } from './deps.ts'
import { type Attempt, applyUnwritten, markWritten, writeItems } from './items.ts'

/**
 * Writes which items are asked for while their suppliers take long, so that dealers see the order ALLOCATING. Otherwise this is
 * written with the outcome. Two round trips.
 *
 * Locks: the orders, ascending, as long as their lease is held.
 */
export async function saveAsked(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'wake' | 'orderMetrics'>,
  tenantId: string,
  lease: HeldLease,
  attempts: readonly Attempt[],
): Promise<void> {
  const orderIds = [...new Set(attempts.map(({ orderId }) => orderId))].sort()
  await failpoint('fulfilment.before-asked')
  const eventsToSend = await deps.db.tx(async (tx) => {
    const { orders, now } = await lockOrders(tx, tenantId, orderIds, lease.leaseToken)
    const asked = [...orders.values()].map((order) => ({
      order,
      items: applyUnwritten(order, lease.unwritten(order.orderId)),
    }))
    writeItems(
      tx,
      tenantId,
      asked.flatMap(({ order: { orderId }, items }) => items.map((item) => ({ orderId, item }))),
      now,
    )
    const changes = asked.map(({ order }) => ({ order, profilesChanged: false }))
    await failpoint('fulfilment.asked-half-written')
    return changeOrders(tx, deps, tenantId, changes, now)
  })
  markWritten(attempts)
  await failpoint('fulfilment.after-asked')
  if (eventsToSend) deps.wake.wake('webhooks', [tenantId])
}
