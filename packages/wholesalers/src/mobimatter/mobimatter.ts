import { createPublicKey, verify } from 'node:crypto'
import { isObject, isText, parseObject } from '#members.ts'
import { longestMs, type RestDeps } from '#rest-client.ts'
import { refuseSeveralDays } from '#several-days.ts'
import type { CancelOutcome, ReceivedEvent, Supplier } from '#supplier.ts'
import { callTraits } from '#supplier-settings.ts'
import { DEFAULTS, type MobimatterConfig, mobimatterClient } from './client.ts'
import { listProducts, readBalance, testAccount } from './lists.ts'
import { createProgressStore, type ProgressStore } from './progress.ts'
import { CHECK_AFTER_MS, type MobimatterContext, order, query } from './purchase.ts'
import { reportOn } from './reports.ts'

/** The calls of one order: it is created, completed and queried, or cancelled if MobiMatter refuses to complete it. */
const CALLS_MAX = 4

/**
 * The wholesaler MobiMatter. It does not accept an idempotency key, but an order has two steps, create and complete, and
 * only the second one buys. We commit the progress of each item between them, so at most one of its orders is completed.
 * Written from public documentation; not yet verified against a live account.
 */
export function mobimatterSupplier(name: string, config: MobimatterConfig, deps: RestDeps): Supplier {
  const client = mobimatterClient(name, config, deps)
  const store = createProgressStore(name, deps.db)
  const context: MobimatterContext = { client, store }
  return {
    name,
    type: 'mobimatter',
    traits: {
      ...callTraits(config, DEFAULTS),
      timeoutMs: longestMs(CALLS_MAX, config) + CHECK_AFTER_MS.reduce((sum, ms) => sum + ms, 0),
      cancelsUnseenOnly: true,
      findsLate: true, // a completion may take effect after its time-out
      reportsOnRequest: true, // MobiMatter asks not to poll its providers
    },
    order: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(context, request))),
    topUp: (requests) => Promise.all(requests.map((request) => refuseSeveralDays(request) ?? order(context, request))),
    query: (requests, purpose) => Promise.all(requests.map((request) => query(context, request, purpose))),
    cancel: () => Promise.resolve(CANNOT_CANCEL),
    report: (esims) => Promise.all(esims.map((esim) => reportOn(context, esim))),
    catalogue: () => listProducts(client),
    balance: () => readBalance(client),
    receive: ({ body }) => receive(config, store, body),
    test: () => testAccount(client),
  }
}

/** MobiMatter refunds completed orders only at its own discretion. */
const CANNOT_CANCEL: CancelOutcome = {
  kind: 'refused',
  message: 'MobiMatter cannot cancel an eSIM that it has delivered',
}

/**
 * Verifies an event and finds the key of the order that it concerns. It is only a hint to query that order. MobiMatter
 * signs the text `orderId.merchantId.providerName` and sends the signature within the body.
 */
async function receive(
  { webhookPublicKey, merchantId }: MobimatterConfig,
  store: ProgressStore,
  body: Buffer,
): Promise<ReceivedEvent> {
  if (webhookPublicKey === undefined) {
    return { kind: 'refused', message: 'the configuration has no webhookPublicKey to verify events with' }
  }
  const { eventData, signature } = parseObject(body.toString()) ?? {}
  const { orderId, merchantId: named, orderLineItem } = isObject(eventData) ? eventData : {}
  const providerName = isObject(orderLineItem) ? orderLineItem.providerName : undefined
  if (!isText(orderId) || named !== merchantId || !isText(providerName) || !isText(signature)) {
    return { kind: 'refused', message: 'the event is not one of an order of this merchant' }
  }
  const signed = Buffer.from(`${orderId}.${merchantId}.${providerName}`)
  if (!verify('sha256', signed, createPublicKey(webhookPublicKey), Buffer.from(signature, 'base64'))) {
    return { kind: 'refused', message: 'the signature in the event is not that of its order by webhookPublicKey' }
  }
  const key = await store.findKey(orderId)
  return { kind: 'changed', keys: key === undefined ? [] : [key] }
}
