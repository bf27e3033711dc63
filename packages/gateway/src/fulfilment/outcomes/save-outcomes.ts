import type { Tx } from '../../lib/postgres/db.ts'
import { failpoint } from '../../lib/process/failpoint.ts'
import { lockOrders, lockWalletAndOrders } from '../../orders/lock.ts'
import type { DeliveredEsim } from '../../suppliers/supplier.ts'
import { type ItemResult, type LeaseState, OutcomeBatch } from './apply-outcome.ts'
import type { FulfilmentDeps } from './deps.ts'
import { doubtEsimsResolvedElsewhere } from './resolved-elsewhere.ts'

/**
 * Writes outcomes, and everything that follows from them, in one transaction: items, profiles, refunds, order statuses,
 * events. With a lease, only for orders that we still hold it of: of the others nothing is written, their attempts stay
 * open, and whoever took them over asks about them. Two round trips, and three for each order with a refund.
 *
 * Locks: settling, shared, where an eSIM is delivered; the wallet where something was refused; then the orders, ascending.
 * @returns the results that were not ours to write any more, and when one of the orders is due again.
 */
export async function saveOutcomes(
  deps: FulfilmentDeps,
  tenantId: string,
  standing: LeaseState,
  results: readonly ItemResult[],
): Promise<{ lost: ItemResult[]; nextDue: Date | undefined }> {
  await failpoint('fulfilment.after-call')
  // A claim has brought the catalogue up to date. Without one this node may not know the package yet, and the eSIM would
  // have no duration.
  const catalogue = await (standing.leaseToken === undefined ? deps.catalogue.latest() : deps.catalogue.current(0n))
  const { lost, nextDue, eventsToSend } = await deps.db.tx(async (tx) => {
    const refunds = results.some((result) => result.outcome.kind === 'refused')
    const orderIds = [...new Set(results.map((result) => result.orderId))].sort()
    const lock = refunds ? lockWalletAndOrders : lockOrders
    const [judged, { orders, now }] = await Promise.all([
      doubtEsimsResolvedElsewhere(tx, deps.linkKey, results),
      lock(tx, tenantId, orderIds, standing.leaseToken),
    ])
    if (judged !== results) deps.log.warn({ tenantId, orderIds }, 'an eSIM came with which another item was settled')
    const held = judged.filter((result) => orders.has(result.orderId))
    const consequences = new OutcomeBatch(deps, tenantId, now, (code) => catalogue.find(code))
    for (const result of held) consequences.apply(orders.get(result.orderId)!, result)
    finishAttempts(tx, tenantId, held, now)
    await failpoint('fulfilment.outcome-half-written')
    const due = consequences.release(orders, standing)
    const told = await consequences.write(tx, orders)
    await failpoint('fulfilment.before-outcome-commit')
    return { lost: results.filter((result) => !orders.has(result.orderId)), nextDue: due, eventsToSend: told }
  })
  await failpoint('fulfilment.after-outcome')
  if (eventsToSend) deps.wake.wake('webhooks')
  return { lost, nextDue }
}

function finishAttempts(tx: Tx, tenantId: string, results: readonly ItemResult[], now: Date): void {
  const finished = results.filter((result) => result.attempt !== undefined)
  if (finished.length === 0) return
  tx.send({
    name: 'fulfilment-finish-attempts',
    text: `update supplier_attempts a set finished_at = $5, outcome = f.outcome, message = f.message
           from unnest($2::uuid[], $3::text[], $4::text[]) as f(attempt_id, outcome, message)
           where a.tenant_id = $1 and a.attempt_id = f.attempt_id and a.outcome is null`,
    values: [
      tenantId,
      finished.map((result) => result.attempt!.attemptId),
      finished.map((result) => result.outcome.kind),
      finished.map((result) => ('words' in result.outcome ? result.outcome.words : null)),
      now,
    ],
  })
}

/*
 * That an eSIM exists is a fact, whoever brings it: it is delivered where the item still wants it, else kept as an orphan.
 */

/** Takes in an eSIM that a supplier was found to have delivered, by no attempt of ours that is still open. */
export async function acceptEsim(
  deps: FulfilmentDeps,
  tenantId: string,
  item: { orderId: string; itemNo: number; supplier: string },
  esim: DeliveredEsim,
): Promise<void> {
  await saveOutcomes(deps, tenantId, { leaseToken: undefined }, [{ ...item, outcome: { kind: 'delivered', esim } }])
}

/**
 * Takes in the eSIMs among answers that arrived without a lease to write them under: after our time-out, or after
 * somebody took the order over. Refusals and retries that come this late say nothing.
 */
export async function acceptLateEsims(
  deps: FulfilmentDeps,
  tenantId: string,
  results: readonly ItemResult[],
): Promise<void> {
  const arrived = results.filter((result) => result.outcome.kind === 'delivered')
  if (arrived.length === 0) return
  for (const { orderId, itemNo } of arrived) deps.log.warn({ tenantId, orderId, itemNo }, 'an eSIM arrived late')
  await saveOutcomes(deps, tenantId, { leaseToken: undefined }, arrived)
}
