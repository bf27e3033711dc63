import { timingSafeEqual } from 'node:crypto'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { decimalOf, iccidOf, isText, type JsonObject, parseJson, parseObject, resultIn } from '#members.ts'
import { longestMs, timeOfEvent } from '#rest-client.ts'
import { refuseSeveralDays } from '#several-days.ts'
import type { CancelOutcome, Outcome, ReceivedEvent, Supplier, SupplierRequest } from '#supplier.ts'
import { callTraits } from '#supplier-settings.ts'
import { type AiraloClient, type AiraloConfig, type AiraloDeps, airaloClient, DEFAULTS, sign } from './client.ts'
import { findOrders, INCLUDE, ListFailure, listSold } from './lists.ts'
import { outcomeOfFailedQuery, outcomeOfFound, outcomeOfOrder } from './outcome.ts'
import { listProducts, listTopUpsOf } from './products.ts'
import { readBalance, reportOn, testAccount } from './reports.ts'

/** The requests for one purchase: a token and the order, and both again if Airalo refuses the token. */
const REQUESTS_MAX = 4

/**
 * The wholesaler Airalo, Partner API v2. It does not accept an idempotency key, so we send our key as the description of an
 * order, and find an order in doubt by its description. Written from public documentation; not yet verified against a live
 * account.
 */
export function airaloSupplier(name: string, config: AiraloConfig, deps: AiraloDeps): Supplier {
  const client = airaloClient(name, config, deps)
  return {
    name,
    type: 'airalo',
    traits: {
      ...callTraits(config, DEFAULTS),
      timeoutMs: longestMs(REQUESTS_MAX, config),
      findsLate: true,
      cancelsUnseenOnly: true, // by hand, and only for a reason that Airalo accepts
    },
    order: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(client, request))),
    topUp: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(client, request))),
    topUpsOf: ({ iccid }) => listTopUpsOf(client, iccid),
    query: (requests) => Promise.all(requests.map((request) => query(client, request))),
    cancel: () => Promise.resolve(CANCELLED_BY_HAND),
    report: (esims) => Promise.all(esims.map((esim) => reportOn(client, esim))),
    list: (since) => listSold(client, since),
    catalogue: () => listProducts(client, config.currencyCode ?? DEFAULTS.currencyCode),
    balance: () => readBalance(client),
    receive: ({ headers, body }) => Promise.resolve(receive(config.clientSecret, headers['airalo-signature'], body)),
    test: () => testAccount(client),
  }
}

const CANCELLED_BY_HAND: CancelOutcome = {
  kind: 'refused',
  message: 'Airalo’s interface cannot cancel: ask its support for a refund',
}

/**
 * Buys a new eSIM, or adds the package to an eSIM. The description is our key alone, so that it can be compared as a whole.
 */
async function order(client: AiraloClient, request: SupplierRequest): Promise<Outcome> {
  const { key: description, productCode: package_id, topUp } = request
  const placed =
    topUp === undefined
      ? await client.post('/orders', { quantity: 1, package_id, type: 'sim', description })
      : await client.post('/orders/topups', { package_id, iccid: topUp.iccid, description })
  await failpoint('airalo.ordered')
  return outcomeOfOrder(placed, request)
}

/**
 * Queries an order by its number, otherwise by our key. `retry` means that the list does not contain it, which is final
 * only once the list can no longer lag behind (traits.graceMs). Nothing is ever bought here.
 */
async function query(client: AiraloClient, request: SupplierRequest): Promise<Outcome> {
  const { key, reference } = request
  if (reference !== undefined) {
    const answer = await client.get(`/orders/${encodeURIComponent(reference)}`, { include: INCLUDE })
    const found = answer.kind === 'reply' && answer.status === 200 ? resultIn(answer.body, 'data', 'id') : undefined
    return found ? outcomeOfFound(found, request) : outcomeOfFailedQuery(answer)
  }
  try {
    const { orders, unreadable } = await findOrders(client, key)
    const [found] = orders
    if (found) return outcomeOfFound(found, request)
    // A fault with one order does not mean that Airalo is down.
    return unreadable === undefined
      ? { kind: 'retry', message: 'Airalo’s list has no order with this key' }
      : { kind: 'unknown', message: `Airalo’s list has an unreadable order: ${unreadable}` }
  } catch (error) {
    if (!(error instanceof ListFailure)) throw error
    return error.answer ? outcomeOfFailedQuery(error.answer) : { kind: 'unknown', message: error.message, down: true }
  }
}

/** An event says which order to query, by its description, or how much data an eSIM has left. */
function receive(secret: string, signature: unknown, body: Buffer): ReceivedEvent {
  const given =
    typeof signature === 'string' && /^[0-9a-f]{128}$/i.test(signature) ? Buffer.from(signature, 'hex') : null
  // Airalo's clients sign the compact JSON, whichever white space is sent.
  const signed = [body, JSON.stringify(parseJson(body.toString())) ?? '']
  if (given === null || !signed.some((text) => timingSafeEqual(given, sign(secret, text)))) {
    return { kind: 'refused', message: 'airalo-signature is not the HMAC-SHA512 of the body by clientSecret' }
  }
  const event = parseObject(body.toString())
  if (event === undefined) return { kind: 'refused', message: 'the body is not an event' }
  const { description } = resultIn(event, 'data', 'description') ?? {}
  return { kind: 'changed', keys: isText(description) ? [description] : [], reports: lowDataOf(event) }
}

/** `{level: "90%", remaining_percentage: 10, iccid}` */
function lowDataOf(event: JsonObject): NonNullable<Extract<ReceivedEvent, { kind: 'changed' }>['reports']> {
  const iccid = iccidOf(event)
  const remaining = decimalOf(event.remaining_percentage, 0)
  if (iccid === undefined || remaining === undefined || remaining < 0n || remaining > 100n) return []
  return [{ iccid, report: { time: timeOfEvent(), remainingPercent: Number(remaining) } }]
}
