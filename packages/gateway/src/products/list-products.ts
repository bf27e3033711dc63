import { countMatching, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'

/** A supplier's product, according to its latest accepted catalogue. */
export interface ListedProduct extends SupplierProduct {
  supplier: string
  isListed: boolean
  firstSeenAt: Date
  changedAt: Date
  /** The packages that this product is bought for. */
  packageCodes: string[]
}

export interface ProductSearch {
  supplier?: string | undefined
  /** Part of the name or the code. */
  keyword?: string | undefined
  country?: string | undefined
  packageType?: 'BASE' | 'TOPUP' | undefined
  /** Absent: listed products only. */
  isListed?: boolean | undefined
  /** true: only products sold in packages; false: only products that are not. */
  isSold?: boolean | undefined
}

/** Searches products by supplier and code. @param page.after the key of the last product of the previous page */
export function searchProducts(
  db: Pick<Db, 'query'>,
  search: ProductSearch,
  page: { after?: readonly string[] | undefined; ascending?: boolean | undefined; limit: number },
): Promise<ListedProduct[]> {
  const { after, ascending = true, limit } = page
  const [comparison, direction] = ascending ? [raw('>'), raw('asc')] : [raw('<'), raw('desc')]
  return db.query<ListedProduct>(sql`
    select p.supplier, p.product_code, p.name, p.package_type, p.countries, p.volume, p.is_day_pass, p.duration_days,
      p.cost, p.currency_code, p.fup_policy, p.included, p.is_listed, p.first_seen_at, p.changed_at,
      array(select s.package_code from package_suppliers s
            where s.supplier = p.supplier and s.product_code = p.product_code order by 1 limit 10) as package_codes
    from supplier_products p
    where ${after === undefined ? empty : sql`(p.supplier, p.product_code) ${comparison} (${join(after)}) and`} ${conditions(search)}
    order by p.supplier ${direction}, p.product_code ${direction} limit ${limit}`)
}

/** The cheapest listed product with an eSIM, other than a day pass; undefined: none with a known cost. */
export async function cheapestProduct(
  db: Pick<Db, 'query'>,
  supplier: string,
): Promise<{ productCode: string; name: string; cost: bigint; currencyCode: string } | undefined> {
  const [cheapest] = await db.query<{ productCode: string; name: string; cost: bigint; currencyCode: string }>(sql`
    select product_code, name, cost, currency_code from supplier_products
    where supplier = ${supplier} and is_listed and package_type = 'BASE' and not is_day_pass and cost > 0
    order by cost, product_code limit 1`)
  return cheapest
}

export function countProducts(db: Pick<Db, 'query'>, search: ProductSearch): Promise<RowCount> {
  return countMatching(db, sql`select from supplier_products p where ${conditions(search)}`)
}

function conditions({ supplier, keyword, country, packageType, isListed = true, isSold }: ProductSearch): Sql {
  const routes = sql`select from package_suppliers s where s.supplier = p.supplier and s.product_code = p.product_code`
  const all = [
    sql`p.is_listed = ${isListed}`,
    ...(supplier === undefined ? [] : [sql`p.supplier = ${supplier}`]),
    ...(packageType === undefined ? [] : [sql`p.package_type = ${packageType}`]),
    ...(country === undefined ? [] : [sql`p.countries @> array[${country}]`]),
    ...(keyword === undefined ? [] : [sql`position(lower(${keyword}) in lower(p.name || ' ' || p.product_code)) > 0`]),
  ]
  const sold = isSold === undefined ? empty : isSold ? sql`and exists (${routes})` : sql`and not exists (${routes})`
  return sql`${join(all, ' and ')} ${sold}`
}

/** The cost from this time on; if both are null, the product was not listed. */
export interface CostEntry {
  since: Date
  cost: bigint | null
  currencyCode: string | null
}

const COSTS_MAX = 500

/** The costs of a product, latest first. @throws Refusal if the product was never listed */
export async function listCosts(db: Pick<Db, 'query'>, supplier: string, productCode: string): Promise<CostEntry[]> {
  const known = await db.query(sql`
    select from supplier_products where supplier = ${supplier} and product_code = ${productCode}`)
  if (known.length === 0) throw notFound('product', `${supplier}/${productCode}`)
  return db.query<CostEntry>({
    text: `select since, cost, currency_code from supplier_product_costs
           where supplier = $1 and product_code = $2 order by since desc limit ${COSTS_MAX}`,
    values: [supplier, productCode],
  })
}
