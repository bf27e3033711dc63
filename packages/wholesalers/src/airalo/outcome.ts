import { isObject, isText, type JsonObject, resultIn } from '#members.ts'
import { downOf, type RestAnswer, type RestFailure } from '#rest-client.ts'
import type { Outcome, SupplierRequest } from '#supplier.ts'
import { chargeOf, codeOf, esimsOf, messageOf, referenceOf, statusOf } from './decode.ts'

type Purchase = Pick<SupplierRequest, 'key' | 'topUp'>
type Described = Extract<Outcome, { message: string }>

/** Accepting it for our key would give one eSIM to two dealers. */
const OTHER_ORDER: Outcome = { kind: 'unknown', message: 'Airalo answered for another order' }
/** How long we wait before a retry while Airalo is under maintenance. */
const MAINTENANCE_WAIT_MS = 30_000

/**
 * Pure: decides the outcome of POST /orders and /orders/topups. Airalo does not accept an idempotency key, so repeating
 * an order buys again: we look for an order in doubt by its description, for longer than Airalo's list lags behind.
 *
 *   | answer                                       | outcome                                         |
 *   |----------------------------------------------|-------------------------------------------------|
 *   | 2xx with an eSIM                             | delivered                                       |
 *   | 2xx without one yet                          | ordered                                         |
 *   | 2xx that is unreadable, 408, 5xx, no answer  | unknown                                         |
 *   | 2xx of an order that has failed              | refused                                         |
 *   | 422 with code 23, 33, 34 or 73               | refused: stock, package or eSIM                 |
 *   | 422 with code 14 or 43                       | refused: the request                            |
 *   | 422 with faults of parameters or a reason    | refused                                         |
 *   | 422 with code 11                             | retry: no money                                 |
 *   | 422 with code 13                             | retry: maintenance                              |
 *   | 422 with any other code, 53 among them       | unknown                                         |
 *   | 401, 403, 429, any other 4xx, not sent       | retry                                           |
 */
export function outcomeOfOrder(answer: RestAnswer, request: Purchase): Outcome {
  if (answer.kind === 'failed') return outcomeOfFailure(answer, answer.sent ? 'unknown' : 'retry')
  const { status, body } = answer
  const message = messageOf(answer)
  if (status >= 200 && status < 300) {
    const order = resultIn(body, 'data', 'id')
    return order ? outcomeOfFound(order, request) : { kind: 'unknown', message, down: true }
  }
  if (status >= 500 || status === 408) return { kind: 'unknown', message, down: true }
  if (status === 429) return { kind: 'retry', message, afterMs: answer.retryAfterMs ?? 1_000 }
  return status === 422 ? outcomeOfRefusal(body, message) : { kind: 'retry', message, down: true }
}

const REFUSALS: readonly number[] = [14, 23, 33, 34, 43, 73]
const NO_MONEY = 11
const MAINTENANCE = 13

function outcomeOfRefusal(body: JsonObject | undefined, message: string): Outcome {
  const code = codeOf(body)
  if (code === undefined) {
    return isObject(body?.data) || isText(body?.reason) ? { kind: 'refused', message } : { kind: 'unknown', message }
  }
  if (REFUSALS.includes(code)) return { kind: 'refused', message }
  if (code === NO_MONEY) return { kind: 'retry', message, noMoney: true }
  if (code === MAINTENANCE) return { kind: 'retry', message, afterMs: MAINTENANCE_WAIT_MS, down: true }
  return { kind: 'unknown', message }
}

function outcomeOfFailure(failure: RestFailure, kind: 'unknown' | 'retry'): Described {
  return { kind, message: failure.message, ...downOf(failure) }
}

/** Pure: decides the outcome from an order that Airalo has. `description` is compared as a whole. */
export function outcomeOfFound(order: JsonObject, { key, topUp }: Purchase): Outcome {
  const reference = referenceOf(order)
  const charged = chargeOf(order)
  if (order.description !== undefined && order.description !== key) return OTHER_ORDER
  const isTopUp = order.type === 'topup'
  if (order.type !== undefined && isTopUp !== (topUp !== undefined)) return OTHER_ORDER
  const status = statusOf(order)
  const esims = topUp === undefined ? esimsOf(order) : []
  const isEmpty = esims?.length === 0
  // An order that has failed but contains an eSIM contradicts itself.
  if (status !== undefined && (RETURNED.includes(status) || (status === FAILED && isEmpty))) {
    return { kind: 'refused', message: `the order is ${status} at Airalo` }
  }
  if (topUp !== undefined && (status ?? COMPLETED) === COMPLETED) return { kind: 'toppedUp', charged, reference }
  if (esims === undefined || status === FAILED) {
    return { kind: 'unknown', message: 'Airalo has an eSIM that is unreadable', charged, reference }
  }
  const [esim] = esims
  if (esim !== undefined) return { kind: 'delivered', esim: { ...esim, charged }, reference }
  return reference === undefined
    ? { kind: 'unknown', message: 'Airalo’s answer names no order', charged }
    : { kind: 'ordered', message: 'Airalo has accepted the order and not delivered it yet', reference, charged }
}

const COMPLETED = 'completed'
const FAILED = 'failed'
/** Statuses in which Airalo has returned the money. */
export const RETURNED: readonly string[] = ['refunded', 'cancelled', 'canceled']

/** A query changes nothing: any failure leaves the item in doubt. */
export function outcomeOfFailedQuery(answer: RestAnswer): Outcome {
  if (answer.kind === 'failed') return outcomeOfFailure(answer, 'unknown')
  const isDown = answer.status !== 429
  return { kind: 'unknown', message: messageOf(answer), ...(isDown ? { down: true as const } : {}) }
}
