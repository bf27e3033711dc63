import type { QueryAnswer, SpendScope } from '@dealer-esim/contract'
import type { DealerEsimError } from '@dealer-esim/sdk'
import { currencyOf, wholeOf } from '#members.ts'
import type { Charge, Outcome } from '#supplier.ts'
import { TEST_ACCOUNT } from './client.ts'
import { esimOf, profilesOf } from './decode.ts'

const LIMIT_WAIT_MS = 30_000

/** Codes that concern our account: until the operator of one of the gateways acts, every call is refused. */
const ACCOUNT_REFUSALS: readonly string[] = [TEST_ACCOUNT, '101002', '101003', '101004', '101005', '101009']

/** True if a failed query says that the upstream cannot be used at present: it was not reached, or it refuses our account. */
export function isDown({ failure, network }: { failure: DealerEsimError; network?: unknown }): boolean {
  return network !== undefined || ACCOUNT_REFUSALS.includes(failure.code)
}

/**
 * Pure: decides the outcome of an order from an upstream's failure. Our key is the transactionId, so we simply query an order
 * in doubt.
 *
 *   | code                                          | outcome                                                 |
 *   |-----------------------------------------------|---------------------------------------------------------|
 *   | 200011 stock; 310241, 310244 package          | refused                                                 |
 *   | 200002, 200015, 200017, 310245, 310403 eSIM   | refused                                                 |
 *   | 000105 to 000108 a parameter is not accepted  | refused                                                 |
 *   | other 0001xx: its url, a proxy in between     | retry: an operator has to correct it                    |
 *   | 200007 balance                                | retry: no money                                         |
 *   | 200014 daily limit of the account or our key  | retry: it ends with the day                             |
 *   | 200014 with scope KEY_TOTAL, KEY_ORDER        | as 200007; refused                                      |
 *   | 200005 another price                          | retry: nothing was bought                               |
 *   | 101xxx signature, clock, address, QPS; 000002 | retry, except                                           |
 *   | 101006 the request was received twice         | unknown: the first of the two may have bought           |
 *   | 200012 another order has our key              | unknown: an operator has to investigate                 |
 *   | 000001 and any other code                     | unknown                                                 |
 *   | no answer, an invalid answer                  | unknown; retry if it certainly was not sent             |
 */
export function outcomeOfFailure(
  error: DealerEsimError,
  sent: boolean,
): Exclude<Outcome, { kind: 'delivered' | 'toppedUp' }> {
  const message = `${error.code}: ${error.message}`
  const { code } = error
  if (!/^\d{6}$/.test(code))
    return sent ? { kind: 'unknown', message, down: true } : { kind: 'retry', message, down: true }
  if (code === '200007') return { kind: 'retry', message, noMoney: true }
  if (error.is('200014')) return outcomeOfLimit(error.data.scope, message)
  if (code === '200005') return { kind: 'retry', message }
  if (code === '101007') return { kind: 'retry', message, afterMs: (error.retryAfterS ?? 1) * 1000 }
  if (code === '101006') return { kind: 'unknown', message }
  if (code === '000002' || code.startsWith('101')) return { kind: 'retry', message, down: true }
  if (code === '200011' || code === '310241' || code === '310244') return { kind: 'refused', message }
  if (REFUSALS.includes(code)) return { kind: 'refused', message }
  if (PARAMETER.test(code)) return { kind: 'refused', message }
  if (code.startsWith('0001')) return { kind: 'retry', message, down: true }
  return {
    kind: 'unknown',
    message,
    ...(error.httpStatus !== undefined && error.httpStatus >= 500 ? { down: true } : {}),
  }
}

/** A gateway of an earlier release names no scope: its only limit is the account's daily one. */
function outcomeOfLimit(
  scope: SpendScope | undefined,
  message: string,
): Exclude<Outcome, { kind: 'delivered' | 'toppedUp' }> {
  switch (scope) {
    case 'KEY_ORDER':
      return { kind: 'refused', message }
    case 'KEY_TOTAL':
      return { kind: 'retry', message, noMoney: true }
    default:
      return { kind: 'retry', message, afterMs: LIMIT_WAIT_MS }
  }
}

/**
 * Refusals: the eSIM's state, an action that its supplier cannot carry out, the cancel policy, a package that does not fit,
 * no such eSIM.
 */
const REFUSALS: readonly string[] = ['200002', '200015', '200017', '200018', '200019', '310245', '310403']
const PARAMETER = /^00010[5-8]$/

/** Accepting it for our key would give one eSIM to two dealers, or refund a delivered eSIM. */
export const OTHER_ORDER: Outcome = { kind: 'unknown', message: 'the upstream gateway answered for another order' }

/** Pure: decides the outcome of our item from the upstream's order with its key. */
export function outcomeOfOrder(order: QueryAnswer, key: string): Outcome {
  const profiles = profilesOf(order)
  if (order.orderType === 'TOPUP') return OTHER_ORDER
  if ([order, ...(profiles ?? [])].some(({ transactionId }) => transactionId !== key)) return OTHER_ORDER
  if (profiles === undefined) return { kind: 'unknown', message: 'the answer of the upstream gateway is unreadable' }
  const charged = chargeOf(order)
  const [profile] = profiles
  if (profile !== undefined) {
    if (profile.esimStatus === 'CANCEL') return { kind: 'refused', message: 'cancelled by the upstream gateway' }
    const esim = esimOf(profile)
    if (esim === undefined)
      return { kind: 'unknown', message: 'the upstream gateway has an eSIM that is unreadable', charged }
    return { kind: 'delivered', esim: { ...esim, charged } }
  }
  return outcomeWithoutEsim(order)
}

function outcomeWithoutEsim(order: QueryAnswer): Outcome {
  switch (order.orderStatus) {
    case 'FAILED':
    case 'CANCELLED': {
      const reason: unknown = order.packageInfoList?.[0]?.failureReason
      const message = typeof reason === 'string' ? reason : `${order.orderStatus} at the upstream gateway`
      return { kind: 'refused', message }
    }
    default:
      return {
        kind: 'unknown',
        message: `the order is ${order.orderStatus} at the upstream gateway`,
        charged: chargeOf(order),
      }
  }
}

/** Pure: decides the outcome of a top-up, as `outcomeOfOrder` does for an order. */
export function outcomeOfTopUp(order: QueryAnswer, key: string): Outcome {
  if (order.transactionId !== key || order.orderType !== 'TOPUP') return OTHER_ORDER
  const charged = chargeOf(order)
  return order.orderStatus === 'DELIVERED' ? { kind: 'toppedUp', charged } : outcomeWithoutEsim(order)
}

/** Pure: the debit for an order of one eSIM. @returns undefined if the upstream does not state it in a valid form */
export function chargeOf(order: { amount: unknown; currencyCode: unknown }): Charge | undefined {
  const amount = wholeOf(order.amount)
  const currencyCode = currencyOf(order.currencyCode)
  return amount === undefined || currencyCode === undefined ? undefined : { amount, currencyCode }
}
