import { type ActionAnswer, type ActionRequest, type EsimAction, orderNoOf } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { findOpenAction } from '#orders/change-action.ts'
import { type Action, actionAnswerOf } from '#orders/esim-action.ts'
import { type LockedOrder, lockOrders } from '#orders/lock-orders.ts'
import { lineOfItem } from '#orders/order-item.ts'
import { type Actor, audit, type By } from '#platform/audit/audit.ts'
import type { AuditAction } from '#platform/audit/audited-actions.ts'
import { requireReleased } from '#platform/held-tenants.ts'
import { type LockedWallet, lockWallet, touchWallet } from '#wallet/ledger/lock-wallets.ts'
import type { ActionDeps } from './action-deps.ts'
import { type EsimIdentity, findEsim, matchesReference, readEsimState } from './action-esim.ts'
import { isInWantedState, refuseAction } from './decide-action.ts'
import { findByTransactionId } from './earlier-use.ts'

/**
 * Begins an action for a dealer, or returns the one that its transactionId began. Orders, top-ups and actions share one
 * namespace of transactionIds, which the wallet's lock guards: the id is looked up before anything else is decided.
 * Locks: the wallet, then the eSIM's order.
 * @param by the dealer's person who began it in the console, for the audit log; absent for a call of the dealer API
 * @param keyLabel of the restricted key that signed the call
 * @throws ApiError 200012, 310403, 200002, 200015, 200017, in this order
 */
export async function startAction(
  deps: Pick<ActionDeps, 'db' | 'ids' | 'suppliers' | 'wake'>,
  tenantId: string,
  request: ActionRequest,
  { by, keyLabel = null }: { by?: By; keyLabel?: string | null } = {},
): Promise<{ answer: ActionAnswer; isReplay: boolean }> {
  const started = await deps.db.tx(async (tx) => {
    // Sent with the lock but executed after it: its snapshot includes what the lock's previous holder wrote.
    const [wallet, earlier] = await Promise.all([
      lockWallet(tx, tenantId),
      findByTransactionId(tx, tenantId, request.transactionId),
    ])
    if (earlier !== undefined) return { action: replay(earlier.action, request), isReplay: true }
    const esim = await findEsim(tx, tenantId, request)
    if (esim === undefined) throw new ApiError('310403')
    const locked = await lockEsim(tx, tenantId, esim)
    return { action: beginAction(tx, deps, wallet, { tenantId, request, esim, locked, by, keyLabel }), isReplay: false }
  })
  if (!started.isReplay) deps.wake.wake('actions')
  return { answer: actionAnswerOf(started.action), isReplay: started.isReplay }
}

/**
 * Brings an eSIM into the target state of an action, for callers whose requests have no transactionId. If an action of the
 * same kind is open, even one that an operator began, that action is returned. If the eSIM is already in that state,
 * nothing is done.
 *
 * Locks: the wallet, then the eSIM's order.
 * @param by the caller of an unsigned request, for the audit log
 * @returns the action to wait for; undefined if nothing had to be done
 * @throws ApiError 310403, 200002, 200015, 200017, in this order
 */
export async function ensureAction(
  deps: Pick<ActionDeps, 'db' | 'ids' | 'suppliers' | 'wake'>,
  tenantId: string,
  request: Omit<ActionRequest, 'transactionId'>,
  { by, keyLabel = null }: { by?: By | undefined; keyLabel?: string | null } = {},
): Promise<{ actionId: string; orderId: string; isNew: boolean } | undefined> {
  const ensured = await deps.db.tx(async (tx) => {
    const wallet = await lockWallet(tx, tenantId)
    const esim = await findEsim(tx, tenantId, request)
    if (esim === undefined) throw new ApiError('310403')
    const locked = await lockEsim(tx, tenantId, esim)
    const { openActionId } = locked.state
    const open = openActionId === null ? undefined : await findOpenAction(tx, tenantId, esim.profileId)
    if (open?.action === request.action) return { actionId: open.actionId, orderId: esim.orderId, isNew: false }
    if (open === undefined && isInWantedState(request.action, locked.state)) return undefined
    const named = { ...request, transactionId: deps.ids.uuid() }
    const { actionId } = beginAction(tx, deps, wallet, { tenantId, request: named, esim, locked, by, keyLabel })
    return { actionId, orderId: esim.orderId, isNew: true }
  })
  if (ensured?.isNew) deps.wake.wake('actions')
  return ensured
}

interface Beginning {
  tenantId: string
  request: ActionRequest
  esim: EsimIdentity
  locked: Awaited<ReturnType<typeof lockEsim>>
  by: By | undefined
  keyLabel: string | null
}

/** The caller holds the locks on the wallet and the order. @throws ApiError 200002, 200015, 200017 */
function beginAction(
  tx: Tx,
  deps: Pick<ActionDeps, 'ids' | 'suppliers'>,
  wallet: LockedWallet,
  { tenantId, request, esim, locked: { order, state, now }, by, keyLabel }: Beginning,
): Action {
  const policy = lineOfItem(order.packageLines, esim.itemNo).cancelPolicy
  const supplier = deps.suppliers.get(esim.supplier)?.supplier
  const refusal = refuseAction(request.action, state, supplier, policy, now)
  if (refusal !== undefined) throw new ApiError(refusal.code, refusal.parts)
  touchWallet(tx, wallet)
  const action = newAction(deps, esim, order, now, {
    transactionId: request.transactionId,
    startedBy: 'DEALER',
    action: request.action,
    keyLabel,
    feePercent: request.action === 'CANCEL' ? policy!.feePercent : 0,
  })
  const reason = request.reason ?? null
  insertAction(tx, tenantId, action, { reason, actor: by?.actor ?? null })
  if (by !== undefined) {
    const after = { profileId: esim.profileId, itemNo: esim.itemNo, transactionId: request.transactionId, reason }
    const entry = { tenantId, ...by, action: AUDITED[request.action], subject: orderNoOf(esim.orderId), after }
    audit(tx, deps.ids, entry)
  }
  return action
}

/** The name of each action in the audit log. */
export const AUDITED: Record<EsimAction, AuditAction> = {
  CANCEL: 'order.cancel_esim',
  SUSPEND: 'order.suspend_esim',
  UNSUSPEND: 'order.unsuspend_esim',
  REVOKE: 'order.revoke_esim',
}

/** @throws ApiError 200012 if the id was used for something else */
function replay(earlier: Action | undefined, request: ActionRequest): Action {
  if (earlier === undefined || earlier.action !== request.action || !matchesReference(request, earlier))
    throw new ApiError('200012')
  return earlier
}

/**
 * Locks the eSIM's order and reads its state. The caller holds the wallet's lock.
 * @throws Refusal while the tenant is in recovery: the state is that of the backup
 */
export async function lockEsim(tx: Tx, tenantId: string, esim: EsimIdentity) {
  const [{ orders, now }, state] = await Promise.all([
    lockOrders(tx, tenantId, [esim.orderId]),
    readEsimState(tx, tenantId, esim.profileId),
    requireReleased(tx, tenantId, 'Nothing is done to its eSIMs until then.'),
  ])
  return { order: orders.get(esim.orderId)!, state, now }
}

export function newAction(
  deps: Pick<ActionDeps, 'ids'>,
  esim: EsimIdentity,
  order: LockedOrder,
  now: Date,
  by: Pick<Action, 'transactionId' | 'startedBy' | 'action' | 'feePercent' | 'keyLabel'>,
): Action {
  return {
    actionId: deps.ids.uuid(),
    ...esim,
    ...by,
    actionStatus: 'PENDING',
    refundAmount: 0n,
    feeAmount: 0n,
    currencyCode: order.currencyCode,
    failureReason: null,
    attempts: 0,
    createdAt: now,
    updatedAt: now,
  }
}

/** Inserts an action. It is due immediately, or leased to the caller, who then runs it. */
export function insertAction(
  tx: Tx,
  tenantId: string,
  action: Action,
  more: { reason: string | null; actor: Actor | null; lease?: { token: string; ms: number } },
): void {
  tx.send({
    name: 'actions-insert',
    text: `insert into esim_actions (tenant_id, action_id, transaction_id, started_by, action, profile_id, order_id,
             item_no, supplier, fee_percent, currency_code, reason, actor, due_at, lease_token, lease_until, created_at,
             updated_at, key_label)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, least($14::timestamptz, clock_timestamp()), $15,
             clock_timestamp() + $16 * interval '1 millisecond', $14, $14, $17)`,
    values: [
      tenantId,
      action.actionId,
      action.transactionId,
      action.startedBy,
      action.action,
      action.profileId,
      action.orderId,
      action.itemNo,
      action.supplier,
      action.feePercent,
      action.currencyCode,
      more.reason,
      more.actor,
      action.createdAt,
      more.lease?.token ?? null,
      more.lease?.ms ?? null,
      action.keyLabel,
    ],
  })
}
