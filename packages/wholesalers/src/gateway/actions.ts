import { setTimeout as delay } from 'node:timers/promises'
import type { ActionAnswer, EsimAction, Profile } from '@dealer-esim/contract'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { iccidOf } from '#members.ts'
import type { ActionOutcome, SuppliedEsim, ToppedUpEsim, UnreadableEntry } from '#supplier.ts'
import { objectsIn } from '#unreadable-entry.ts'
import type { Upstream } from './client.ts'
import { isDown, outcomeOfFailure } from './outcome.ts'

/** Queries after an action in the same call: most suppliers answer immediately. */
const CHECKS = 4
const FIRST_CHECK_MS = 100

/**
 * Makes the upstream carry out an action. Our key is its transactionId: a repeat returns the same action with its present
 * status.
 */
export async function act(
  upstream: Upstream,
  action: EsimAction,
  esim: SuppliedEsim,
  actionKey: string,
): Promise<ActionOutcome> {
  const found = await findProfile(upstream, esim)
  if ('unreadable' in found) return { kind: 'unknown', message: found.unreadable }
  const { profile } = found
  if (profile === undefined) return { kind: 'refused', message: 'the upstream gateway has no such eSIM' }
  if (isDone(action, profile)) return { kind: 'done' }
  const request = { transactionId: actionKey, esimTranNo: profile.esimTranNo }
  let answer = await upstream((client): Promise<ActionAnswer> => {
    switch (action) {
      case 'CANCEL':
        return client.cancel(request)
      case 'SUSPEND':
        return client.suspend(request)
      case 'UNSUSPEND':
        return client.unsuspend(request)
      case 'REVOKE':
        return client.revoke(request)
      default:
        return action satisfies never
    }
  })
  await failpoint('gateway.acted')
  if ('failure' in answer) {
    if (answer.failure.is('000109')) return { kind: 'refused', message: 'the upstream gateway is too old for this' }
    const { kind, message } = outcomeOfFailure(answer.failure, answer.sent)
    return { kind: kind === 'refused' ? 'refused' : 'unknown', message }
  }
  for (let check = 0; ; check++) {
    const outcome = 'failure' in answer ? undefined : outcomeOfAction(answer.value, action, actionKey)
    const message = 'failure' in answer ? answer.failure.message : 'the upstream gateway has accepted it'
    if (outcome) return outcome
    if (check === CHECKS) return { kind: 'unknown', message }
    await delay(FIRST_CHECK_MS * 2 ** check)
    answer = await upstream((client) => client.action({ transactionId: actionKey }))
  }
}

/** Pure: decides the outcome from the upstream's action with our key. @returns undefined while it is PENDING */
export function outcomeOfAction(
  answer: ActionAnswer,
  action: EsimAction,
  actionKey: string,
): ActionOutcome | undefined {
  if (answer.transactionId !== actionKey || answer.action !== action) {
    return { kind: 'unknown', message: 'the upstream gateway answered for another action' }
  }
  switch (answer.actionStatus) {
    case 'DONE':
      return { kind: 'done' }
    case 'REFUSED': {
      const reason: unknown = answer.failureReason
      return { kind: 'refused', message: typeof reason === 'string' ? reason : 'refused by the upstream gateway' }
    }
    case 'UNDER_REVIEW':
      return { kind: 'unknown', message: 'the action is UNDER_REVIEW at the upstream gateway' }
    default:
      return undefined
  }
}

/** @returns whether the action is already done, by the upstream's operator or by an earlier call whose answer was lost. */
function isDone(action: EsimAction, { esimStatus }: Profile): boolean {
  return (action === 'CANCEL' && esimStatus === 'CANCEL') || (action === 'REVOKE' && esimStatus === 'REVOKED')
}

/** An ICCID may have been sold again: the key identifies the sale. */
export async function findProfile(
  upstream: Upstream,
  { key, iccid }: Pick<SuppliedEsim, 'key' | 'iccid'> | ToppedUpEsim,
): Promise<{ profile: Profile | undefined; oddEntries: UnreadableEntry[] } | { unreadable: string; isDown: boolean }> {
  const found = await upstream((client) => client.profiles({ transactionId: key }))
  if ('failure' in found) return { unreadable: found.failure.message, isDown: isDown(found) }
  const list: unknown = found.value.profileList
  const { rows, unreadable } = objectsIn(Array.isArray(list) ? list : [list], 'the list of eSIMs')
  const isWanted = (profile: Profile) => profile.transactionId === key && iccidOf(profile) === iccid
  const profile = (rows as unknown as Profile[]).find(isWanted)
  // An unreadable entry may be the eSIM.
  if (profile === undefined && unreadable.length > 0)
    return { unreadable: 'the list of eSIMs is unreadable', isDown: false }
  return { profile, oddEntries: unreadable }
}
