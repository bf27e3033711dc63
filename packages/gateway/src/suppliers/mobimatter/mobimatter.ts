import { longestMs, type RestDeps } from '../rest-client.ts'
import type { CancelOutcome, Supplier } from '../supplier.ts'
import { listProducts, readBalance, testAccount } from './catalogue.ts'
import { type MobimatterConfig, mobimatterClient } from './client.ts'
import { receive } from './events.ts'
import { createProgressStore } from './progress.ts'
import { CHECK_AFTER_MS, type MobimatterContext, order, query } from './purchase.ts'

const MINUTE_MS = 60_000
const GRACE_MS = MINUTE_MS
const GIVE_UP_AFTER_MS = 60 * MINUTE_MS
const CONCURRENCY = 8
/** An order is created, completed and queried, or cancelled where the completion is refused. */
const CALLS_MAX = 4

/**
 * The wholesaler MobiMatter. It takes no key of ours, but an order has two steps, create and complete, and only the second
 * one buys. The progress of each item is committed between them, so that one order of it is completed at most. Written from
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
      concurrency: config.concurrency ?? CONCURRENCY,
      perSecond: null, // the limit of the account holds over all nodes: rest-client.ts
      timeoutMs: longestMs(CALLS_MAX, config) + CHECK_AFTER_MS.reduce((sum, ms) => sum + ms, 0),
      graceMs: config.settlesMs ?? GRACE_MS,
      giveUpAfterMs: config.giveUpAfterMs ?? GIVE_UP_AFTER_MS,
      cancelsUnseenOnly: true,
      findsLate: true, // a completion may take effect after its time-out
    },
    order: (requests) => Promise.all(requests.map((request) => order(context, request))),
    topUp: (requests) => Promise.all(requests.map((request) => order(context, request))),
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
