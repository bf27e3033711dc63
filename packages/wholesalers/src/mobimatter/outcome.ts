import { iccidOf, isText, type JsonObject, resultIn } from '#members.ts'
import { describeReply, downOf, type RestAnswer } from '#rest-client.ts'
import type { Outcome, SupplierRequest, ToppedUpEsim } from '#supplier.ts'
import { chargeOf, deliveredDetailsOf, deliveredIccidOf, esimOf, hasOddDetail } from './decode.ts'

/** Accepting it for our key would give one eSIM to two dealers, or refund a delivered eSIM. */
const OTHER_ORDER: Outcome = { kind: 'unknown', message: 'MobiMatter answered for another order' }
/** How long we wait before a retry while the provider behind MobiMatter is down. */
const PROVIDER_WAIT_MS = 30_000

/**
 * Pure: decides the outcome from the answer to `POST /order`, which only holds the money. Only completing an order buys it,
 * and we never complete an order whose number we do not know: without an answer nothing was bought, and the hold lapses.
 *
 *   | answer                                         | outcome                                             |
 *   |------------------------------------------------|-----------------------------------------------------|
 *   | 2xx with an order number                       | created: complete it                                |
 *   | 429                                            | refused: out of stock                               |
 *   | 402 wallet                                     | retry: no money                                     |
 *   | 455 provider                                   | retry                                               |
 *   | 401, 403                                       | retry: an operator has to correct it                |
 *   | 408, 5xx, no answer, an unreadable one         | retry                                               |
 *   | any other 4xx of MobiMatter                    | refused                                             |
 *   | any other 4xx                                  | retry: the url is wrong                             |
 */
export function outcomeOfCreate(answer: RestAnswer): Outcome | { kind: 'created'; orderId: string } {
  if (answer.kind === 'failed') return { kind: 'retry', message: answer.message, ...downOf(answer) }
  const orderId = resultOf(answer, 'orderId')?.orderId
  if (isSuccess(answer.status) && isText(orderId)) return { kind: 'created', orderId }
  return isRefusal(answer) ? outcomeOfRefusal(answer) : { kind: 'retry', message: messageOf(answer), down: true }
}

/** A refusal in MobiMatter's form. MobiMatter has no error codes, so the HTTP status decides. */
export function isRefusal(answer: RestAnswer): boolean {
  if (answer.kind === 'failed' || answer.status < 400 || answer.status >= 500) return false
  return ![401, 403, 408].includes(answer.status) && isText(answer.body?.message)
}

/** Pure: decides the outcome from a refusal, which means that nothing was bought. */
export function outcomeOfRefusal(answer: RestAnswer): Outcome {
  const message = messageOf(answer)
  const status = answer.kind === 'reply' ? answer.status : 0
  if (status === NO_MONEY) return { kind: 'retry', message, noMoney: true }
  if (status === PROVIDER_DOWN) return { kind: 'retry', message, afterMs: PROVIDER_WAIT_MS, down: true }
  return { kind: 'refused', message: status === OUT_OF_STOCK ? `out of stock: ${message}` : message }
}

const NO_MONEY = 402
/** MobiMatter uses the status 429 for an empty stock, not for a rate limit. */
const OUT_OF_STOCK = 429
const PROVIDER_DOWN = 455

/**
 * Pure: decides the outcome from the state of the order with our key.
 *
 *   | state                                          | outcome                                             |
 *   |------------------------------------------------|-----------------------------------------------------|
 *   | Completed                                      | delivered or topped up                              |
 *   | Processing                                     | ordered                                             |
 *   | Created                                        | held: not completed so far                          |
 *   | Expired, Cancelled                             | ended: it can no longer be completed                |
 *   | Failed without an eSIM, Refunded               | refused                                             |
 *   | Cancelled after its delivery                   | refused                                             |
 *   | any other one                                  | unknown                                             |
 */
export function outcomeOfOrder(
  order: JsonObject,
  orderId: string,
  { topUp }: Pick<SupplierRequest, 'topUp'>,
): Outcome | { kind: 'held' } | { kind: 'ended'; message: string } {
  if (order.orderId !== orderId) return OTHER_ORDER
  const charged = chargeOf(order)
  const details = deliveredDetailsOf(order)
  switch (order.orderState) {
    case 'Completed':
      return topUp ? outcomeOfTopUp(order, orderId, topUp) : outcomeOfDelivery(order, orderId)
    case 'Processing':
      return { kind: 'ordered', message: 'the order is Processing at MobiMatter', reference: orderId, charged }
    case 'Created':
      return { kind: 'held' }
    case 'Expired':
    case 'Cancelled':
      if (details.has('ICCID')) return { kind: 'refused', message: 'the order was cancelled at MobiMatter' }
      return { kind: 'ended', message: `the order is ${order.orderState} at MobiMatter` }
    case 'Refunded':
      return { kind: 'refused', message: 'the order was refunded at MobiMatter' }
    case 'Failed':
      if (!details.has('ICCID') && !hasOddDetail(order)) {
        return { kind: 'refused', message: 'the order has failed at MobiMatter' }
      }
      return {
        kind: 'unknown',
        message: `the order has failed at MobiMatter, with ${details.has('ICCID') ? 'an eSIM' : 'an unreadable detail'}`,
        charged,
        reference: orderId,
      }
    default: {
      const message = 'the state of the order at MobiMatter is not known'
      return { kind: 'unknown', message, charged, reference: orderId }
    }
  }
}

function outcomeOfDelivery(order: JsonObject, orderId: string): Outcome {
  const charged = chargeOf(order)
  const esim = esimOf(order)
  const message = 'MobiMatter has delivered an eSIM that is unreadable'
  return esim === undefined
    ? { kind: 'unknown', message, charged, reference: orderId }
    : { kind: 'delivered', esim: { ...esim, charged }, reference: orderId }
}

/** After a replacement, the order contains the new ICCID of the line, and its first order or the old ICCID as the parent. */
function outcomeOfTopUp(order: JsonObject, orderId: string, { iccid, reference }: ToppedUpEsim): Outcome {
  const details = deliveredDetailsOf(order)
  const named = deliveredIccidOf(details)
  const parents = [details.get('PARENT_ORDER'), details.get('PARENT_IDENTIFIER')].filter(isText)
  const isOfLine = parents.some((parent) => parent === reference || iccidOf({ iccid: parent }) === iccid)
  if (named !== undefined && named !== iccid && !isOfLine) return OTHER_ORDER
  return { kind: 'toppedUp', charged: chargeOf(order), reference: orderId }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** The object in an answer: in its envelope, or bare if it has `mark`. */
export function resultOf(answer: RestAnswer, mark: string): JsonObject | undefined {
  return answer.kind === 'reply' ? resultIn(answer.body, 'result', mark) : undefined
}

/** The message for an operator about a failure. */
export function messageOf(answer: RestAnswer): string {
  return answer.kind === 'failed' ? answer.message : describeReply('MobiMatter', answer, answer.body?.message)
}
