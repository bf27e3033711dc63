import { formatMoney } from '@dealer-esim/contract'
import { createAlert } from '../alerts/alerts.ts'
import { groupBy } from '../lib/batch.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import { type Loop, runLoop } from '../lib/process/lifecycle.ts'
import type { Log } from '../lib/telemetry/log.ts'
import type { LoopMetrics } from '../lib/telemetry/metrics.ts'
import { type PriceDifference, takeUntoldDifferences } from './prices.ts'

interface PriceNoticeDeps {
  db: Db
  ids: Ids
  log: Log
  loops?: LoopMetrics
}

const POLL_MS = 60_000
/** Of one supplier: a new price list of an upstream is one story, though its packages are sold one after another. */
const TOLD_EVERY = '1 hour'
/** Packages that the words name; the report has them all. */
const NAMED_MAX = 5

/** Tells operators where a supplier asks another price than the cost that the catalogue has. */
export function priceNoticeLoop(deps: PriceNoticeDeps): Loop {
  return runLoop({
    name: 'price notices',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    pass: () => tellOfPrices(deps),
  })
}

/**
 * Each price of a product is told of once, and again only when it has changed.
 * @returns whether a notice was given. Of several nodes one gives it: the advisory lock lets the others see it.
 */
export async function tellOfPrices(deps: Pick<PriceNoticeDeps, 'db' | 'ids'>): Promise<boolean> {
  return deps.db.tx(async (tx) => {
    tx.send({ text: `select pg_advisory_xact_lock(hashtext('price notices'))` })
    const differences = await takeUntoldDifferences(tx, TOLD_EVERY)
    for (const [supplier, ofSupplier] of groupBy(differences, (one) => one.supplier)) {
      createAlert(tx, deps.ids, {
        tenantId: null,
        kind: 'SUPPLIER_PRICE',
        audience: 'OPERATOR',
        message: wordsOf(supplier, ofSupplier),
        data: { supplier, packages: ofSupplier.length },
      })
    }
    return differences.length > 0
  })
}

function wordsOf(supplier: string, differences: readonly PriceDifference[]): string {
  const named = differences.slice(0, NAMED_MAX).map(({ packageCode, price, cost, currencyCode }) => {
    return `${packageCode} ${formatMoney(price)} ${currencyCode} (cost ${formatMoney(cost)})`
  })
  const more = differences.length - named.length
  const list = named.join(', ') + (more > 0 ? ` and ${more} more` : '')
  return `${supplier} asks other prices than the costs in the catalogue: ${list}. Change the costs there, and look at what the packages sell for: what sells for less than its supplier asks is refunded, unless the package allows a loss. supplier report --prices lists them.`
}
