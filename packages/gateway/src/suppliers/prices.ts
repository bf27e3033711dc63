import type { Db, Tx } from '../lib/postgres/db.ts'
import type { Charge } from './supplier.ts'

/** The price at which a supplier sold a product, or would have. */
export interface SeenPrice {
  supplier: string
  productCode: string
  price: Charge
  /** When the purchase began, by the database's clock. */
  seenAt: Date
}

/**
 * Keeps the price that a supplier asks for a product now. The same again writes nothing and locks nothing, so that a busy
 * product costs a look at its row; another one locks the row, in a transaction of its own. A purchase that began before the
 * present price was met says nothing: it may have been answered late.
 */
export async function seePrice(
  db: Pick<Db, 'query'>,
  { supplier, productCode, price, seenAt }: SeenPrice,
): Promise<void> {
  await db.query({
    name: 'suppliers-see-price',
    text: `
      insert into supplier_prices as known (supplier, product_code, currency_code, price, seen_at)
      select $1, $2, $3, $4, $5 where not exists (
        select from supplier_prices where supplier = $1 and product_code = $2 and currency_code = $3 and price = $4)
      on conflict (supplier, product_code) do update
        set currency_code = excluded.currency_code, price = excluded.price, seen_at = excluded.seen_at, alerted = false
        where known.seen_at < excluded.seen_at
          and (known.currency_code, known.price) <> (excluded.currency_code, excluded.price)`,
    values: [supplier, productCode, price.currencyCode, price.amount, seenAt],
  })
}

/** A package on sale for which a supplier asks another price than the catalogue has as its cost, in one currency. */
export interface PriceDifference {
  supplier: string
  packageCode: string
  productCode: string
  price: bigint
  cost: bigint
  currencyCode: string
  seenAt: Date
}

/** A cost that is unknown, or in another currency, is compared with nothing. */
const DIFFERENCES = `
  select p.supplier, r.package_code, p.product_code, p.price, r.cost_price as cost,
    p.currency_code, p.seen_at
  from supplier_prices p
  join package_suppliers r on r.supplier = p.supplier and r.product_code = p.product_code
    and r.cost_currency = p.currency_code and r.cost_price <> p.price
  join packages k on k.package_code = r.package_code and k.on_sale`

const LISTED_MAX = 10_000

export async function priceDifferences(db: Pick<Db, 'query'>): Promise<PriceDifference[]> {
  return db.query<PriceDifference>({
    text: `${DIFFERENCES} order by p.supplier, r.package_code, p.product_code limit ${LISTED_MAX}`,
  })
}

/** Prices that one notice takes in: bounds its transaction. What is left over is told with the next. */
const TOLD_MAX = 1_000

/**
 * Those of which operators were not told, of suppliers of which nothing was told for an hour, and notes that they are told.
 * Locks their prices until the commit, in the order of their key, so that none changes between the words and the note.
 */
export async function takeUntoldDifferences(tx: Tx, every: string): Promise<PriceDifference[]> {
  const rows = await tx.query<PriceDifference>({
    text: `${DIFFERENCES}
           where not p.alerted and not exists (
             select from supplier_prices t where t.supplier = p.supplier and t.alerted_at > now() - $1::interval)
           order by p.supplier, p.product_code, r.package_code limit ${TOLD_MAX} for no key update of p`,
    values: [every],
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
