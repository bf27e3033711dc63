import { type CancelPolicy, type EsimAction, type FailureCode, formatTime, orderNoOf } from '@dealer-esim/contract'
import type { ErrorParts } from '@dealer-esim/lib/api-error.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import type { EsimState } from './action-esim.ts'

export interface ActionRefusal {
  code: FailureCode
  parts: ErrorParts
}

/**
 * Decides whether a dealer may begin an action: 200002 (state), then 200015 (supplier), then 200017 (cancel policy). Pure.
 * @param supplier undefined if this node has not loaded it: the action waits until a node has
 */
export function refuseAction(
  action: EsimAction,
  esim: EsimState,
  supplier: Supplier | undefined,
  policy: CancelPolicy | undefined,
  now: Date,
): ActionRefusal | undefined {
  if (!isAllowed(action, esim)) return refusedByState(esim)
  if (supplier !== undefined && !canDo(supplier, action)) return { code: '200015', parts: { data: { action } } }
  return action === 'CANCEL' ? refusedByPolicy(esim, policy, now) : undefined
}

/** Checks that the eSIM's state allows the action, and that no other action or top-up is open on it. */
export function isAllowed(action: EsimAction, esim: EsimState): boolean {
  if (esim.openActionId !== null || esim.openTopUpId !== null) return false
  const { esimStatus, smdpStatus, suspended, toppedUpAt } = esim
  switch (action) {
    case 'CANCEL':
      return esimStatus === 'GOT_RESOURCE' && isUntouched(smdpStatus) && toppedUpAt === null
    case 'SUSPEND':
      return esimStatus === 'IN_USE' && !suspended
    case 'UNSUSPEND':
      return esimStatus === 'IN_USE' && suspended
    case 'REVOKE':
      return esimStatus === 'GOT_RESOURCE' || esimStatus === 'IN_USE' || esimStatus === 'USED_UP'
    default:
      return action satisfies never
  }
}

/** Checks whether the eSIM is in the action's target state. */
export function isInWantedState(action: EsimAction, { esimStatus, suspended }: EsimState): boolean {
  switch (action) {
    case 'CANCEL':
      return esimStatus === 'CANCEL'
    case 'REVOKE':
      return esimStatus === 'REVOKED'
    case 'SUSPEND':
      return esimStatus === 'IN_USE' && suspended
    case 'UNSUSPEND':
      return esimStatus === 'IN_USE' && !suspended
    default:
      return action satisfies never
  }
}

function isUntouched(smdpStatus: EsimState['smdpStatus']): boolean {
  return smdpStatus === null || smdpStatus === 'RELEASED'
}

function refusedByState({ esimStatus, smdpStatus, suspended, openActionId, openTopUpId }: EsimState): ActionRefusal {
  const actionNo = openActionId === null ? null : orderNoOf(openActionId)
  const orderNo = openTopUpId === null ? null : orderNoOf(openTopUpId)
  return { code: '200002', parts: { data: { esimStatus, smdpStatus, suspended, actionNo, orderNo } } }
}

export function canDo(supplier: Supplier, action: EsimAction): boolean {
  switch (action) {
    case 'CANCEL':
      return supplier.traits.cancelsUnseenOnly !== true
    case 'SUSPEND':
      return supplier.suspend !== undefined
    case 'UNSUSPEND':
      return supplier.unsuspend !== undefined
    case 'REVOKE':
      return supplier.revoke !== undefined
    default:
      return action satisfies never
  }
}

const DAY_MS = 86_400_000

function refusedByPolicy(esim: EsimState, policy: CancelPolicy | undefined, now: Date): ActionRefusal | undefined {
  if (!policy?.cancellable) return { code: '200017', parts: { data: { cancellableUntil: null } } }
  if (policy.withinDays === null) return undefined
  const until = new Date(esim.createdAt.getTime() + policy.withinDays * DAY_MS)
  if (now <= until) return undefined
  return { code: '200017', parts: { data: { cancellableUntil: formatTime(until) } } }
}
