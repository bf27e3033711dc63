import { setTimeout as delay } from 'node:timers/promises'
import type { OrderAnswer } from '@dealer-esim/contract'
import type { Outbound, OutboundFailure } from '@dealer-esim/lib/outbound/outbound.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { DealerEsimError, verifyEvent } from '@dealer-esim/sdk'
import { dateOf, iccidOf, wholeOf } from '#members.ts'
import type {
  BalanceOutcome,
  CancelOutcome,
  Charge,
  Outcome,
  ProfileReport,
  ReceivedEvent,
  ReportOutcome,
  SuppliedEsim,
  Supplier,
  SupplierRequest,
  TopUpRequest,
} from '#supplier.ts'
import { callTraits } from '#supplier-settings.ts'
import { unreadableIn } from '#unreadable-entry.ts'
import { act, findProfile } from './actions.ts'
import { DEFAULTS, type GatewayConfig, onlyLive, type Upstream, type UpstreamAnswer, upstreamOf } from './client.ts'
import { reportOf } from './decode.ts'
import { listProducts, listProfiles } from './lists.ts'
import { chargeOf, isDown, OTHER_ORDER, outcomeOfFailure, outcomeOfOrder, outcomeOfTopUp } from './outcome.ts'

/** How often a call queries the order that it has just placed: most upstreams deliver immediately. */
const CHECKS_AFTER_ORDER = 4
const FIRST_CHECK_MS = 100

/**
 * Another gateway with Dealer eSIM Open API v1, of which we are a dealer. Each item is an order of one eSIM whose
 * transactionId is the item's key: a repeat is always safe. Webhooks report changes early; polling covers lost ones. A
 * production gateway never uses a test twin of another one.
 */
export function gatewaySupplier(
  name: string,
  config: GatewayConfig,
  deps: { outbound: Outbound; config?: { deployment: string } },
): Supplier {
  const called = upstreamOf(config, deps.outbound)
  const upstream = deps.config?.deployment === 'production' ? onlyLive(called) : called
  const timeoutMs = config.timeoutMs ?? DEFAULTS.timeoutMs
  return {
    name,
    type: 'gateway',
    traits: {
      ...callTraits(config, DEFAULTS),
      perSecond: config.perSecond ?? null,
      // The requests of one call: the eSIM of a top-up, an order, a second one at the current price, and the queries.
      timeoutMs: 4 * timeoutMs + FIRST_CHECK_MS * 2 ** CHECKS_AFTER_ORDER,
    },
    order: (requests) => Promise.all(requests.map((request) => order(upstream, request))),
    topUp: (requests) => Promise.all(requests.map((request) => topUp(upstream, request))),
    query: (requests) => Promise.all(requests.map((request) => query(upstream, request))),
    cancel: (esim, actionKey) => cancel(upstream, esim, actionKey),
    suspend: (esim, actionKey) => act(upstream, 'SUSPEND', esim, actionKey),
    unsuspend: (esim, actionKey) => act(upstream, 'UNSUSPEND', esim, actionKey),
    revoke: (esim, actionKey) => act(upstream, 'REVOKE', esim, actionKey),
    report: (esims) => Promise.all(esims.map((esim) => report(upstream, esim))),
    receive: (event) => receive(config, event),
    async test() {
      const answer = await upstream((client) => client.health())
      if ('failure' in answer) return testMessage(answer.failure, answer.network)
      // A restricted key may lack it, and then every purchase whose answer is lost would stay in doubt.
      const query = await upstream((client) => client.query({ transactionId: NO_ORDER }))
      if (!('failure' in query) || query.failure.code === '200013') return undefined
      return testMessage(query.failure, query.network)
    },
    list: (since) => listProfiles(upstream, since),
    catalogue: () => listProducts(upstream),
    balance: () => queryBalance(upstream),
  }
}

/** No item has this key: keys are orderNo-itemNo. */
const NO_ORDER = 'TEST-connection'

/** The amount that can be spent, including the credit. */
async function queryBalance(upstream: Upstream): Promise<BalanceOutcome> {
  const answer = await upstream((client) => client.balance())
  if ('failure' in answer) return { kind: 'silent', message: `${answer.failure.code}: ${answer.failure.message}` }
  const { availableBalance, currencyCode } = answer.value
  if (!Number.isSafeInteger(availableBalance) || !/^[A-Z]{3}$/.test(currencyCode)) {
    return { kind: 'silent', message: 'the balance at the upstream gateway is unreadable' }
  }
  return { kind: 'balance', amount: BigInt(availableBalance), currencyCode }
}

async function order(upstream: Upstream, request: SupplierRequest): Promise<Outcome> {
  const { key, productCode, periodNum } = request
  return purchase(upstream, request, (price) => {
    const line = { packageCode: productCode, count: 1, ...(periodNum && { periodNum }), ...price }
    return upstream((client) => client.order({ transactionId: key, packageInfoList: [line] }))
  })
}

async function topUp(upstream: Upstream, request: TopUpRequest): Promise<Outcome> {
  const found = await findProfile(upstream, request.topUp)
  if ('unreadable' in found) {
    return { kind: 'retry', message: found.unreadable, ...(found.isDown ? { down: true as const } : {}) }
  }
  if (found.profile === undefined) return { kind: 'refused', message: 'the upstream gateway has no such eSIM' }
  const { key: transactionId, productCode: packageCode, periodNum } = request
  const { esimTranNo } = found.profile
  const body = { transactionId, esimTranNo, packageCode, ...(periodNum && { periodNum }) }
  return purchase(upstream, request, (price) =>
    upstream(async (client) => {
      const { data } = await client.exchange('esim/topup', { ...body, ...price })
      return data as unknown as OrderAnswer
    }),
  )
}

/**
 * Buys at the cost in the catalogue as a price guard, because the upstream's price may have changed since. At a different
 * price the upstream sells nothing and returns its current price: we then buy at that price if it is at most the sale
 * price, and otherwise refuse the order.
 */
async function purchase(
  upstream: Upstream,
  request: SupplierRequest,
  send: (price: { price?: number }) => Promise<UpstreamAnswer<OrderAnswer>>,
): Promise<Outcome> {
  const { key, guard } = request
  const buy = (price?: bigint) => send(price === undefined ? {} : { price: Number(price) })
  let placed = await buy(guard?.cost)
  const current = guard && 'failure' in placed ? currentPrice(placed.failure) : undefined
  if (guard && current !== undefined) {
    if (current > guard.salePrice) {
      // No figures: dealers can read this message, and costs are the operator's secret.
      const message = 'the current price of the upstream gateway is above the sale price'
      const account = await upstream((client) => client.balance())
      if ('failure' in account) return { kind: 'retry', message: `${message}; its currency could not be queried` }
      // A cost may have been converted before it was entered: prices in different currencies are not compared.
      const { currencyCode } = account.value
      if (currencyCode === guard.currencyCode)
        return { kind: 'refused', message, price: { amount: current, currencyCode } }
    }
    placed = await buy(current)
  }
  await failpoint('gateway.ordered')
  if ('failure' in placed) {
    if (request.topUp && placed.failure.is('000109')) {
      return { kind: 'refused', message: 'the upstream gateway is too old for top-ups' }
    }
    return outcomeOfFailure(placed.failure, placed.sent)
  }
  if (placed.value.transactionId !== key) return OTHER_ORDER
  let outcome: Outcome = { kind: 'unknown', message: 'the upstream gateway has accepted it' }
  for (let check = 0; check < CHECKS_AFTER_ORDER && outcome.kind === 'unknown'; check++) {
    await delay(FIRST_CHECK_MS * 2 ** check)
    outcome = await query(upstream, request)
  }
  // The order exists, even if we cannot read it at the moment.
  if (outcome.kind === 'retry') outcome = { kind: 'unknown', message: outcome.message }
  return withCharge(outcome, chargeOf(placed.value))
}

/** Adds the charge from the answer to the order, if the later queries did not return one. */
function withCharge(outcome: Outcome, charged: Charge | undefined): Outcome {
  if (outcome.kind === 'unknown' || outcome.kind === 'toppedUp')
    return { ...outcome, charged: outcome.charged ?? charged }
  if (outcome.kind !== 'delivered') return outcome
  return { kind: 'delivered', esim: { ...outcome.esim, charged: outcome.esim.charged ?? charged } }
}

/** The package's current price, if the upstream refused the order because the guard differs from that price. */
function currentPrice(failure: DealerEsimError): bigint | undefined {
  const { current } = failure.data
  return failure.is('200005') && Number.isSafeInteger(current) ? BigInt(current as number) : undefined
}

async function query(upstream: Upstream, { key, topUp }: SupplierRequest): Promise<Outcome> {
  const found = await upstream((client) => client.query({ transactionId: key }))
  if (!('failure' in found)) return topUp ? outcomeOfTopUp(found.value, key) : outcomeOfOrder(found.value, key)
  if (found.failure.is('200013')) return { kind: 'retry', message: 'the upstream gateway does not know this order' }
  // A query changes nothing: any failure leaves the item in doubt.
  const { message } = outcomeOfFailure(found.failure, found.sent)
  return { kind: 'unknown', message, ...(isDown(found) ? { down: true as const } : {}) }
}

/** Cancels an eSIM. One that no dealer has is cancelled under its own key. */
async function cancel(upstream: Upstream, esim: SuppliedEsim, actionKey?: string): Promise<CancelOutcome> {
  const outcome = await act(upstream, 'CANCEL', esim, actionKey ?? `${esim.key}-cancel`)
  return outcome.kind === 'done' ? { kind: 'cancelled' } : outcome
}

async function report(upstream: Upstream, esim: SuppliedEsim): Promise<ReportOutcome> {
  const found = await findProfile(upstream, esim)
  if ('unreadable' in found) return { kind: 'silent', ...(found.isDown ? { down: true } : {}) }
  const reported = found.profile && reportOf(found.profile)
  const odd = unreadableIn(found.oddEntries)
  return reported ? { kind: 'reported', report: reported, ...odd } : { kind: 'silent', ...odd }
}

async function receive(
  config: GatewayConfig,
  { headers, body }: { headers: Record<string, string | string[] | undefined>; body: Buffer },
): Promise<ReceivedEvent> {
  try {
    const event = await verifyEvent({ appSecret: config.eventSecret ?? config.appSecret, headers, body })
    const key = 'transactionId' in event.content ? event.content.transactionId : null
    const reports = event.notifyType === 'ESIM_USAGE' ? usageReports(event.content) : []
    return { kind: 'changed', keys: key === null ? [] : [key], ...(reports.length > 0 && { reports }) }
  } catch (error) {
    if (!(error instanceof DealerEsimError)) throw error
    return { kind: 'refused', message: error.message }
  }
}

/** The upstream may be another implementation, so each member is checked. */
function usageReports(content: object): { iccid: string; report: ProfileReport }[] {
  const { orderUsage, usageUpdateTime, ...named } = content as Record<string, unknown>
  const [iccid, usage, time] = [iccidOf(named), wholeOf(orderUsage), dateOf(usageUpdateTime)]
  return iccid === undefined || usage === undefined || time === undefined ? [] : [{ iccid, report: { time, usage } }]
}

function testMessage(failure: DealerEsimError, network: OutboundFailure | undefined): string {
  if (network?.phase === 'dns') return `DNS: the name does not resolve: ${network.message}.`
  if (network?.phase === 'tls') return `TLS: the handshake failed: ${network.message}.`
  if (network !== undefined) return `Connection: ${network.message}.`
  if (failure.code.startsWith('101')) return `Credentials: ${failure.code} ${failure.message}`
  if (failure.code === 'ANSWER_UNREADABLE') return `Protocol: ${failure.message}`
  return `${failure.code}: ${failure.message}`
}
