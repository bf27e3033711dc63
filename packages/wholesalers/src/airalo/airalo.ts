import { createHmac, timingSafeEqual } from 'node:crypto'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { isObject, isText, parseObject } from '#members.ts'
import { longestMs } from '#rest-client.ts'
import { refuseSeveralDays } from '#several-days.ts'
import type { CancelOutcome, Outcome, ReceivedEvent, Supplier, SupplierRequest } from '#supplier.ts'
import { type AiraloClient, type AiraloConfig, type AiraloDeps, airaloClient, DEFAULTS } from './client.ts'
import { findOrders, ListFailure, listProducts, listSold } from './lists.ts'
import { outcomeOfFailedQuery, outcomeOfFound, outcomeOfOrder } from './outcome.ts'
import { readBalance, reportOn, testAccount } from './reports.ts'

/** The requests of one purchase: a token and the order, and both again if Airalo refuses the token. */
const REQUESTS_MAX = 4

/**
 * The wholesaler Airalo, Partner API v2. It accepts no idempotency key, so we send our key as the description of an order,
 * and find an order in doubt by its description. Written from public documentation; not yet verified against a live account.
 */
export function airaloSupplier(name: string, config: AiraloConfig, deps: AiraloDeps): Supplier {
  const client = airaloClient(name, config, deps)
  return {
    name,
    type: 'airalo',
    traits: {
      batch: 1,
      concurrency: config.concurrency ?? DEFAULTS.concurrency,
      perSecond: null, // the limit of the account holds over all nodes: rest-client.ts
      timeoutMs: longestMs(REQUESTS_MAX, config),
      graceMs: config.settlesMs ?? DEFAULTS.settlesMs,
      giveUpAfterMs: config.giveUpAfterMs ?? DEFAULTS.giveUpAfterMs,
      findsLate: true,
      cancelsUnseenOnly: true, // by hand, and only for a reason that Airalo accepts
    },
    order: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(client, request))),
    topUp: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(client, request))),
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

/** Buys a new eSIM, or adds the package to an eSIM. The description is our key alone, so that it can be compared whole. */
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
 * Queries an order by its number, otherwise by our key. `retry` says that the list does not have it, which is final only
 * once the list can no longer lag behind (traits.graceMs). Nothing is ever bought here.
 */
async function query(client: AiraloClient, request: SupplierRequest): Promise<Outcome> {
  const { key, reference } = request
  if (reference !== undefined) {
    const answer = await client.get(`/orders/${encodeURIComponent(reference)}`, { include: 'sims' })
    const data = answer.kind === 'reply' && answer.status === 200 ? answer.body?.data : undefined
    return isObject(data) ? outcomeOfFound(data, request) : outcomeOfFailedQuery(answer)
  }
  try {
    const orders = await findOrders(client, key)
    // A fault of one order does not mean that Airalo is down.
    if (orders === undefined) return { kind: 'unknown', message: 'Airalo’s list has an unreadable order' }
    const [found] = orders
    return found
      ? outcomeOfFound(found, request)
      : { kind: 'retry', message: 'Airalo’s list has no order with this key' }
  } catch (error) {
    if (!(error instanceof ListFailure)) throw error
    return error.answer ? outcomeOfFailedQuery(error.answer) : { kind: 'unknown', message: error.message, down: true }
  }
}

/** An event only says which order to query, by its description. Events about other subjects, such as low data, name no order. */
function receive(secret: string, signature: unknown, body: Buffer): ReceivedEvent {
  const expected = createHmac('sha512', secret).update(body).digest()
  const signed =
    typeof signature === 'string' && /^[0-9a-f]{128}$/i.test(signature) ? Buffer.from(signature, 'hex') : null
  if (signed === null || !timingSafeEqual(signed, expected)) {
    return { kind: 'refused', message: 'airalo-signature is not the HMAC-SHA512 of the body by clientSecret' }
  }
  const event = parseObject(body.toString())
  if (event === undefined) return { kind: 'refused', message: 'the body is not an event' }
  return { kind: 'changed', keys: isText(event.description) ? [event.description] : [] }
}
