import type { Supplier } from '../supplier.ts'
import { cancel } from './cancel.ts'
import { es2plusClient, TIMEOUT_MS } from './client.ts'
import type { Es2plusConfig } from './config.ts'
import { progressBook } from './progress.ts'
import { type Desk, type Es2plusDeps, look, order, resume } from './purchase.ts'
import { testEs2plus } from './trial.ts'

const CONCURRENCY = 16
const SETTLES_MS = 60_000
const GIVE_UP_AFTER_MS = 30 * 60_000
/** DownloadOrder, ConfirmOrder, ReleaseProfile; and CancelOrder where one of the first two is refused. */
const CALLS_MAX = 3
const OWN_TIME_MS = 2_000

/**
 * An SM-DP+ by SGP.22 ES2+: DownloadOrder, ConfirmOrder with release, CancelOrder. DownloadOrder has no idempotency
 * key, so one without an answer cannot be asked about; with an ICCID range of ours it is simply repeated.
 */
export function es2plusSupplier(name: string, config: Es2plusConfig, deps: Es2plusDeps): Supplier {
  const client = es2plusClient(config, deps)
  const desk: Desk = { client, book: progressBook(name, config, deps), config }
  return {
    name,
    type: 'es2plus',
    traits: {
      batch: 1,
      concurrency: config.concurrency ?? CONCURRENCY,
      perSecond: config.perSecond ?? null,
      timeoutMs: CALLS_MAX * (config.timeoutMs ?? TIMEOUT_MS) + OWN_TIME_MS,
      settlesMs: config.settlesMs ?? SETTLES_MS,
      giveUpAfterMs: config.giveUpAfterMs ?? GIVE_UP_AFTER_MS,
      queryBuys: true,
    },
    order: (requests) => Promise.all(requests.map((request) => order(desk, request))),
    query: (requests, purpose) =>
      Promise.all(requests.map((request) => (purpose === 'RESUME' ? resume : look)(desk, request))),
    cancel: (esim) => cancel(desk, esim),
    test: () => testEs2plus(client),
    noticesFrom: {
      certificates: (config.notices?.certificates ?? []).map((print) => print.replaceAll(':', '').toLowerCase()),
      addresses: config.notices?.addresses ?? [],
    },
  }
}
