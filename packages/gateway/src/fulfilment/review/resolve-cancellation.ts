import { audit, type By } from '../../audit/audit.ts'
import { orderNoOf } from '../../lib/ids.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { notFound, Refusal } from '../../lib/refusal.ts'
import { lockWalletAndOrders } from '../../orders/lock.ts'
import { findCancellableEsim, wasNeverUsed } from '../cancelling/cancellable-esim.ts'
import { parseEvidence } from '../cancelling/justification.ts'
import { writeCancellation } from '../cancelling/save-cancellation.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'

/**
 * Records what a supplier said of a cancel that it never answered: cancelled unused, and it is refunded, or kept.
 *
 * Locks: the wallet, the order.
 * @throws Refusal where no cancel of it is in question, or it was used meanwhile.
 */
export async function resolveCancellation(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'cipher' | 'wake'>,
  settlement: { tenantId: string; profileId: string; verdict: 'cancelled' | 'kept'; evidence: string },
  by: By,
): Promise<void> {
  const { tenantId, profileId, verdict } = settlement
  const evidence = parseEvidence(settlement.evidence)
  const profile = await findCancellableEsim(deps, tenantId, profileId)
  if (profile === undefined) throw notFound('eSIM')
  const { orderId, itemNo } = profile.esim
  await deps.db.tx(async (tx) => {
    if (verdict === 'cancelled') await refuseUsed(tx, tenantId, orderId, profileId)
    const outcome =
      verdict === 'cancelled'
        ? ({ kind: 'cancelled' } as const)
        : ({ kind: 'refused', words: 'kept, by the supplier’s word' } as const)
    // Under the order's lock from here on: whoever cancels or settles it a second time finds it settled.
    const settled = await writeCancellation(tx, deps, tenantId, { orderId, itemNo, profileId }, outcome)
    if (settled === 0) {
      throw new Refusal(409, 'NOT_IN_QUESTION', 'No cancel of this eSIM is in question: cancel it with esim cancel.')
    }
    const after = { profileId, itemNo, verdict, evidence }
    audit(tx, deps.ids, { tenantId, ...by, action: 'order.settle_cancel', subject: orderNoOf(orderId), after })
  })
  deps.wake.wake('webhooks')
}

/** Who hears of its first use takes the order's lock, too: what is seen here stays so until it is refunded. */
async function refuseUsed(tx: Tx, tenantId: string, orderId: string, profileId: string): Promise<void> {
  const { orders } = await lockWalletAndOrders(tx, tenantId, [orderId])
  const profile = orders.get(orderId)?.profiles.find((candidate) => candidate.profileId === profileId)
  if (!profile || wasNeverUsed(profile)) return
  const words = `The eSIM is ${profile.smdpStatus ?? profile.esimStatus}: it is not refunded.`
  throw new Refusal(409, 'ESIM_IN_USE', words)
}
