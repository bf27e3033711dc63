import { iccidOf, isObject, isText, type JsonObject, resultIn } from '#members.ts'
import { describeReply, downOf, type RestAnswer } from '#rest-client.ts'
import type { CancelOutcome, Outcome, SupplierRequest } from '#supplier.ts'
import { chargeOf, esimOf } from './decode.ts'

type Purchase = Pick<SupplierRequest, 'key' | 'topUp'>

/** Accepting it for our key would give one eSIM to two dealers, or refund a delivered eSIM. */
export const OTHER_PURCHASE: Outcome = { kind: 'unknown', message: 'Zendit answered for another purchase' }

/**
 * Pure: decides the outcome of POST /esim/purchases, as far as its answer determines it.
 *
 *   | answer                                                   | outcome                                         |
 *   |----------------------------------------------------------|-------------------------------------------------|
 *   | 2xx with our transactionId                               | accepted: query it                              |
 *   | 2xx that is unreadable, 408, 5xx, no answer              | unknown                                         |
 *   | not sent                                                 | retry                                           |
 *   | 401 key, 403 address                                     | retry: an operator has to correct it            |
 *   | 429                                                      | retry                                           |
 *   | any other status that does not come from Zendit          | retry: the url is wrong                         |
 *   | any other 4xx of Zendit                                  | rejected: query it, because the refusal may be  |
 *   |                                                          | that of a repeated transactionId                |
 */
export function outcomeOfOrder(answer: RestAnswer, key: string): Outcome | 'accepted' | 'rejected' {
  if (answer.kind === 'failed') {
    return { kind: answer.sent ? 'unknown' : 'retry', message: answer.message, ...downOf(answer) }
  }
  const { status, body } = answer
  const message = messageOf(answer)
  if (status >= 200 && status < 300) {
    const { transactionId } = purchaseIn(body) ?? {}
    if (!isText(transactionId)) return { kind: 'unknown', message, down: true }
    return transactionId === key ? 'accepted' : OTHER_PURCHASE
  }
  if (status >= 500 || status === 408) return { kind: 'unknown', message, down: true }
  if (status === 429) return { kind: 'retry', message, afterMs: answer.retryAfterMs ?? 1_000 }
  if (status === 401 || status === 403 || !isZenditError(body)) return { kind: 'retry', message, down: true }
  return 'rejected'
}

/** Pure: decides the outcome of a rejected order, after a query has shown that no purchase has its transactionId. */
export function outcomeOfRejection(answer: RestAnswer): Outcome {
  const message = messageOf(answer)
  const isMoney = answer.kind === 'reply' && codeOf(answer.body) === 'INSUFFICIENT_FUNDS'
  return isMoney ? { kind: 'retry', message, noMoney: true } : { kind: 'refused', message }
}

/**
 * Pure: decides the outcome from GET /esim/purchases/{transactionId}. Only a 404 from Zendit itself means that nothing was
 * bought: any other failure leaves the item in doubt.
 */
export function outcomeOfQuery(answer: RestAnswer, request: Purchase): Outcome {
  if (answer.kind === 'failed') return { kind: 'unknown', message: answer.message, ...downOf(answer) }
  const { status, body } = answer
  const message = messageOf(answer)
  if (status === 200 && body !== undefined) return outcomeOfPurchase(purchaseIn(body) ?? body, request)
  if (status === 404 && isZenditError(body)) return { kind: 'retry', message: 'Zendit does not know this purchase' }
  return { kind: 'unknown', message, ...(status === 429 ? {} : { down: true as const }) }
}

/** The purchase in an answer, bare or wrapped. */
export function purchaseIn(body: JsonObject | undefined): JsonObject | undefined {
  return resultIn(body, 'data', 'transactionId')
}

/** Pure: decides the outcome from the state of the purchase. */
export function outcomeOfPurchase(purchase: JsonObject, { key, topUp }: Purchase): Outcome {
  if (purchase.transactionId !== key) return OTHER_PURCHASE
  const charged = chargeOf(purchase)
  switch (purchase.status) {
    case 'DONE':
      return topUp ? outcomeOfTopUp(purchase, key, topUp.iccid) : outcomeOfDelivery(purchase, key)
    case 'FAILED':
      return { kind: 'refused', message: failureOf(purchase) }
    case 'ACCEPTED':
    case 'AUTHORIZED':
    case 'PENDING':
    case 'IN_PROGRESS':
      return { kind: 'ordered', message: `the purchase is ${purchase.status} at Zendit`, reference: key, charged }
    default:
      return { kind: 'unknown', message: 'the status of the purchase at Zendit is not known', charged }
  }
}

function outcomeOfDelivery(purchase: JsonObject, key: string): Outcome {
  const charged = chargeOf(purchase)
  const esim = esimOf(purchase)
  return esim === undefined
    ? { kind: 'unknown', message: 'Zendit has delivered an eSIM that is unreadable', charged }
    : { kind: 'delivered', esim: { ...esim, charged }, reference: key }
}

function outcomeOfTopUp(purchase: JsonObject, key: string, iccid: string): Outcome {
  const named = isObject(purchase.confirmation) ? iccidOf(purchase.confirmation) : undefined
  if (named !== undefined && named !== iccid) return OTHER_PURCHASE
  return { kind: 'toppedUp', charged: chargeOf(purchase), reference: key }
}

/** Pure: decides the outcome from a refund by Zendit. @returns undefined while the refund is in progress */
export function outcomeOfRefund({ status, error }: JsonObject): CancelOutcome | undefined {
  switch (status) {
    case 'DONE':
      return { kind: 'cancelled' }
    case 'FAILED':
      return { kind: 'refused', message: errorText(error) ?? 'Zendit refused the refund' }
    default:
      return undefined
  }
}

/** An error from Zendit itself, not from a proxy or another server. */
export function isZenditError(body: JsonObject | undefined): boolean {
  return codeOf(body) !== undefined
}

function codeOf(body: JsonObject | undefined): string | undefined {
  const code = errorOf(body).code
  return isText(code) ? code : undefined
}

/** Zendit documents two forms: `errorCode` and `message`, or an `error` with `code` and `message`. */
function errorOf(body: JsonObject = {}): { code: unknown; message: unknown } {
  const { errorCode, message, error } = body
  if (!isObject(error)) return { code: errorCode, message }
  return { code: errorCode ?? error.code, message: message ?? error.message ?? error.description }
}

/** The message for an operator about a failure. */
export function messageOf(answer: RestAnswer): string {
  if (answer.kind === 'failed') return answer.message
  const code = codeOf(answer.body)
  const { message } = errorOf(answer.body)
  if (code !== undefined) return isText(message) ? `${code}: ${message}` : code
  return describeReply('Zendit', answer, message)
}

function failureOf({ error }: JsonObject): string {
  return errorText(error) ?? 'the purchase FAILED at Zendit'
}

function errorText(error: unknown): string | undefined {
  if (!isObject(error)) return undefined
  const parts = [error.code, error.message ?? error.description].filter(isText)
  return parts.length === 0 ? undefined : parts.join(': ')
}
