import { orderNoOf } from '@dealer-esim/contract'
import { isFree } from '@dealer-esim/lib/leases.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { type ActionChange, changeAction, findOpenAction } from '#orders/change-action.ts'
import { isAnswerMissing, wasNeverUsed } from '#orders/esim-action.ts'
import { parseEvidence } from '#orders/justification.ts'
import { lockWalletAndOrders } from '#orders/lock-orders.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import type { ActionDeps } from './action-deps.ts'
import { findEsim } from './action-esim.ts'
import { LEASE_MS } from './action-lease.ts'
import { beingAsked } from './operator-action.ts'

/** cancelled: for a cancellation only, same as done. kept: the supplier changed nothing. */
export type ActionVerdict = 'cancelled' | 'done' | 'kept'

/**
 * Records what a supplier said about an action that it had not answered. A cancelled eSIM is refunded. With an `actionNo`,
 * only that action is resolved: another one may have begun since the page was loaded. Locks: the wallet, then the eSIM's
 * order.
 * @throws Refusal if the eSIM has no pending action, or if an eSIM to be refunded was used
 */
export async function resolveAction(
  deps: Pick<ActionDeps, 'db' | 'ids' | 'wake'> & Pick<Partial<ActionDeps>, 'orderMetrics'>,
  resolution: {
    tenantId: string
    profileId: string
    actionNo?: string | undefined
    verdict: ActionVerdict
    evidence: string
  },
  by: By,
): Promise<void> {
  const { tenantId, profileId, actionNo, verdict } = resolution
  const evidence = parseEvidence(resolution.evidence)
  await deps.db.tx(async (tx) => {
    const esim = await findEsim(tx, tenantId, { esimTranNo: profileId })
    if (esim === undefined) throw notFound('eSIM')
    const { orders, now } = await lockWalletAndOrders(tx, tenantId, [esim.orderId])
    const order = orders.get(esim.orderId)!
    const action = await findOpenAction(tx, tenantId, profileId)
    const isInQuestion = action !== undefined && isAnswerMissing(action)
    if (!isInQuestion || (verdict === 'cancelled' && action.action !== 'CANCEL')) {
      const message = 'There is nothing to resolve: no open action of this eSIM is waiting for its supplier’s answer.'
      throw new Refusal(409, 'NOT_IN_QUESTION', message)
    }
    if (actionNo !== undefined && actionNo !== orderNoOf(action.actionId)) {
      const message = `Action ${actionNo} has ended, and ${orderNoOf(action.actionId)} is open instead. Check the eSIM again.`
      throw new Refusal(409, 'NOT_IN_QUESTION', message)
    }
    const profile = order.profiles.find((candidate) => candidate.profileId === profileId)!
    if (verdict !== 'kept' && action.action === 'CANCEL' && !wasNeverUsed(profile)) {
      const message = `The eSIM is ${profile.smdpStatus ?? profile.esimStatus}, so it cannot be refunded.`
      throw new Refusal(409, 'ESIM_IN_USE', message)
    }
    const released = await tx.query({
      text: `select from esim_actions where tenant_id = $1 and action_id = $2
               and ${isFree('lease_until', LEASE_MS, 'clock_timestamp()')} for no key update`,
      values: [tenantId, action.actionId],
    })
    if (released.length === 0) throw beingAsked()
    const change: ActionChange =
      verdict === 'kept' ? { to: 'REFUSED', message: 'not done, according to the supplier' } : { to: 'DONE' }
    await changeAction(tx, deps, tenantId, { action, order, change }, now)
    const isCancel = action.action === 'CANCEL'
    const after = { profileId, itemNo: esim.itemNo, ...(!isCancel && { action: action.action }), verdict, evidence }
    const name = isCancel ? 'order.settle_cancel' : 'order.settle_action'
    audit(tx, deps.ids, { tenantId, ...by, action: name, subject: orderNoOf(esim.orderId), after })
  })
  deps.wake.wake('webhooks')
}
