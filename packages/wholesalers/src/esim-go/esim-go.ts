import { createHmac, timingSafeEqual } from 'node:crypto'
import { iccidOf, parseObject } from '#members.ts'
import { longestMs, type RestDeps, TIMEOUT_MS, timeOfEvent } from '#rest-client.ts'
import { refuseSeveralDays } from '#several-days.ts'
import type { ActionOutcome, ReceivedEvent, SuppliedEsim, Supplier } from '#supplier.ts'
import { callTraits } from '#supplier-settings.ts'
import { DEFAULTS, type EsimGoClient, type EsimGoConfig, esimGoClient, SEND_WITHIN_MS } from './client.ts'
import { listOrders, listProducts, readBalance, testAccount } from './lists.ts'
import { outcomeOfSms } from './outcome.ts'
import { createOrderStore, type OrderStore } from './progress.ts'
import { CHECK_AFTER_MS, CLAIM_WAIT_MAX_MS, CLOCK_TOLERANCE_MS, type EsimGoContext, order, query } from './purchase.ts'
import { cancel, reportOn, usedInEvent } from './reports.ts'

/** Sending an order, searching for it and querying it. */
const CALLS_MAX = 4

/**
 * The wholesaler eSIM Go. It does not accept an idempotency key, so all nodes together make one purchase of a bundle at a
 * time. An order whose answer was lost is then the only order of its bundle in its time span that does not belong to
 * another key. Written from public documentation; not yet verified against a live account.
 */
export function esimGoSupplier(name: string, config: EsimGoConfig, deps: RestDeps): Supplier {
  const {
    timeoutMs = TIMEOUT_MS,
    settlesMs: graceMs = DEFAULTS.settlesMs,
    perSecond = DEFAULTS.perSecond,
    share = 1,
  } = config
  const client = esimGoClient(name, config, deps)
  const sendingMs = SEND_WITHIN_MS + timeoutMs + graceMs
  // The next purchase of the bundle begins only after the time span in which this one can be found.
  const store = createOrderStore(name, deps.db, sendingMs + 2 * CLOCK_TOLERANCE_MS)
  const claimWaitMs = Math.min(CLAIM_WAIT_MAX_MS, timeoutMs / 2)
  const context: EsimGoContext = { client, store, sendingMs, claimWaitMs, isShared: share < 1 }
  return {
    name,
    type: 'esim-go',
    traits: {
      ...callTraits(config, DEFAULTS),
      timeoutMs:
        claimWaitMs + longestMs(CALLS_MAX, { timeoutMs, perSecond }) + CHECK_AFTER_MS.reduce((sum, ms) => sum + ms, 0),
      findsLate: true,
    },
    order: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(context, request))),
    topUp: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(context, request))),
    query: (requests) => Promise.all(requests.map((request) => query(context, request))),
    cancel: (esim) => cancel(client, esim),
    sendSms: (esim, message) => sendSms(client, esim, message),
    report: (esims) => Promise.all(esims.map((esim) => reportOn(client, esim))),
    list: (since) => listOrders(client, store, since),
    catalogue: () => listProducts(client),
    balance: () => readBalance(client),
    receive: (event) => receive(config, store, event),
    test: () => testAccount(client),
  }
}

const SMS_LENGTH_MAX = 160

async function sendSms(client: EsimGoClient, { iccid }: SuppliedEsim, message: string): Promise<ActionOutcome> {
  if (message.length > SMS_LENGTH_MAX) {
    return { kind: 'refused', message: `eSIM Go sends an SMS of at most ${SMS_LENGTH_MAX} characters` }
  }
  return outcomeOfSms(await client.sms(iccid, message))
}

interface Event {
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Verifies an event, finds the key of its eSIM, and reads the minimum that its bundle has used. */
async function receive({ apiKey }: EsimGoConfig, store: OrderStore, event: Event): Promise<ReceivedEvent> {
  if (!isSigned(event, apiKey)) {
    return { kind: 'refused', message: 'X-Signature-SHA256 is not the signature of the event with the apiKey' }
  }
  const content = parseObject(event.body.toString()) ?? {}
  const iccid = iccidOf(content)
  if (iccid === undefined) return { kind: 'changed', keys: [] }
  const key = await store.findKeyOf(iccid)
  const usageAtLeast = usedInEvent(content)
  const changed = { kind: 'changed', keys: key === undefined ? [] : [key] } as const
  if (usageAtLeast === undefined) return changed
  return { ...changed, reports: [{ iccid, report: { time: timeOfEvent(), usageAtLeast } }] }
}

/** The public documents disagree on whether the signature is in base64 or in hexadecimal digits, so both are accepted. */
function isSigned({ headers, body }: Event, apiKey: string): boolean {
  const given = headers['x-signature-sha256']
  if (typeof given !== 'string') return false
  const signature = createHmac('sha256', apiKey).update(body).digest()
  return [Buffer.from(given, 'hex'), Buffer.from(given, 'base64')].some(
    (one) => one.length === signature.length && timingSafeEqual(one, signature),
  )
}
