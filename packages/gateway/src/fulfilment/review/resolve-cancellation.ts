import { orderNoOf } from '@dealer-esim/contract'
import { audit, type By } from '../../audit/audit.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { notFound, Refusal } from '../../lib/refusal.ts'
import { lockWalletAndOrders } from '../../orders/lock.ts'
import { findCancellableEsim, wasNeverUsed } from '../cancelling/cancellable-esim.ts'
import { parseEvidence } from '../cancelling/justification.ts'
import { writeCancellation } from '../cancelling/save-cancellation.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'

/**
 * Records what a supplier said about a cancellation that it never answered: cancelled unused (the eSIM is refunded) or kept.
 *
 * Locks: the wallet, the order.
 * @throws Refusal where the eSIM has no pending cancellation, or is to be refunded but was used.
 */
export async function resolveCancellation(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'cipher' | 'wake'>,
  resolution: { tenantId: string; profileId: string; verdict: 'cancelled' | 'kept'; evidence: string },
  by: By,
): Promise<void> {
  const { tenantId, profileId, verdict } = resolution
  const evidence = parseEvidence(resolution.evidence)
  const profile = await findCancellableEsim(deps, tenantId, profileId)
  if (profile === undefined) throw notFound('eSIM')
  const { orderId, itemNo } = profile.esim
  await deps.db.tx(async (tx) => {
    if (verdict === 'cancelled') await refuseUsed(tx, tenantId, orderId, profileId)
    const outcome =
      verdict === 'cancelled'
        ? ({ kind: 'cancelled' } as const)
        : ({ kind: 'refused', message: 'kept, according to the supplier' } as const)
    // This locks the order: a second resolution or cancellation finds this one.
    const resolvedCount = await writeCancellation(tx, deps, tenantId, { orderId, itemNo, profileId }, outcome)
    if (resolvedCount === 0) {
      throw new Refusal(409, 'NOT_IN_QUESTION', 'This eSIM has no pending cancellation. Use `esim cancel`.')
    }
    const after = { profileId, itemNo, verdict, evidence }
    audit(tx, deps.ids, { tenantId, ...by, action: 'order.settle_cancel', subject: orderNoOf(orderId), after })
  })
  deps.wake.wake('webhooks')
}

/** A report of first use locks the order too, so the status seen here holds until the refund commits. */
async function refuseUsed(tx: Tx, tenantId: string, orderId: string, profileId: string): Promise<void> {
  const { orders } = await lockWalletAndOrders(tx, tenantId, [orderId])
  const profile = orders.get(orderId)?.profiles.find((candidate) => candidate.profileId === profileId)
  if (!profile || wasNeverUsed(profile)) return
  const message = `The eSIM is ${profile.smdpStatus ?? profile.esimStatus}, so it is not refunded.`
  throw new Refusal(409, 'ESIM_IN_USE', message)
}
