import { failpoint } from '../../lib/process/failpoint.ts'
import { lockOrders, lockWalletAndOrders } from '../../orders/lock.ts'
import type { DeliveredEsim } from '../../suppliers/supplier.ts'
import { type LeaseState, OutcomeBatch } from './apply-outcome.ts'
import { finishAttempts, type ItemResult } from './attempts.ts'
import type { FulfilmentDeps } from './deps.ts'
import { doubtEsimsResolvedElsewhere } from './resolved-elsewhere.ts'

/**
 * Saves outcomes and all that follows from them in one transaction: items, profiles, refunds, order statuses, events.
 * With a lease token, only for orders still held under it. The attempts of the others stay open, and the worker that has
 * taken those orders over asks about them. Two round trips, and three more for each order with a refund.
 *
 * Locks: the resolution lock, shared, where an eSIM is delivered; the wallet where an item was refused; then the orders,
 * ascending.
 * @returns the results whose orders are no longer held, and when one of the held orders is due again.
 */
export async function saveOutcomes(
  deps: FulfilmentDeps,
  tenantId: string,
  lease: LeaseState,
  results: readonly ItemResult[],
): Promise<{ lost: ItemResult[]; nextDueAt: Date | undefined }> {
  await failpoint('fulfilment.after-call')
  // A claim has refreshed the catalogue. Without a claim this node may not know the package yet, and the eSIM would get
  // no duration.
  const catalogue = await (lease.leaseToken === undefined ? deps.catalogue.latest() : deps.catalogue.current(0n))
  const { lost, nextDueAt, eventsToSend } = await deps.db.tx(async (tx) => {
    const refunds = results.some((result) => result.outcome.kind === 'refused')
    const orderIds = [...new Set(results.map((result) => result.orderId))].sort()
    const lock = refunds ? lockWalletAndOrders : lockOrders
    const [checked, { orders, now }] = await Promise.all([
      doubtEsimsResolvedElsewhere(tx, deps.linkKey, results),
      lock(tx, tenantId, orderIds, lease.leaseToken),
    ])
    if (checked !== results) {
      deps.log.warn(
        { tenantId, orderIds },
        'a supplier delivered an eSIM that an operator has recorded for another item',
      )
    }
    const held = checked.filter((result) => orders.has(result.orderId))
    const batch = new OutcomeBatch(deps, tenantId, now, (code) => catalogue.find(code))
    for (const result of held) batch.apply(orders.get(result.orderId)!, result)
    finishAttempts(tx, tenantId, held, now)
    await failpoint('fulfilment.outcome-half-written')
    const nextDueAt = batch.release(orders, lease)
    const eventsToSend = await batch.write(tx, orders)
    await failpoint('fulfilment.before-outcome-commit')
    return { lost: results.filter((result) => !orders.has(result.orderId)), nextDueAt, eventsToSend }
  })
  await failpoint('fulfilment.after-outcome')
  if (eventsToSend) deps.wake.wake('webhooks')
  return { lost, nextDueAt }
}

/** Saves an eSIM that was found at a supplier: delivered where the item still needs it, otherwise kept as an orphan. */
export async function acceptEsim(
  deps: FulfilmentDeps,
  tenantId: string,
  item: { orderId: string; itemNo: number; supplier: string },
  esim: DeliveredEsim,
): Promise<void> {
  await saveOutcomes(deps, tenantId, { leaseToken: undefined }, [{ ...item, outcome: { kind: 'delivered', esim } }])
}

/**
 * Saves the eSIMs among answers that came too late to be saved under a lease: after our time-out, or after another worker
 * took the order over. A refusal or retry that late proves nothing and is ignored.
 */
export async function acceptLateEsims(
  deps: FulfilmentDeps,
  tenantId: string,
  results: readonly ItemResult[],
): Promise<void> {
  const delivered = results.filter((result) => result.outcome.kind === 'delivered')
  if (delivered.length === 0) return
  for (const { orderId, itemNo } of delivered) deps.log.warn({ tenantId, orderId, itemNo }, 'an eSIM arrived late')
  await saveOutcomes(deps, tenantId, { leaseToken: undefined }, delivered)
}
