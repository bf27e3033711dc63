import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { recordEvents } from '#platform/record-events.ts'
import { changeOrders, type OrderMetrics } from './change-order.ts'
import { ACTION_COLUMNS, type Action, actionAnswerOf, feeOf, IS_OPEN } from './esim-action.ts'
import type { LockedOrder, LockedProfile } from './lock-orders.ts'
import { refundItems } from './refund.ts'

/** A change to an open action. */
export type ActionChange =
  | { to: 'DONE' }
  | { to: 'REFUSED'; message: string }
  /** The supplier has not answered in time. dueAt null: only an operator ends it, such as after a restore. */
  | { to: 'UNDER_REVIEW'; message: string; dueAt: Date | null }

interface ChangeDeps {
  ids: Ids
  orderMetrics?: OrderMetrics
}

/**
 * Changes an action's status; no other code may do so. In the same transaction it changes the eSIM, refunds it if it is
 * cancelled, ends the action's lease, and records ESIM_ACTION_UPDATED and, if the eSIM's status changed, DELIVERY_UPDATED.
 * The caller holds the order's lock and has read the action under it. If a CANCEL becomes DONE, the caller took the
 * wallet's lock before the order's. After the commit it wakes the sender of events.
 */
export async function changeAction(
  tx: Tx,
  deps: ChangeDeps,
  tenantId: string,
  { action, order, change }: { action: Action; order: LockedOrder; change: ActionChange },
  now: Date,
): Promise<Action> {
  const changed: Action = {
    ...action,
    actionStatus: change.to,
    failureReason: 'message' in change ? change.message : null,
    updatedAt: now > action.updatedAt ? now : action.updatedAt,
  }
  if (change.to === 'DONE' && action.action === 'CANCEL') {
    const { price } = order.items.find((item) => item.itemNo === action.itemNo)!
    changed.feeAmount = feeOf(price, action.feePercent, order.currencyCode)
    changed.refundAmount = price - changed.feeAmount
    await refundCancelled(tx, tenantId, order, action.itemNo, changed.refundAmount)
  }
  const profilesChanged = change.to === 'DONE' && changeProfile(tx, tenantId, order, action, now)
  tx.send({
    name: 'actions-change',
    text: `update esim_actions set action_status = $3, refund_amount = $4, fee_amount = $5, failure_reason = $6,
             due_at = $7, lease_token = null, lease_until = null, updated_at = $8
           where tenant_id = $1 and action_id = $2`,
    values: [
      tenantId,
      action.actionId,
      changed.actionStatus,
      changed.refundAmount,
      changed.feeAmount,
      changed.failureReason,
      'dueAt' in change ? change.dueAt : null,
      changed.updatedAt,
    ],
  })
  recordEvents(tx, [
    {
      tenantId,
      notifyId: deps.ids.uuid(),
      notifyType: 'ESIM_ACTION_UPDATED',
      orderId: action.orderId,
      content: actionAnswerOf(changed),
      createdAt: now,
    },
  ])
  if (profilesChanged) {
    const changedStatuses = [{ status: 'esimStatus', profileId: action.profileId, eid: null } as const]
    changeOrders(tx, deps, tenantId, [{ order, profilesChanged, changedStatuses }], now)
  }
  return changed
}

/** @returns whether the eSIM's status changed, which is an event of its order. Suspension is not a status. */
function changeProfile(tx: Tx, tenantId: string, order: LockedOrder, action: Action, now: Date): boolean {
  const { profileId } = action
  if (action.action === 'SUSPEND' || action.action === 'UNSUSPEND') {
    tx.send({
      name: 'actions-suspend',
      text: `update profiles set suspended = $3, updated_at = greatest(updated_at, $4::timestamptz)
             where tenant_id = $1 and profile_id = $2`,
      values: [tenantId, profileId, action.action === 'SUSPEND', now],
    })
    return false
  }
  const profile = order.profiles.find((candidate) => candidate.profileId === profileId)!
  const esimStatus = action.action === 'CANCEL' ? 'CANCEL' : 'REVOKED'
  if (profile.esimStatus === esimStatus || profile.esimStatus === 'CANCEL') return false
  profile.esimStatus = esimStatus
  tx.send({
    name: 'actions-end-esim',
    text: `update profiles set esim_status = $3, updated_at = greatest(updated_at, $4::timestamptz)
           where tenant_id = $1 and profile_id = $2`,
    values: [tenantId, profileId, esimStatus, now],
  })
  return true
}

function refundCancelled(tx: Tx, tenantId: string, order: LockedOrder, itemNo: number, amount: bigint): Promise<void> {
  return refundItems(tx, tenantId, order, [{ itemNo, amount }], 'cancelled unused by the supplier')
}

/**
 * Refunds an eSIM that its supplier reports as cancelled. An open cancel of the eSIM becomes DONE. Without an open cancel,
 * nobody requested the cancellation, and the whole price is refunded. The caller holds the locks of the wallet and the order, and
 * writes the profile's status itself.
 */
export async function refundReportedCancel(
  tx: Tx,
  deps: ChangeDeps,
  tenantId: string,
  { order, profile }: { order: LockedOrder; profile: LockedProfile },
  now: Date,
): Promise<void> {
  const action = await findOpenAction(tx, tenantId, profile.profileId)
  if (action?.action === 'CANCEL') {
    await changeAction(tx, deps, tenantId, { action, order, change: { to: 'DONE' } }, now)
    return
  }
  const { price } = order.items.find((item) => item.itemNo === profile.itemNo)!
  await refundCancelled(tx, tenantId, order, profile.itemNo, price)
}

/**
 * The action that is PENDING or UNDER_REVIEW on an eSIM. It cannot change while the caller holds the lock of the eSIM's
 * order.
 */
export async function findOpenAction(tx: Tx, tenantId: string, profileId: string): Promise<Action | undefined> {
  const [action] = await tx.query<Action>({
    name: 'actions-open',
    text: `select ${ACTION_COLUMNS} from esim_actions a join profiles p using (tenant_id, profile_id)
           where a.tenant_id = $1 and a.profile_id = $2 and ${IS_OPEN}`,
    values: [tenantId, profileId],
  })
  return action
}
