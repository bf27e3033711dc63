import {
  type ActionAnswer,
  type ActionStatus,
  type EsimAction,
  type EsimStatus,
  formatTime,
  hasNoMinorUnit,
  orderNoOf,
  type SmdpStatus,
  WHOLE_UNIT,
} from '@dealer-esim/contract'
import { isUnfinished } from './order-item.ts'

/** An action on an eSIM: cancel, suspend, unsuspend or revoke. */
export interface Action {
  actionId: string
  /** null: an operator started it. */
  transactionId: string | null
  startedBy: 'DEALER' | 'OPERATOR'
  action: EsimAction
  profileId: string
  iccid: string
  /** The order that delivered the eSIM, and its item there. */
  orderId: string
  itemNo: number
  supplier: string
  actionStatus: ActionStatus
  /** The fee of the cancel policy in percent; 0 for an operator's cancel. */
  feePercent: number
  /** 0 until the action is DONE. */
  refundAmount: bigint
  feeAmount: bigint
  currencyCode: string
  failureReason: string | null
  /** The label of the restricted key that began it; null: the tenant's own key, or an operator. */
  keyLabel: string | null
  /** Calls to the supplier. */
  attempts: number
  createdAt: Date
  updatedAt: Date
}

/** Columns of `esim_actions a join profiles p using (tenant_id, profile_id)`. */
export const ACTION_COLUMNS = `a.action_id, a.transaction_id, a.started_by, a.action, a.profile_id, p.iccid, a.order_id,
  a.item_no, a.supplier, a.action_status, a.fee_percent, a.refund_amount, a.fee_amount, a.currency_code,
  a.failure_reason, a.key_label, a.attempts, a.created_at, a.updated_at`

/** The condition of the index esim_actions_open. */
export const IS_OPEN = `a.action_status in ('PENDING', 'UNDER_REVIEW')`

/** An open action that no loop runs, such as after a restore. */
export const IS_OPERATORS = `(a.action_status = 'UNDER_REVIEW' and a.due_at is null and a.lease_until is null)`

/*
 * Work in progress on an eSIM is either one action or any number of top-ups: nothing starts while an action is open, and no
 * action starts while a top-up is open. Both fragments belong after the `from` of a query and use the indexes
 * esim_actions_open and orders_esim_topups.
 */

/** SQL: the open action on an eSIM, with the alias a. */
export const openActionOn = (tenantId: string, profileId: string): string =>
  `esim_actions a where a.tenant_id = ${tenantId} and a.profile_id = ${profileId} and ${IS_OPEN}`

/** SQL: the open top-ups of an eSIM, with the alias o. */
export const openTopUpsOf = (tenantId: string, profileId: string): string =>
  `orders o where o.tenant_id = ${tenantId} and o.topped_up_profile_id = ${profileId} and ${isUnfinished('o')}`

/**
 * True if a supplier was called but did not say what it did. Reconciliation will ask again, or an operator resolves the
 * action.
 */
export function isAnswerMissing({ actionStatus, attempts }: Pick<Action, 'actionStatus' | 'attempts'>): boolean {
  return actionStatus === 'UNDER_REVIEW' || (actionStatus === 'PENDING' && attempts > 0)
}

/** The response to all action operations, and the content of ESIM_ACTION_UPDATED. */
export function actionAnswerOf(action: Action): ActionAnswer {
  return {
    actionNo: orderNoOf(action.actionId),
    transactionId: action.transactionId,
    startedBy: action.startedBy,
    action: action.action,
    esimTranNo: action.profileId,
    iccid: action.iccid,
    orderNo: orderNoOf(action.orderId),
    actionStatus: action.actionStatus,
    refundAmount: Number(action.refundAmount),
    feeAmount: Number(action.feeAmount),
    currencyCode: action.currencyCode,
    failureReason: action.failureReason,
    keyLabel: action.keyLabel,
    createTime: formatTime(action.createdAt),
    lastUpdateTime: formatTime(action.updatedAt),
  }
}

/**
 * The part of the price that is not refunded: rounded half up to an amount that the currency can express, never above the
 * price.
 */
export function feeOf(price: bigint, feePercent: number, currencyCode: string): bigint {
  const unit = hasNoMinorUnit(currencyCode) ? WHOLE_UNIT : 1n
  const fee = ((price * BigInt(feePercent) + 50n * unit) / (100n * unit)) * unit
  return fee > price ? price : fee
}

/** True if the eSIM was never downloaded. An expired eSIM may still be cancelled: eSIMs are returned on their last day. */
export function wasNeverUsed({
  esimStatus,
  smdpStatus,
}: {
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
}): boolean {
  return !USED.includes(esimStatus) && (smdpStatus === null || smdpStatus === 'RELEASED')
}

const USED: readonly EsimStatus[] = ['IN_USE', 'USED_UP', 'USED_EXPIRED', 'REVOKED']
