import { createPublicKey, verify } from 'node:crypto'
import { isObject, isText, parseObject } from '#members.ts'
import { longestMs, type RestDeps } from '#rest-client.ts'
import { refuseSeveralDays } from '#several-days.ts'
import type { CancelOutcome, ReceivedEvent, Supplier } from '#supplier.ts'
import { DEFAULTS, type MobimatterConfig, mobimatterClient } from './client.ts'
import { listProducts, readBalance, testAccount } from './lists.ts'
import { createProgressStore, type ProgressStore } from './progress.ts'
import { CHECK_AFTER_MS, type MobimatterContext, order, query } from './purchase.ts'

/** The calls of one order: it is created, completed and queried, or cancelled if MobiMatter refuses to complete it. */
const CALLS_MAX = 4

/**
 * The wholesaler MobiMatter. It accepts no idempotency key, but an order has two steps, create and complete, and only the
 * second one buys. We commit the progress of each item between them, so at most one of its orders is completed. Written from
 * public documentation; not yet verified against a live account.
 */
export function mobimatterSupplier(name: string, config: MobimatterConfig, deps: RestDeps): Supplier {
  const client = mobimatterClient(name, config, deps)
  const store = createProgressStore(name, deps.db)
  const context: MobimatterContext = { client, store }
  return {
    name,
    type: 'mobimatter',
    traits: {
      batch: 1,
      concurrency: config.concurrency ?? DEFAULTS.concurrency,
      perSecond: null, // the limit of the account holds over all nodes: rest-client.ts
      timeoutMs: longestMs(CALLS_MAX, config) + CHECK_AFTER_MS.reduce((sum, ms) => sum + ms, 0),
      graceMs: config.settlesMs ?? DEFAULTS.settlesMs,
      giveUpAfterMs: config.giveUpAfterMs ?? DEFAULTS.giveUpAfterMs,
      cancelsUnseenOnly: true,
      findsLate: true, // a completion may take effect after its time-out
    },
    order: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(context, request))),
    topUp: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(context, request))),
    query: (requests, purpose) => Promise.all(requests.map((request) => query(context, request, purpose))),
    cancel: () => Promise.resolve(CANNOT_CANCEL),
    catalogue: () => listProducts(client),
    balance: () => readBalance(client),
    receive: (event) => receive(config, store, event),
    test: () => testAccount(client),
  }
}

/** MobiMatter refunds completed orders only by its own decision. */
const CANNOT_CANCEL: CancelOutcome = {
  kind: 'refused',
  message: 'MobiMatter cannot cancel an eSIM that it has delivered',
}

interface Event {
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Verifies an event and finds the key of the order that it names. It is only a hint to query that order. */
async function receive(
  { webhookPublicKey }: MobimatterConfig,
  store: ProgressStore,
  event: Event,
): Promise<ReceivedEvent> {
  if (webhookPublicKey === undefined) {
    return { kind: 'refused', message: 'the configuration has no webhookPublicKey to verify events with' }
  }
  if (!isSigned(event, webhookPublicKey))
    return { kind: 'refused', message: 'no header is a valid signature of the event' }
  const body = parseObject(event.body.toString())
  const orderId = [body, body?.data, body?.order]
    .filter(isObject)
    .map(({ orderId }) => orderId)
    .find(isText)
  const key = orderId === undefined ? undefined : await store.findKey(orderId)
  return { kind: 'changed', keys: key === undefined ? [] : [key] }
}

/**
 * Verifies the signature of an event. The public documentation does not name its header, so we try each header that looks like
 * a signature: only MobiMatter can make a valid one, whichever header it is in.
 */
function isSigned({ headers, body }: Event, publicKey: string): boolean {
  const key = createPublicKey(publicKey)
  const lengthBytes = (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8
  return Object.values(headers).some((header) => {
    if (typeof header !== 'string' || header.length > 2 * lengthBytes) return false
    const signature = Buffer.from(header, 'base64')
    return signature.length === lengthBytes && verify('sha256', body, key, signature)
  })
}
