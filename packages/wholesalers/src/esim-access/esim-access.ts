import { systemClock } from '@dealer-esim/lib/clock.ts'
import { asQuestion, TURN_WAIT_MAX_MS } from '#account-rate.ts'
import { isListedSender, unlistedSender } from '#event-senders.ts'
import { isObject, parseObject, textOf, wholeOf } from '#members.ts'
import type { ReceivedEvent, ReportOutcome, SuppliedEsim, Supplier, SupplierRecord } from '#supplier.ts'
import { act } from './actions.ts'
import { type Call, createCall, DEFAULTS, type EsimAccessConfig, type EsimAccessDeps, entriesIn } from './client.ts'
import { profileReportOf, timeOf } from './decode.ts'
import { CLOCK_TOLERANCE_MS, findEsim, PENDING, queryRows, scan } from './find.ts'
import { listProducts, queryBalance } from './lists.ts'
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
      batch: 1,
      concurrency: config.concurrency ?? DEFAULTS.concurrency,
      // The account's limit holds over all nodes: each call waits for its turn.
      perSecond: null,
      timeoutMs: CALLS_MAX * (timeoutMs + TURN_WAIT_MAX_MS) + CHECK_AFTER_MS.reduce((sum, ms) => sum + ms, 0),
      graceMs: config.settlesMs ?? DEFAULTS.settlesMs,
      giveUpAfterMs: config.giveUpAfterMs ?? DEFAULTS.giveUpAfterMs,
    },
    order: (requests) => Promise.all(requests.map((request) => order(account, request))),
    topUp: (requests) => Promise.all(requests.map((request) => topUp(account, request))),
    query: (requests) => Promise.all(requests.map((request) => query(account, request))),
    async cancel(esim) {
      const outcome = await act(call, 'CANCEL', esim)
      return outcome.kind === 'done' ? { kind: 'cancelled' } : outcome
    },
    suspend: (esim) => act(call, 'SUSPEND', esim),
    unsuspend: (esim) => act(call, 'UNSUSPEND', esim),
    revoke: (esim) => act(call, 'REVOKE', esim),
    report: (esims) => Promise.all(esims.map((esim) => report(call, esim))),
    list: (since) => list(call, since),
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

/** Reads the state and usage of an eSIM. The list's usage may be older than the usage query's, so an eSIM in use gets both. */
async function report(call: Call, esim: SuppliedEsim): Promise<ReportOutcome> {
  const time = new Date(systemClock.now())
  const found = await findEsim(call, esim)
  if ('failure' in found) {
    return { kind: 'silent', ...(found.failure.kind === 'none' && found.failure.down ? { down: true } : {}) }
  }
  const reported = found.value && profileReportOf(found.value, time)
  if (reported === undefined) return { kind: 'silent' }
  const esimTranNo = found.value?.esimTranNo
  const usage = reported.esimStatus === 'IN_USE' && esimTranNo ? await queryUsage(call, esimTranNo) : undefined
  if (usage !== undefined && usage > (reported.usage ?? 0n)) reported.usage = usage
  return { kind: 'reported', report: reported }
}

async function queryUsage(call: Call, esimTranNo: string): Promise<bigint | undefined> {
  const answer = await call('esim/usage/query', { esimTranNoList: [esimTranNo] })
  if (answer.kind !== 'done') return undefined
  const rows = entriesIn(answer, 'esimUsageList')?.filter(isObject)
  const row = rows?.find((one) => one.esimTranNo === esimTranNo)
  return wholeOf(row?.dataUsage)
}

/** Leaves out minutes with an order that is not delivered yet: the next comparison reads them. @throws on a failure */
async function* list(call: Call, since: Date): AsyncGenerator<SupplierRecord> {
  for await (const part of scan(call, since, new Date(systemClock.now() + CLOCK_TOLERANCE_MS))) {
    if ('failure' in part) {
      if (part.failure.kind === 'failed' && part.failure.code === PENDING) continue
      throw new Error(part.failure.message)
    }
    for (const { transactionId, iccid, status, members } of part.value) {
      if (iccid === undefined || transactionId === undefined) continue
      const time = timeOf(members.createTime) ?? since
      yield { key: transactionId, iccid, cancelled: status === 'CANCEL', time }
    }
  }
}

/**
 * Events are unsigned, so they only say what to query. An event without our key costs a request at the wholesaler, so it is
 * used only if it comes from one of its addresses.
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
  if (key !== undefined) return { kind: 'changed', keys: [key] }
  const orderNo = textOf(content.orderNo)
  if (!isKnown || orderNo === undefined || content.orderStatus !== 'GOT_RESOURCE') return { kind: 'changed', keys: [] }
  const { result: found } = await asQuestion(() => queryRows(call, { orderNo }))
  const rows = 'value' in found ? found.value : []
  return { kind: 'changed', keys: rows.flatMap(({ transactionId }) => transactionId ?? []) }
}

/** The message about a failed test: the problem, and what to do about it. */
function testMessage(failure: Failure): string {
  const message = failure.message.replace(/\.$/, '')
  if (failure.kind === 'none') {
    if (failure.phase === 'dns') return `DNS: the name does not resolve: ${message}. Check url.`
    if (failure.phase === 'tls') return `TLS: the handshake failed: ${message}. Check url and a proxy in between.`
    if (failure.phase !== undefined) return `Connection: ${message}. Check url, and that a firewall lets it through.`
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
