import { setTimeout as delay } from 'node:timers/promises'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { isListedSender, unlistedSender } from '#event-senders.ts'
import { iccidOf, isObject, isText, parseObject } from '#members.ts'
import { longestMs, type RestAnswer, type RestDeps } from '#rest-client.ts'
import { refuseSeveralDays } from '#several-days.ts'
import type { CancelOutcome, Outcome, ReceivedEvent, SuppliedEsim, Supplier, SupplierRequest } from '#supplier.ts'
import { callTraits } from '#supplier-settings.ts'
import { DEFAULTS, type ZenditClient, type ZenditConfig, zenditClient } from './client.ts'
import { listProducts, listPurchases } from './lists.ts'
import {
  isZenditError,
  messageOf,
  outcomeOfOrder,
  outcomeOfQuery,
  outcomeOfRefund,
  outcomeOfRejection,
  purchaseIn,
} from './outcome.ts'
import { readBalance, reportOn, testAccount } from './reports.ts'

/** Queries after an order in the same call: most purchases are completed immediately. */
const CHECKS = 4
const FIRST_CHECK_MS = 150

/**
 * The wholesaler Zendit. Each item is a purchase whose transactionId is the item's key, which Zendit accepts once and finds
 * again: a purchase in doubt is queried before it is repeated. Written from public documentation; not yet verified against
 * a live account.
 */
export function zenditSupplier(name: string, config: ZenditConfig, deps: RestDeps): Supplier {
  const client = zenditClient(name, config, deps)
  return {
    name,
    type: 'zendit',
    traits: {
      ...callTraits(config, DEFAULTS),
      // The requests of one call: the order, one late query, and the waits between queries.
      timeoutMs: longestMs(2, config) + FIRST_CHECK_MS * 2 ** CHECKS,
    },
    order: (requests) =>
      Promise.all(requests.map((request) => refuseSeveralDays(request) ?? purchase(client, request))),
    topUp: (requests) =>
      Promise.all(requests.map((request) => refuseSeveralDays(request) ?? purchase(client, request))),
    query: (requests) => Promise.all(requests.map((request) => query(client, request))),
    cancel: (esim) => cancel(client, esim),
    report: (esims) => Promise.all(esims.map((esim) => reportOn(client, esim))),
    list: (since) => listPurchases(client, since),
    catalogue: () => listProducts(client),
    balance: () => readBalance(client),
    eventsUnproven: config.eventAddresses === undefined,
    receive: async (event) => receive(config, event),
    test: () => testAccount(client),
  }
}

/** Buys a new eSIM, or adds the offer to an eSIM. */
async function purchase(client: ZenditClient, request: SupplierRequest): Promise<Outcome> {
  const { key, productCode, topUp } = request
  const body = { transactionId: key, offerId: productCode, ...(topUp && { iccid: topUp.iccid }) }
  const placed = await client.post('/esim/purchases', body)
  await failpoint('zendit.ordered')
  const decided = outcomeOfOrder(placed, key)
  if (decided === 'accepted') return untilDelivered(client, request)
  if (decided !== 'rejected') return decided
  // The transactionId may have been refused because an earlier call used it.
  const earlier = await query(client, request)
  return earlier.kind === 'retry' ? outcomeOfRejection(placed) : earlier
}

async function untilDelivered(client: ZenditClient, request: SupplierRequest): Promise<Outcome> {
  let outcome: Outcome = { kind: 'ordered', message: 'Zendit has accepted the purchase', reference: request.key }
  for (let check = 0; check < CHECKS; check++) {
    await waitBefore(check)
    const answer = await client.get(purchasePath(request.key))
    // The purchase exists, even if we cannot read it at the moment.
    if (answer.kind === 'failed') return outcome
    if (answer.status === 200 && answer.body !== undefined) outcome = outcomeOfQuery(answer, request)
    if (outcome.kind !== 'ordered') return outcome
  }
  return outcome
}

/** Waits before a query: not before the first, then twice as long each time. */
async function waitBefore(check: number): Promise<void> {
  if (check > 0) await delay(FIRST_CHECK_MS * 2 ** (check - 1))
}

async function query(client: ZenditClient, request: SupplierRequest): Promise<Outcome> {
  return outcomeOfQuery(await client.get(purchasePath(request.key)), request)
}

/**
 * Requests the refund of the purchase. Zendit has one refund for each purchase, so a repeat finds the earlier call's
 * refund. The eSIM is compared first: it may be a different one sold under the same key.
 */
async function cancel(client: ZenditClient, { key, iccid }: SuppliedEsim): Promise<CancelOutcome> {
  const sold = await client.get(purchasePath(key))
  const purchase = sold.kind === 'reply' && sold.status === 200 ? (purchaseIn(sold.body) ?? sold.body) : undefined
  if (purchase === undefined) {
    const isMissing = sold.kind === 'reply' && sold.status === 404 && isZenditError(sold.body)
    return { kind: isMissing ? 'refused' : 'unknown', message: messageOf(sold) }
  }
  const { confirmation } = purchase
  if (purchase.transactionId !== key || !isObject(confirmation) || iccidOf(confirmation) !== iccid) {
    return { kind: 'refused', message: 'Zendit has sold another eSIM with this transactionId' }
  }
  const earlier = await findRefund(client, key)
  if (earlier !== 'none') return earlier
  const requested = await client.post(`${purchasePath(key)}/refund`, undefined)
  await failpoint('zendit.acted')
  for (let check = 0; check < CHECKS; check++) {
    await waitBefore(check)
    const found = await findRefund(client, key)
    if (found === 'none') {
      return { kind: isRefusal(requested) ? 'refused' : 'unknown', message: messageOf(requested) }
    }
    if (found.kind !== 'unknown') return found
  }
  return UNDER_WAY
}

/** Statuses that say nothing about the order: key, address, time-out, rate limit. A repeat may succeed. */
const REPEATABLE: readonly number[] = [401, 403, 408, 429]

function isRefusal(answer: RestAnswer): boolean {
  if (answer.kind === 'failed' || !isZenditError(answer.body)) return false
  return answer.status >= 400 && answer.status < 500 && !REPEATABLE.includes(answer.status)
}

const UNDER_WAY: CancelOutcome = { kind: 'unknown', message: 'Zendit has not decided on the refund yet' }

async function findRefund(client: ZenditClient, key: string): Promise<CancelOutcome | 'none'> {
  const answer = await client.get(`${purchasePath(key)}/refund`)
  if (answer.kind === 'reply' && answer.status === 404 && isZenditError(answer.body)) return 'none'
  const body = answer.kind === 'reply' && answer.status === 200 ? answer.body : undefined
  if (body === undefined) return { kind: 'unknown', message: messageOf(answer) }
  return outcomeOfRefund(body) ?? UNDER_WAY
}

const KEY_LENGTH_MAX = 64

/** Zendit does not sign its events, so one is only a hint to query the purchase that it mentions. A query changes nothing. */
function receive(
  config: ZenditConfig,
  { body, address }: { body: Buffer; address?: string | undefined },
): ReceivedEvent {
  if (isListedSender(config, address) === false) return unlistedSender(address)
  const key = parseObject(body.toString())?.transactionId
  return isText(key) && key.length <= KEY_LENGTH_MAX
    ? { kind: 'changed', keys: [key] }
    : { kind: 'refused', message: 'the event of Zendit names no transactionId' }
}

function purchasePath(key: string): string {
  return `/esim/purchases/${encodeURIComponent(key)}`
}
