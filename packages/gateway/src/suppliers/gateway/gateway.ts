import { setTimeout as delay } from 'node:timers/promises'
import { PAGE_SIZE_MAX, type Profile, type ProfileListAnswer } from '@dealer-esim/contract'
import { DealerEsim, DealerEsimError, verifyEvent } from '@dealer-esim/sdk'
import Type, { type Static } from 'typebox'
import type { Outbound, OutboundFailure } from '../../lib/outbound/outbound.ts'
import { failpoint } from '../../lib/process/failpoint.ts'
import type {
  CancelOutcome,
  Charge,
  Outcome,
  ReceivedEvent,
  ReportOutcome,
  SuppliedEsim,
  Supplier,
  SupplierRecord,
  SupplierRequest,
} from '../supplier.ts'
import { iccidOf, profilesOf, reportOf } from './esim.ts'
import { chargeOf, OTHER_ORDER, outcomeOfFailure, outcomeOfOrder } from './outcome.ts'

const MINUTE_MS = 60_000

export const gatewayConfig = Type.Object(
  {
    /** The upstream gateway, without /open-api/v1. */
    url: Type.String({ pattern: '^https?://', maxLength: 2048 }),
    appKey: Type.String({ pattern: '^[A-Za-z0-9_-]{8,64}$' }),
    appSecret: Type.String({ minLength: 1, maxLength: 256 }),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 100, maximum: 2 * MINUTE_MS })),
    /** How long after our time-out the upstream may still execute a call. */
    settlesMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60 * MINUTE_MS })),
    giveUpAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 7 * 24 * 60 * MINUTE_MS })),
    concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    perSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  },
  { additionalProperties: false },
)
export type GatewayConfig = Static<typeof gatewayConfig>

const TIMEOUT_MS = 15_000
const GRACE_MS = 30_000
const GIVE_UP_AFTER_MS = 60 * MINUTE_MS
const CONCURRENCY = 32
const ANSWER_SIZE_MAX_BYTES = 8 * 1024 * 1024
/** Queries after an order in the same call: most upstreams deliver immediately. */
const CHECKS_AFTER_ORDER = 4
const FIRST_CHECK_MS = 100

/**
 * Another gateway with Dealer eSIM Open API v1, of which we are a dealer. Each item is an order of one eSIM whose
 * transactionId is the item's key: a repeat is always safe. Webhooks report changes early, polling covers lost ones.
 */
export function gatewaySupplier(name: string, config: GatewayConfig, deps: { outbound: Outbound }): Supplier {
  const upstream = upstreamOf(config, deps.outbound)
  const timeoutMs = config.timeoutMs ?? TIMEOUT_MS
  return {
    name,
    type: 'gateway',
    traits: {
      batch: 1,
      concurrency: config.concurrency ?? CONCURRENCY,
      perSecond: config.perSecond ?? null,
      // An order, a second one at the current price, and the queries.
      timeoutMs: 3 * timeoutMs + FIRST_CHECK_MS * 2 ** CHECKS_AFTER_ORDER,
      graceMs: config.settlesMs ?? GRACE_MS,
      giveUpAfterMs: config.giveUpAfterMs ?? GIVE_UP_AFTER_MS,
    },
    order: (requests) => Promise.all(requests.map((request) => order(upstream, request))),
    query: (requests) => Promise.all(requests.map((request) => query(upstream, request.key))),
    cancel: (esim) => cancel(upstream, esim),
    report: (esims) => Promise.all(esims.map((esim) => report(upstream, esim))),
    receive: (event) => receive(config, event),
    async test() {
      const answer = await upstream((client) => client.health())
      return 'failure' in answer ? testMessage(answer.failure, answer.network) : undefined
    },
    list: (since) => list(upstream, since),
  }
}

/** One call through `lib/outbound`: its value, or its failure and whether it may have arrived. */
type Upstream = <Value>(
  work: (client: DealerEsim) => Promise<Value>,
) => Promise<{ value: Value } | { failure: DealerEsimError; sent: boolean; network: OutboundFailure | undefined }>

function upstreamOf(config: GatewayConfig, outbound: Outbound): Upstream {
  const timeoutMs = config.timeoutMs ?? TIMEOUT_MS
  return async (work) => {
    let network: OutboundFailure | undefined
    const client = new DealerEsim({
      baseUrl: config.url,
      appKey: config.appKey,
      appSecret: config.appSecret,
      timeoutMs: timeoutMs + 1_000, // the limit of lib/outbound ends first: its error says more
      retries: 0,
      async fetch(url, init) {
        const outcome = await outbound.request({
          url,
          method: 'POST',
          headers: Object.fromEntries(new Headers(init.headers)),
          body: String(init.body),
          timeoutMs,
          answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
          allowPrivate: true, // configured by an operator
        })
        if (outcome.kind === 'failed') {
          network = outcome
          throw new TypeError(outcome.message)
        }
        const headers = Object.entries(outcome.headers).flatMap(([key, value]) =>
          value === undefined ? [] : [[key, String(value)] as [string, string]],
        )
        return new Response(new Uint8Array(outcome.body), { status: outcome.status, headers })
      },
    })
    try {
      return { value: await work(client) }
    } catch (error) {
      if (!(error instanceof DealerEsimError)) throw error
      return { failure: error, sent: network?.sent ?? true, network }
    }
  }
}

/**
 * The upstream's price may have changed since the cost was entered. Given the cost as its guard, it buys nothing at
 * another price and returns the current one: up to the sale price we buy at that price, above it the order is refused.
 */
async function order(upstream: Upstream, { key, productCode, guard }: SupplierRequest): Promise<Outcome> {
  const buy = (price?: bigint) => {
    const line = { packageCode: productCode, count: 1, ...(price !== undefined && { price: Number(price) }) }
    return upstream((client) => client.order({ transactionId: key, packageInfoList: [line] }))
  }
  let placed = await buy(guard?.cost)
  const current = guard && 'failure' in placed ? currentPrice(placed.failure) : undefined
  if (guard && current !== undefined) {
    if (current > guard.salePrice) {
      // No figures: dealers can read this message, and costs are confidential to the operator.
      const message = 'the current price of the upstream gateway is above the sale price'
      const account = await upstream((client) => client.balance())
      if ('failure' in account) return { kind: 'retry', message: `${message}; its currency could not be queried` }
      // A cost may have been entered converted: prices in different currencies are not compared.
      const { currencyCode } = account.value
      if (currencyCode === guard.currencyCode)
        return { kind: 'refused', message, price: { amount: current, currencyCode } }
    }
    placed = await buy(current)
  }
  await failpoint('gateway.ordered')
  if ('failure' in placed) return outcomeOfFailure(placed.failure, placed.sent)
  if (placed.value.transactionId !== key) return OTHER_ORDER
  let outcome: Outcome = { kind: 'unknown', message: 'the upstream gateway has accepted it' }
  for (let check = 0; check < CHECKS_AFTER_ORDER && outcome.kind === 'unknown'; check++) {
    await delay(FIRST_CHECK_MS * 2 ** check)
    outcome = await query(upstream, key)
  }
  // The order exists, even if it cannot be seen just now.
  if (outcome.kind === 'retry') outcome = { kind: 'unknown', message: outcome.message }
  return withCharge(outcome, chargeOf(placed.value))
}

/** Adds the amount from the order's own answer, if the later queries did not return it. */
function withCharge(outcome: Outcome, charged: Charge | undefined): Outcome {
  if (outcome.kind === 'unknown') return { ...outcome, charged: outcome.charged ?? charged }
  if (outcome.kind !== 'delivered') return outcome
  return { kind: 'delivered', esim: { ...outcome.esim, charged: outcome.esim.charged ?? charged } }
}

/** The package's current price, if it was not bought because the guard differs from it. */
function currentPrice(failure: DealerEsimError): bigint | undefined {
  const { current } = failure.data
  return failure.is('200005') && Number.isSafeInteger(current) ? BigInt(current as number) : undefined
}

async function query(upstream: Upstream, key: string): Promise<Outcome> {
  const found = await upstream((client) => client.query({ transactionId: key }))
  if (!('failure' in found)) return outcomeOfOrder(found.value, key)
  if (found.failure.is('200013')) return { kind: 'retry', message: 'the upstream gateway does not know this order' }
  // A query changes nothing: any failure leaves the item in doubt.
  const { message } = outcomeOfFailure(found.failure, found.sent)
  return { kind: 'unknown', message, ...(found.network === undefined ? {} : { down: true as const }) }
}

/** The API has no cancel: the upstream's operator cancels, and we check that it was done. */
async function cancel(upstream: Upstream, esim: SuppliedEsim): Promise<CancelOutcome> {
  const found = await upstream((client) => client.profiles({ transactionId: esim.key }))
  if ('failure' in found) return { kind: 'unknown', message: found.failure.message }
  const profile = profileOf(found.value, esim)
  if (profile?.esimStatus === 'CANCEL') return { kind: 'cancelled' }
  const message = 'an upstream gateway cannot cancel through its API: request it from its operator, then cancel again'
  return { kind: 'refused', message }
}

async function report(upstream: Upstream, esim: SuppliedEsim): Promise<ReportOutcome> {
  const found = await upstream((client) => client.profiles({ transactionId: esim.key }))
  if ('failure' in found) return { kind: 'silent', ...(found.network === undefined ? {} : { down: true }) }
  const profile = profileOf(found.value, esim)
  const reported = profile && reportOf(profile)
  return reported ? { kind: 'reported', report: reported } : { kind: 'silent' }
}

/** An ICCID may have been sold again: the key identifies the sale. */
function profileOf(answer: ProfileListAnswer, { key, iccid }: SuppliedEsim): Profile | undefined {
  return profilesOf(answer)?.find((profile) => profile.transactionId === key && iccidOf(profile) === iccid)
}

/** Pages of one comparison: two million eSIMs. */
const PAGES_MAX = 4_000

/** @throws if it cannot be read to the end: repeated cursors would be followed for ever */
async function* list(upstream: Upstream, since: Date): AsyncGenerator<SupplierRecord> {
  const request = { startTime: since.toISOString(), pageSize: PAGE_SIZE_MAX }
  const cursors = new Set<string>()
  for (let next: { cursor?: string } = {}; ; ) {
    const page = await upstream((client) => client.profiles({ ...request, ...next }))
    if ('failure' in page) throw page.failure
    for (const profile of page.value.profileList) {
      const iccid = iccidOf(profile)
      if (iccid === undefined) continue
      const cancelled = profile.esimStatus === 'CANCEL'
      yield { key: profile.transactionId, iccid, cancelled, time: new Date(profile.createTime) }
    }
    const cursor: unknown = page.value.nextCursor
    if (cursor === null) return
    if (typeof cursor !== 'string' || cursors.has(cursor)) {
      throw new Error(`page ${cursors.size + 1} of the list has no valid cursor to the next page`)
    }
    cursors.add(cursor)
    if (cursors.size === PAGES_MAX) throw new Error(`the list has more than ${PAGES_MAX} pages`)
    next = { cursor }
  }
}

async function receive(
  config: GatewayConfig,
  { headers, body }: { headers: Record<string, string | string[] | undefined>; body: Buffer },
): Promise<ReceivedEvent> {
  try {
    const event = await verifyEvent({ appSecret: config.appSecret, headers, body })
    return { kind: 'changed', keys: 'transactionId' in event.content ? [event.content.transactionId] : [] }
  } catch (error) {
    if (!(error instanceof DealerEsimError)) throw error
    return { kind: 'refused', message: error.message }
  }
}

function testMessage(failure: DealerEsimError, network: OutboundFailure | undefined): string {
  if (network?.phase === 'dns') return `DNS: the name does not resolve: ${network.message}.`
  if (network?.phase === 'tls') return `TLS: the handshake failed: ${network.message}.`
  if (network !== undefined) return `Connection: ${network.message}.`
  if (failure.code.startsWith('101')) return `Credentials: ${failure.code} ${failure.message}`
  if (failure.code === 'ANSWER_UNREADABLE') return `Protocol: ${failure.message}`
  return `${failure.code}: ${failure.message}`
}
