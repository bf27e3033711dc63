import { iccidOf, isText, type JsonObject, resultIn } from '#members.ts'
import { downOf, type RestAnswer } from '#rest-client.ts'
import type { ActionOutcome, Outcome, SupplierRequest } from '#supplier.ts'
import { type EsimGoOrder, esimOf, messageOf, orderOf } from './decode.ts'

const RATE_WAIT_MS = 1_000

/**
 * Pure: decides from the answer to `POST /orders`, which takes no key: an order in doubt is never repeated.
 *
 *   | answer                                         | outcome                                             |
 *   |------------------------------------------------|-----------------------------------------------------|
 *   | 2xx with an order reference                    | placed                                              |
 *   | 2xx that is unreadable, 408, 5xx, no answer    | unknown                                             |
 *   | not sent                                       | retry                                               |
 *   | 401, 403 key; 410 account                      | retry: an operator has to correct it                |
 *   | 429                                            | retry                                               |
 *   | any other 4xx of eSIM Go about the balance     | retry: no money                                     |
 *   | any other 4xx of eSIM Go                       | refused                                             |
 *   | any other 4xx                                  | retry: the url is wrong                             |
 */
export function outcomeOfOrder(answer: RestAnswer): Outcome | { kind: 'placed'; reference: string; order: JsonObject } {
  const message = messageOf(answer)
  if (answer.kind === 'failed') return { kind: answer.sent ? 'unknown' : 'retry', message, ...downOf(answer) }
  const { status, body } = answer
  const order = status >= 200 && status < 300 ? resultIn(body, 'data', 'orderReference') : undefined
  if (isText(order?.orderReference)) return { kind: 'placed', reference: order.orderReference, order }
  // The order may have been accepted. A message like "Processing" does not mean that eSIM Go as a whole is down.
  if (status === 503 && isText(body?.message)) return { kind: 'unknown', message }
  if (status < 400 || status >= 500 || status === 408) return { kind: 'unknown', message, down: true }
  if (status === 429) return { kind: 'retry', message, afterMs: answer.retryAfterMs ?? RATE_WAIT_MS }
  if (!isRefusal(answer)) return { kind: 'retry', message, down: true }
  if (MONEY.test(message)) return { kind: 'retry', message, noMoney: true }
  return { kind: 'refused', message }
}

/** eSIM Go has no error codes. A refusal that is wrongly read as a lack of money only causes a retry. */
const MONEY = /balance|credit|funds/i

/**
 * A definite refusal by eSIM Go itself. A wrong key, an account that eSIM Go has deactivated (410) and the rate limit are
 * problems for the operator to solve: a repeat may succeed.
 */
export function isRefusal(answer: RestAnswer): boolean {
  if (answer.kind === 'failed' || answer.status < 400 || answer.status >= 500) return false
  return ![401, 403, 408, 410, 429].includes(answer.status) && isText(answer.body?.message)
}

const OTHER_ORDER: Outcome = { kind: 'unknown', message: 'eSIM Go answered for another order' }

/** Pure: decides the outcome from the order with our key. */
export function outcomeOfPurchase(
  { reference, bundle, esims, status, charged }: EsimGoOrder,
  { productCode, topUp }: Pick<SupplierRequest, 'productCode' | 'topUp'>,
): Outcome {
  if (bundle !== productCode) return OTHER_ORDER
  if (esims.length === 0) {
    // eSIM Go does not document whether the money is returned if an order ends without an eSIM.
    const message = `the order is ${status ?? 'accepted'} at eSIM Go, without an eSIM`
    return { kind: status === 'completed' ? 'unknown' : 'ordered', message, reference, charged }
  }
  if (topUp !== undefined) {
    const isToppedUpEsim = esims.length === 1 && iccidOf(esims[0]!) === topUp.iccid
    return isToppedUpEsim ? { kind: 'toppedUp', charged, reference } : OTHER_ORDER
  }
  const esim = esims.length === 1 ? esimOf(esims[0]!) : undefined
  return esim === undefined
    ? { kind: 'unknown', message: 'eSIM Go has delivered an eSIM that is unreadable', charged, reference }
    : { kind: 'delivered', esim: { ...esim, charged }, reference }
}

/** Pure: decides from `GET /orders/{reference}`. Any failure leaves the item in doubt. */
export function outcomeOfFind(
  answer: RestAnswer,
  reference: string,
  request: Pick<SupplierRequest, 'productCode' | 'topUp'>,
): Outcome {
  const message = messageOf(answer)
  if (answer.kind === 'failed') return { kind: 'unknown', message, reference, ...downOf(answer) }
  const { status, body = {} } = answer
  if (status === 503 && isText(body.message)) return { kind: 'ordered', message, reference }
  const order = status === 200 ? orderOf(resultIn(body, 'data', 'orderReference') ?? {}) : undefined
  if (order?.reference === reference) return outcomeOfPurchase(order, request)
  return { kind: 'unknown', message, reference, ...(status >= 500 ? { down: true as const } : {}) }
}

/** Pure: any answer below 500 but a success says that nothing was sent. */
export function outcomeOfSms(answer: RestAnswer): ActionOutcome {
  const message = messageOf(answer)
  if (answer.kind === 'failed') return { kind: answer.sent ? 'unknown' : 'refused', message }
  const { status } = answer
  if (status >= 200 && status < 300) return { kind: 'done' }
  return { kind: status < 400 || status >= 500 || status === 408 ? 'unknown' : 'refused', message }
}
