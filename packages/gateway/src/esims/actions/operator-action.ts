import { type EsimAction, orderNoOf } from '@dealer-esim/contract'
import { isFree } from '@dealer-esim/lib/leases.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import type { ActionOutcome } from '@dealer-esim/wholesalers/supplier.ts'
import { findOpenAction } from '#orders/change-action.ts'
import { parseReason } from '#orders/justification.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { lockWallet, touchWallet } from '#wallet/ledger/lock-wallets.ts'
import type { ActionDeps } from './action-deps.ts'
import { type EsimIdentity, type EsimState, findEsim } from './action-esim.ts'
import { type ActionJob, LEASE_MS } from './action-lease.ts'
import { canDo, isAllowed } from './decide-action.ts'
import { runAction } from './run-action.ts'
import { AUDITED, insertAction, lockEsim, newAction } from './start-action.ts'

/**
 * Carries out an action for an operator immediately, without a fee and regardless of the cancel policy. If the same action
 * is already open on the eSIM, its supplier is queried again; a cancellation that the dealer began keeps its fee.
 * Locks: the wallet, then the eSIM's order.
 * @returns the supplier's answer; if it is unknown, the loop queries it again
 * @throws Refusal without a reason, or if the eSIM's state does not allow the action
 */
export async function actForOperator(
  deps: ActionDeps,
  input: { tenantId: string; profileId: string; action: EsimAction; reason: string },
  by: By,
): Promise<ActionOutcome> {
  const { tenantId, profileId, action } = input
  const reason = parseReason(input.reason)
  const job = await deps.db.tx(async (tx): Promise<ActionJob> => {
    const wallet = await lockWallet(tx, tenantId)
    const esim = await findEsim(tx, tenantId, { esimTranNo: profileId })
    if (esim === undefined) throw notFound('eSIM')
    const { order, state, now } = await lockEsim(tx, tenantId, esim)
    const after = { profileId, itemNo: esim.itemNo, reason }
    audit(tx, deps.ids, { tenantId, ...by, action: AUDITED[action], subject: orderNoOf(esim.orderId), after })
    const leased = { tenantId, orderId: esim.orderId, supplier: esim.supplier, leaseToken: deps.ids.uuid() }
    const open = state.openActionId === null ? undefined : await findOpenAction(tx, tenantId, profileId)
    if (open?.action === action) {
      await leaseOpen(tx, tenantId, open.actionId, leased.leaseToken)
      return { ...leased, actionId: open.actionId }
    }
    refuse(deps, action, esim, state)
    touchWallet(tx, wallet)
    const started = newAction(deps, esim, order, now, {
      transactionId: null,
      startedBy: 'OPERATOR',
      action,
      keyLabel: null,
      feePercent: 0,
    })
    insertAction(tx, tenantId, started, {
      reason,
      actor: by.actor,
      lease: { token: leased.leaseToken, ms: LEASE_MS },
    })
    return { ...leased, actionId: started.actionId }
  })
  return (await runAction(deps, job)) ?? { kind: 'unknown', message: 'another worker has taken it over' }
}

/** @throws Refusal while a worker is asking the supplier */
async function leaseOpen(tx: Tx, tenantId: string, actionId: string, leaseToken: string): Promise<void> {
  const leased = await tx.query({
    text: `update esim_actions set lease_token = $3, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
           where tenant_id = $1 and action_id = $2 and ${isFree('lease_until', LEASE_MS, 'clock_timestamp()')}
           returning 1`,
    values: [tenantId, actionId, leaseToken, LEASE_MS],
  })
  if (leased.length === 0) throw beingAsked()
}

export function beingAsked(): Refusal {
  return new Refusal(409, 'ESIM_BUSY', 'The supplier is currently being asked about this eSIM. Try again in a minute.')
}

/** @throws Refusal */
function refuse(
  { suppliers }: ActionDeps,
  action: EsimAction,
  { supplier: name }: EsimIdentity,
  state: EsimState,
): void {
  const { openActionId, openTopUpId, esimStatus, smdpStatus } = state
  if (openActionId !== null) {
    const message = `Action ${orderNoOf(openActionId)} is open on the eSIM. Wait until it has ended, or resolve it with the answer of the supplier.`
    throw new Refusal(409, 'ESIM_BUSY', message)
  }
  if (openTopUpId !== null) {
    const message = `Top-up ${orderNoOf(openTopUpId)} is open on the eSIM. Wait until it has ended.`
    throw new Refusal(409, 'ESIM_BUSY', message)
  }
  if (!isAllowed(action, state)) {
    const status = esimStatus === 'GOT_RESOURCE' && smdpStatus !== null ? smdpStatus : esimStatus
    if (action !== 'CANCEL') {
      const suspended = state.suspended ? ' and suspended' : ''
      throw new Refusal(409, 'ESIM_STATE', `The eSIM is ${status}${suspended}, which does not allow ${action}.`)
    }
    if (state.toppedUpAt !== null) {
      throw new Refusal(
        409,
        'ESIM_IN_USE',
        'The eSIM has been topped up. Only an eSIM without top-ups can be cancelled.',
      )
    }
    const message = `The eSIM is ${status}. Only an eSIM that has never been downloaded can be cancelled.`
    throw new Refusal(409, 'ESIM_IN_USE', message)
  }
  // The supplier itself decides whether to cancel an eSIM, and says why if it does not.
  const supplier = suppliers.get(name)?.supplier
  if (action === 'CANCEL' || supplier === undefined || canDo(supplier, action)) return
  throw new Refusal(409, 'SUPPLIER_UNABLE', `Supplier ${name} cannot ${action.toLowerCase()} an eSIM.`)
}
