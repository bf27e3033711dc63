import type { ActionOutcome, Charge, Outcome } from '#supplier.ts'
import type { RtAnswer } from './client.ts'
import { deliveredEsimOf, type EsimRow, timeOf } from './decode.ts'

export type Failure = Exclude<RtAnswer, { kind: 'done' }>

/** How long we wait before a retry while an operator has to correct something. */
const ACCOUNT_WAIT_MS = 30_000
const NO_MONEY = '200007'

/**
 * Pure: decides the outcome of esim/order and esim/topup from a failure. Our key is the transactionId, and a repeat buys
 * nothing more, so we look for an order in doubt.
 *
 *   | code                                           | outcome                                                     |
 *   |------------------------------------------------|-------------------------------------------------------------|
 *   | 200011 stock; 310241, 310243 package           | refused                                                     |
 *   | 200005, 200006 another price                   | refused                                                     |
 *   | 000105 to 000107, 200008 a parameter           | refused                                                     |
 *   | 310201 to 310251 a member of the order         | refused                                                     |
 *   | 200002, 200009, 310403 of a top-up: the eSIM   | refused                                                     |
 *   | 200007 balance                                 | retry: no money                                             |
 *   | 101xxx, 401001 credentials                     | retry: the operator's account                               |
 *   | 000101 to 000104                               | retry: an operator has to correct it                        |
 *   | 310402 the key was used                        | unknown: the order exists, and we look for it               |
 *   | 900001 busy, 000001, 200010 and any other code | unknown                                                     |
 *   | no answer, an invalid answer                   | unknown; retry if it certainly was not executed             |
 */
export function outcomeOfFailure(failure: Failure, isTopUp: boolean): Extract<Outcome, { message: string }> {
  const { message } = failure
  if (failure.kind === 'none') {
    const down = failure.down ? { down: true as const } : {}
    return { kind: failure.sent ? 'unknown' : 'retry', message, ...down }
  }
  const { code } = failure
  if (REFUSALS.includes(code) || (isTopUp && ESIM_REFUSALS.includes(code))) return { kind: 'refused', message }
  if (code === NO_MONEY) return { kind: 'retry', message, noMoney: true }
  if (isAccountFault(code)) return { kind: 'retry', message, afterMs: ACCOUNT_WAIT_MS, down: true }
  return { kind: 'unknown', message, ...(code === '900001' || code === '000001' ? { down: true as const } : {}) }
}

const REFUSALS: readonly string[] = [
  ...['200005', '200006', '200008', '200011', '310241', '310243'],
  ...['000105', '000106', '000107'],
  ...['310201', '310211', '310221', '310231', '310251'],
]
const ESIM_REFUSALS: readonly string[] = ['200002', '200009', '310403']

function isAccountFault(code: string): boolean {
  return code === NO_MONEY || code === '401001' || code.startsWith('101') || /^00010[1-4]$/.test(code)
}

/** Accepting this eSIM for our key would give one eSIM to two dealers. */
export const OTHER_ORDER: Outcome = { kind: 'unknown', message: 'the wholesaler answered for another order' }

/** Pure: decides the outcome from the eSIM of our order. */
export function outcomeOfRow(row: EsimRow, key: string, charged: Charge | undefined): Outcome {
  const reference = row.orderNo
  if (row.transactionId !== undefined && row.transactionId !== key) return OTHER_ORDER
  if (row.status === 'CANCEL') return { kind: 'refused', message: 'cancelled at the wholesaler' }
  const esim = deliveredEsimOf(row)
  if (esim === undefined) {
    return { kind: 'unknown', message: 'the wholesaler has an eSIM that is unreadable', charged, reference }
  }
  return { kind: 'delivered', esim: { ...esim, charged }, reference }
}

/** Pure: decides the outcome of a top-up from the packages of its eSIM. */
export function outcomeOfToppedUpRow(row: EsimRow, key: string): Outcome {
  const { packageKeys } = row
  if (packageKeys?.includes(key)) return { kind: 'toppedUp', expiredTime: timeOf(row.members.expiredTime) }
  if (packageKeys === undefined || packageKeys.includes(undefined))
    return { kind: 'unknown', message: 'the wholesaler does not name the keys of top-ups' }
  return { kind: 'retry', message: 'the eSIM has no package with this key' }
}

/** Pure: decides the outcome of an action from a failure. `refused` only if the failure proves that nothing was changed. */
export function outcomeOfFailedAction(failure: Failure): ActionOutcome {
  const isRefusal = failure.kind === 'failed' && ACTION_REFUSALS.includes(failure.code)
  return { kind: isRefusal ? 'refused' : 'unknown', message: failure.message }
}

/** The eSIM's state does not allow the action. */
export const NOT_IN_THIS_STATE = '200002'
const ACTION_REFUSALS: readonly string[] = [NOT_IN_THIS_STATE, '310403', '000105', '000106', '000107']
