import { systemClock } from '@dealer-esim/lib/clock.ts'
import { asQuestion, TURN_WAIT_MAX_MS } from '#account-rate.ts'
import { isListedSender, unlistedSender } from '#event-senders.ts'
import { iccidOf, isObject, type JsonObject, parseObject, textOf, wholeOf } from '#members.ts'
import { timeOfEvent } from '#rest-client.ts'
import type { ProfileReport, ReceivedEvent, ReportOutcome, SuppliedEsim, Supplier, UnreadableEntry } from '#supplier.ts'
import { callTraits } from '#supplier-settings.ts'
import { objectsIn, unreadableIn } from '#unreadable-entry.ts'
import { act, sendSms } from './actions.ts'
import { type Call, createCall, DEFAULTS, type EsimAccessConfig, type EsimAccessDeps, entriesIn } from './client.ts'
import { profileReportOf } from './decode.ts'
import { findEsim, queryRows } from './find.ts'
import { listProducts, listSold, listTopUpsOf, queryBalance } from './lists.ts'
import type { Failure } from './outcome.ts'
import { type Account, CHECK_AFTER_MS, order, query, topUp } from './purchase.ts'

/** An order takes four calls, and each may wait for the account's rate limit. */
const CALLS_MAX = 4

/**
 * The eSIM Access interface, which several wholesalers serve. Each item is an order of one eSIM whose transactionId is the
 * item's key. Repeating an order buys nothing more, and lists of eSIMs include the key.
 */
export function esimAccessSupplier(name: string, config: EsimAccessConfig, deps: EsimAccessDeps): Supplier {
  const call = createCall(name, config, deps)
  const timeoutMs = config.timeoutMs ?? DEFAULTS.timeoutMs
  const currencyCode = config.currencyCode ?? DEFAULTS.currencyCode
  const account: Account = { call, currencyCode, timeoutMs }
  return {
    name,
    type: 'esim-access',
    traits: {
      ...callTraits(config, DEFAULTS),
      timeoutMs: CALLS_MAX * (timeoutMs + TURN_WAIT_MAX_MS) + CHECK_AFTER_MS.reduce((sum, ms) => sum + ms, 0),
    },
    order: (requests) => Promise.all(requests.map((request) => order(account, request))),
    topUp: (requests) => Promise.all(requests.map((request) => topUp(account, request))),
    topUpsOf: ({ iccid }) => listTopUpsOf(call, iccid),
    query: (requests) => Promise.all(requests.map((request) => query(account, request))),
    async cancel(esim) {
      const outcome = await act(call, 'CANCEL', esim)
      return outcome.kind === 'done' ? { kind: 'cancelled' } : outcome
    },
    suspend: (esim) => act(call, 'SUSPEND', esim),
    unsuspend: (esim) => act(call, 'UNSUSPEND', esim),
    revoke: (esim) => act(call, 'REVOKE', esim),
    sendSms: (esim, message) => sendSms(call, esim, message),
    report: (esims) => Promise.all(esims.map((esim) => report(call, esim))),
    list: (since) => listSold(call, since),
    catalogue: () => listProducts(call),
    balance: () => queryBalance(call, currencyCode),
    eventsUnproven: config.eventAddresses === undefined,
    receive: (event) => receive(call, config, event),
    async test() {
      const answer = await call('balance/query', {})
      return answer.kind === 'done' ? undefined : testMessage(answer)
    },
  }
}

/**
 * Reads the state and usage of an eSIM. The list's usage may be older than the usage query's, so both are read for an eSIM
 * in use.
 */
async function report(call: Call, esim: SuppliedEsim): Promise<ReportOutcome> {
  const time = new Date(systemClock.now())
  const found = await findEsim(call, esim)
  if ('failure' in found) {
    return { kind: 'silent', ...(found.failure.kind === 'none' && found.failure.down ? { down: true } : {}) }
  }
  const reported = found.value && profileReportOf(found.value, time)
  if (reported === undefined) return { kind: 'silent' }
  const esimTranNo = found.value?.esimTranNo
  const isInUse = reported.esimStatus === 'IN_USE' && esimTranNo !== undefined
  const { usage, unreadable = [] } = isInUse ? await queryUsage(call, esimTranNo) : {}
  if (usage !== undefined && usage > (reported.usage ?? 0n)) reported.usage = usage
  return { kind: 'reported', report: reported, ...unreadableIn(unreadable) }
}

interface FoundUsage {
  usage?: bigint | undefined
  unreadable?: UnreadableEntry[]
}

/** An unreadable entry may belong to this eSIM. */
export async function queryUsage(call: Call, esimTranNo: string): Promise<FoundUsage> {
  const answer = await call('esim/usage/query', { esimTranNoList: [esimTranNo] })
  if (answer.kind !== 'done') return {}
  const { rows, unreadable } = objectsIn(entriesIn(answer, 'esimUsageList') ?? [], 'esimUsageList')
  return { usage: wholeOf(rows.find((one) => one.esimTranNo === esimTranNo)?.dataUsage), unreadable }
}

/**
 * Events are unsigned: they only say what to query. What costs a request at the wholesaler, such as an event without our
 * key, and the figures of an event are used only if it comes from one of the wholesaler's addresses.
 */
async function receive(
  call: Call,
  config: EsimAccessConfig,
  { body, address }: { body: Buffer; address?: string | undefined },
): Promise<ReceivedEvent> {
  const isKnown = isListedSender(config, address)
  if (isKnown === false) return unlistedSender(address)
  const content = parseObject(body.toString())?.content
  if (!isObject(content)) return { kind: 'refused', message: 'the body is not an event' }
  const key = textOf(content.transactionId)
  const reports = isKnown ? usageReports(content) : []
  if (key !== undefined) return { kind: 'changed', keys: [key], ...(reports.length > 0 && { reports }) }
  const orderNo = textOf(content.orderNo)
  if (!isKnown || orderNo === undefined || content.orderStatus !== 'GOT_RESOURCE') return { kind: 'changed', keys: [] }
  const { result: found } = await asQuestion(() => queryRows(call, { orderNo }))
  const rows = 'value' in found ? found.value : []
  return { kind: 'changed', keys: rows.flatMap(({ transactionId }) => transactionId ?? []) }
}

/** The figures of a DATA_USAGE event, `{iccid, totalVolume, orderUsage}`. It may arrive late. */
function usageReports(content: JsonObject): { iccid: string; report: ProfileReport }[] {
  const iccid = iccidOf(content)
  const usageAtLeast = wholeOf(content.orderUsage)
  if (iccid === undefined || usageAtLeast === undefined) return []
  return [{ iccid, report: { time: timeOfEvent(), usageAtLeast } }]
}

/** The message about a failed test: the problem and the remedy. */
function testMessage(failure: Failure): string {
  const message = failure.message.replace(/\.$/, '')
  if (failure.kind === 'none') {
    if (failure.phase === 'dns') return `DNS: the name does not resolve: ${message}. Check url.`
    if (failure.phase === 'tls') return `TLS: the handshake failed: ${message}. Check url and a proxy in between.`
    if (failure.phase !== undefined) return `Connection: ${message}. Check url, and that a firewall lets it through.`
    if (failure.refusal === 'blocked') return `Address: ${message}. Ask the wholesaler to allow this gateway's address.`
    if (failure.refusal === 'busy') return `Busy: ${message}. Try again; if it stays so, lower perSecond or share.`
    return `Protocol: ${message}. Check url: it is given without /api/v1/open.`
  }
  switch (failure.code) {
    case '101001':
      return `Clock: ${message}. Set this machine's clock.`
    case '101002':
      return `Address: ${message}. Enter this gateway's address in the account at the wholesaler.`
    case '101003':
      return `Credentials: ${message}. Check secretKey.`
    case '401001':
      return `Credentials: ${message}. Check accessCode, and whether the account is active.`
    case '900001':
      return `Busy: ${message}. Try again; if it stays so, lower perSecond or share.`
    default:
      return failure.code.startsWith('101') ? `Credentials: ${message}. Check accessCode and secretKey.` : `${message}.`
  }
}
