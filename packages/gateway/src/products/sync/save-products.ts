import { recordset } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { isSameCost, isSameProduct } from './read-catalogue.ts'

export interface ProductChanges {
  added: number
  changed: number
  /** Products that are no longer in the catalogue. */
  removed: number
}

type KnownProduct = SupplierProduct & { isListed: boolean }

/** All products that a supplier has ever listed, by code. */
export async function readProducts(tx: Pick<Tx, 'query'>, supplier: string): Promise<Map<string, KnownProduct>> {
  const rows = await tx.query<KnownProduct>(sql`
    select product_code, name, package_type, countries, volume, is_day_pass, duration_days, cost, currency_code,
      fup_policy, included, is_listed
    from supplier_products where supplier = ${supplier}`)
  return new Map(rows.map((row) => [row.productCode, row]))
}

/**
 * Writes the products that differ from the known ones, with their cost history, and marks missing ones as not listed.
 * Writes nothing if the catalogue is unchanged. The caller holds the lock of the supplier's sync.
 */
export async function saveProducts(
  tx: Tx,
  supplier: string,
  known: ReadonlyMap<string, KnownProduct>,
  answer: readonly SupplierProduct[],
): Promise<ProductChanges> {
  const isKnown = ({ productCode }: SupplierProduct) => known.get(productCode)?.isListed === true
  const differing = answer.filter((product) => {
    const before = known.get(product.productCode)
    return !before?.isListed || !isSameProduct(before, product)
  })
  const listed = new Set(answer.map(({ productCode }) => productCode))
  const removed = [...known.values()].filter((product) => product.isListed && !listed.has(product.productCode))
  const repriced = differing.filter((product) => {
    const before = known.get(product.productCode)
    return !before?.isListed || !isSameCost(before, product)
  })
  for (const batch of inBatches(differing)) tx.send(upsertProducts(supplier, batch))
  if (removed.length > 0) {
    tx.send(sql`
      update supplier_products set is_listed = false, changed_at = now()
      where supplier = ${supplier} and product_code = any (${removed.map(({ productCode }) => productCode)})`)
  }
  const costs = [
    ...repriced.map(({ productCode, cost, currencyCode }) => ({ productCode, cost, currencyCode })),
    ...removed.map(({ productCode }) => ({ productCode, cost: null, currencyCode: null })),
  ]
  for (const batch of inBatches(costs)) tx.send(insertCosts(supplier, batch))
  const added = differing.filter((product) => !isKnown(product)).length
  return { added, changed: differing.length - added, removed: removed.length }
}

const BATCH_ROWS = 1_000

function* inBatches<Row>(rows: readonly Row[]): Generator<Row[]> {
  for (let start = 0; start < rows.length; start += BATCH_ROWS) yield rows.slice(start, start + BATCH_ROWS)
}

const asNumber = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)

function upsertProducts(supplier: string, products: readonly SupplierProduct[]) {
  return {
    text: `insert into supplier_products as p (supplier, product_code, name, package_type, countries, volume,
             is_day_pass, duration_days, cost, currency_code, fup_policy, included, is_listed, first_seen_at,
             changed_at)
           select $1, product_code, name, package_type, countries, volume, is_day_pass, duration_days, cost,
             currency_code, fup_policy, included, true, now(), now()
           from json_to_recordset($2) as r (product_code text, name text, package_type text, countries text[],
             volume bigint, is_day_pass boolean, duration_days integer, cost bigint, currency_code text,
             fup_policy text, included text)
           on conflict (supplier, product_code) do update set
             name = excluded.name, package_type = excluded.package_type, countries = excluded.countries,
             volume = excluded.volume, is_day_pass = excluded.is_day_pass, duration_days = excluded.duration_days,
             cost = excluded.cost, currency_code = excluded.currency_code,
             fup_policy = excluded.fup_policy, included = excluded.included, is_listed = true, changed_at = now()`,
    values: [supplier, recordset(products, asNumber)],
  }
}

function insertCosts(
  supplier: string,
  costs: readonly { productCode: string; cost: bigint | null; currencyCode: string | null }[],
) {
  return {
    text: `insert into supplier_product_costs as known (supplier, product_code, since, cost, currency_code)
           select $1, product_code, now(), cost, currency_code
           from json_to_recordset($2) as r (product_code text, cost bigint, currency_code text)
           on conflict (supplier, product_code, since) do update
           set cost = excluded.cost, currency_code = excluded.currency_code`,
    values: [supplier, recordset(costs, asNumber)],
  }
}
