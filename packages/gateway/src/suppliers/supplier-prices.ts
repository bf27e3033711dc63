import { formatMoney } from '@dealer-esim/contract'
import { groupBy } from '@dealer-esim/lib/batch.ts'
import { memberColumns } from '@dealer-esim/lib/csv.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { type Loop, type LoopDeps, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { shortList } from '@dealer-esim/lib/refusal.ts'
import type { Charge } from '@dealer-esim/wholesalers/supplier.ts'
import { createAlert } from '#alerts/create-alert.ts'

/** The price at which a supplier sold or offered a product. */
export interface ObservedPrice {
  supplier: string
  productCode: string
  price: Charge
  /** When the purchase began, by the database's clock. */
  seenAt: Date
}

/** SQL: the supplier's catalogue has changed the product or its cost since this price was seen, so the two are not compared. */
function isOutdated(price: string): string {
  return `exists (
    select from supplier_products s
    where s.supplier = ${price}.supplier and s.product_code = ${price}.product_code and s.changed_at > ${price}.seen_at)`
}

/**
 * Records a supplier's current price for a product. An unchanged price writes nothing and takes no lock, so a busy product
 * costs one read of its row. A changed price locks the row, in a separate transaction. A purchase that began before the
 * recorded price was seen is ignored: its answer may be late. If the catalogue has changed since, an unchanged price counts
 * as seen again.
 */
export async function recordPrice(
  db: Pick<Db, 'query'>,
  { supplier, productCode, price, seenAt }: ObservedPrice,
): Promise<void> {
  await db.query({
    name: 'suppliers-record-price',
    text: `
      insert into supplier_prices as known (supplier, product_code, currency_code, price, seen_at)
      select $1, $2, $3, $4, $5 where not exists (
        select from supplier_prices p where supplier = $1 and product_code = $2 and currency_code = $3 and price = $4
          and not ${isOutdated('p')})
      on conflict (supplier, product_code) do update
        set currency_code = excluded.currency_code, price = excluded.price, seen_at = excluded.seen_at, alerted = false
        where known.seen_at < excluded.seen_at
          and ((known.currency_code, known.price) <> (excluded.currency_code, excluded.price)
            or ${isOutdated('known')})`,
    values: [supplier, productCode, price.currencyCode, price.amount, seenAt],
  })
}

/** A package on sale whose supplier's price differs from the cost in the catalogue, both in the same currency. */
export interface PriceDifference {
  supplier: string
  packageCode: string
  productCode: string
  price: bigint
  cost: bigint
  currencyCode: string
  seenAt: Date
}

/**
 * SQL: packages on sale whose supplier's price differs from their cost. An unknown cost, a cost in another currency, and a
 * price from before the supplier's catalogue changed are not compared.
 */
const DIFFERENCES = `
  select p.supplier, r.package_code, p.product_code, p.price, r.cost_price as cost,
    p.currency_code, p.seen_at
  from supplier_prices p
  join package_suppliers r on r.supplier = p.supplier and r.product_code = p.product_code
    and r.cost_currency = p.currency_code and r.cost_price <> p.price
  join packages k on k.package_code = r.package_code and k.on_sale and not ${isOutdated('p')}`

/** The columns of the CSV files. */
export const PRICE_DIFFERENCE_COLUMNS = {
  ...memberColumns('supplier', 'packageCode', 'productCode', 'price', 'cost', 'currencyCode'),
  since: (row) => row.seenAt,
} satisfies Record<string, (row: PriceDifference) => unknown>

/** Lists differences by supplier and package: those of one supplier, or those after the last row of the previous page. */
export async function listPriceDifferences(
  db: Pick<Db, 'query'>,
  { supplier, after, limit }: { supplier?: string; after?: PriceDifference | undefined; limit: number },
): Promise<PriceDifference[]> {
  return db.query<PriceDifference>({
    text: `${DIFFERENCES} where ($1::text is null or p.supplier = $1)
             and ($2::text is null or (p.supplier, r.package_code, p.product_code) > ($2, $3::text, $4::text))
           order by p.supplier, r.package_code, p.product_code limit $5`,
    values: [supplier ?? null, after?.supplier, after?.packageCode, after?.productCode, limit],
  })
}

const DIFFERENCES_PER_PAGE = 2_000

/** Reads all differences, page by page. */
export async function* streamPriceDifferences(
  db: Pick<Db, 'query'>,
  limit = DIFFERENCES_PER_PAGE,
): AsyncGenerator<PriceDifference[]> {
  for (let after: PriceDifference | undefined, isLast = false; !isLast; ) {
    const rows: PriceDifference[] = await listPriceDifferences(db, { after, limit })
    yield rows
    after = rows.at(-1)
    isLast = rows.length < limit
  }
}

/** The maximum number of prices per pass, to keep its transaction short. The next pass reports the rest. */
const ALERTED_MAX = 1_000

/**
 * Finds differences that no alert has reported yet, skipping suppliers with an alert in the last hour, and marks them as
 * alerted. Locks the rows in supplier_prices until the commit, in the order of their key.
 */
async function claimNewDifferences(tx: Tx): Promise<PriceDifference[]> {
  const rows = await tx.query<PriceDifference>({
    text: `${DIFFERENCES}
           where not p.alerted and not exists (
             select from supplier_prices t where t.supplier = p.supplier and t.alerted_at > now() - $1::interval)
           order by p.supplier, p.product_code, r.package_code limit ${ALERTED_MAX} for no key update of p`,
    values: [ALERT_INTERVAL],
  })
  if (rows.length > 0) {
    tx.send({
      text: `update supplier_prices p set alerted = true, alerted_at = now()
             from unnest($1::text[], $2::text[]) as t(supplier, product_code)
             where p.supplier = t.supplier and p.product_code = t.product_code`,
      values: [rows.map((row) => row.supplier), rows.map((row) => row.productCode)],
    })
  }
  return rows
}

interface PriceAlertDeps extends LoopDeps {
  db: Db
  ids: Ids
}

const POLL_MS = 60_000
/**
 * The minimum time between two alerts about one supplier. A new price list then causes only one alert, although its
 * packages are sold one after another.
 */
const ALERT_INTERVAL = '1 hour'
/** The maximum number of packages listed in the alert. The report contains all of them. */
const LISTED_IN_ALERT_MAX = 5

/** Alerts operators when a supplier's price differs from the cost in the catalogue. */
export function priceAlertLoop(deps: PriceAlertDeps): Loop {
  return runLoop(deps, 'price alerts', POLL_MS, () => alertPriceDifferences(deps))
}

/**
 * Reports each price of a product once, and again only after it has changed. An advisory lock makes concurrent nodes wait,
 * so that only one reports it.
 * @returns whether it created an alert
 */
export async function alertPriceDifferences(deps: Pick<PriceAlertDeps, 'db' | 'ids'>): Promise<boolean> {
  return deps.db.tx(async (tx) => {
    tx.send({ text: `select pg_advisory_xact_lock(${advisoryKey('price alerts')})` })
    const differences = await claimNewDifferences(tx)
    for (const [supplier, differencesOfSupplier] of groupBy(differences, (difference) => difference.supplier)) {
      createAlert(tx, deps.ids, {
        kind: 'SUPPLIER_PRICE',
        message: alertMessage(supplier, differencesOfSupplier),
        data: { supplier, packages: differencesOfSupplier.length },
      })
    }
    return differences.length > 0
  })
}

function alertMessage(supplier: string, differences: readonly PriceDifference[]): string {
  const named = differences.map(({ packageCode, price, cost, currencyCode }) => {
    return `${packageCode} ${formatMoney(price)} ${currencyCode} (cost ${formatMoney(cost)})`
  })
  const list = shortList(named, LISTED_IN_ALERT_MAX)
  return `The prices of ${supplier} differ from the costs in the catalogue: ${list}. Correct the costs and check the sale prices: a package sold for less than its supplier's price is refunded, unless it allows a loss. All differences are on the console's page Supplier reports, or in: supplier report --prices.`
}
