import type { OrderType } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import { SUMS, SUMS_OF_ORDER } from './sums-of-rows.ts'

type Reader = Pick<Db, 'query'>

/** Sums of items in one currency. Amounts are in 1/10 000 of it, and are never added across currencies. */
export interface Sums {
  items: number
  /** Prices, as debited. */
  sales: bigint
  refunds: bigint
  /** The cost of the items with a known cost in this currency. */
  cost: bigint
  /** The items whose cost in this currency is unknown or not yet known, and their sales less refunds. */
  unknownItems: number
  unknownRevenue: bigint
}

export interface SalesRow extends Sums {
  /** A day, a tenant's id, a package's code or a supplier's name ('' if not delivered); '' for everything together. */
  key: string
  currencyCode: string
}

export interface SalesFilter {
  /** The first and last UTC day. */
  from: string
  to: string
  tenantIds?: readonly string[] | undefined
  packageCodes?: readonly string[] | undefined
  supplier?: string | undefined
  orderType?: OrderType | undefined
}

const COLUMNS = { all: `''`, day: 'day', tenant: 'tenant_id', package: 'package_code', supplier: 'supplier' }
type SalesKey = keyof typeof COLUMNS

/**
 * The sums of a period by key and currency. Reads the smallest table that has the filter's columns, each through an index:
 * the sums per package and supplier over all tenants; those of one tenant over all packages, or per tenant and supplier; or
 * those per tenant and package. The sums of all tenants over all packages are read by month.
 */
export function listSales(db: Reader, by: SalesKey, filter: SalesFilter): Promise<SalesRow[]> {
  const { tenantIds, packageCodes, supplier } = filter
  const isByMonths = by === 'tenant' && tenantIds === undefined && packageCodes === undefined && supplier === undefined
  const source = isByMonths
    ? sql`(${rowsByMonths(filter)}) rows`
    : sql`${raw(tableOf(by, filter))} where ${conditions(filter)}`
  // Rows are grouped by the key's own type. The key is converted to text only after the sums are formed.
  return db.query<SalesRow>(sql`
    select key::text, currency_code, ${raw(Object.values(NAMES).join(', '))}
    from (
      select ${raw(COLUMNS[by])} as key, currency_code, ${raw(SUMMED)}
      from ${source}
      group by 1, 2 ${isByMonths ? sql`having sum(items) <> 0` : empty}) summed
    order by 1, 2`)
}

function tableOf(by: SalesKey, { tenantIds, packageCodes, supplier }: SalesFilter): string {
  if (by !== 'tenant' && tenantIds === undefined) return 'daily_sales_packages'
  if (by === 'package' || packageCodes !== undefined) return 'daily_sales'
  return by === 'supplier' || supplier !== undefined ? 'daily_sales_tenant_suppliers' : 'daily_sales_tenants'
}

/**
 * Each tenant's rows in the period: whole months, from which the days outside the period are subtracted, or to which the
 * days inside it are added, whichever are fewer. For a year and ten thousand tenants, two thirds of which sell something
 * each day, this reads a tenth of the rows.
 */
function rowsByMonths({ from, to, orderType }: SalesFilter): Sql {
  const { months, added, taken } = monthsOf(from, to)
  const type = orderType === undefined ? empty : sql`and order_type = ${orderType}`
  const columns = (sign: string) =>
    raw(`tenant_id, currency_code, ${SUMS.map((name) => `${sign}${name} as ${name}`).join()}`)
  const days = (periods: Period[], sign: string) =>
    periods.map(
      (days) => sql`
        select ${columns(sign)} from daily_sales_tenants where day between ${days.from} and ${days.to} ${type}`,
    )
  const ofMonths = sql`select ${columns('')} from monthly_sales_tenants where month = any (${months}::date[]) ${type}`
  return join([ofMonths, ...days(added, ''), ...days(taken, '-')], ' union all ')
}

interface Period {
  from: string
  to: string
}

/** Months whose sums, with some days added and others subtracted, make up the sums of a period. */
export function monthsOf(from: string, to: string): { months: string[]; added: Period[]; taken: Period[] } {
  const result = { months: [] as string[], added: [] as Period[], taken: [] as Period[] }
  for (let first = `${from.slice(0, 7)}-01`; first <= to; first = nextMonth(first)) {
    const last = dayBefore(nextMonth(first))
    const inside = { from: from > first ? from : first, to: to < last ? to : last }
    const outside = [
      ...(from > first ? [{ from: first, to: dayBefore(from) }] : []),
      ...(to < last ? [{ from: dayAfter(to), to: last }] : []),
    ]
    if (lengthOf(inside) <= outside.reduce((sum, days) => sum + lengthOf(days), 0)) result.added.push(inside)
    else {
      result.months.push(first)
      result.taken.push(...outside)
    }
  }
  return result
}

const DAY_MS = 86_400_000
const moved = (day: string, days: number) => new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
const dayBefore = (day: string) => moved(day, -1)
const dayAfter = (day: string) => moved(day, 1)
const nextMonth = (first: string) => `${moved(first, 31).slice(0, 7)}-01`
const lengthOf = ({ from, to }: Period) => (Date.parse(to) - Date.parse(from)) / DAY_MS + 1

const NAMES: Record<(typeof SUMS)[number], string> = {
  items: 'items',
  revenue: 'sales',
  refunds: 'refunds',
  cost: 'cost',
  unknown_items: 'unknown_items',
  unknown_revenue: 'unknown_revenue',
}
const SUMMED = SUMS.map((column) => {
  const type = column.endsWith('items') ? 'int' : 'bigint'
  return `sum(${column})::${type} as ${NAMES[column]}`
}).join(', ')

function conditions({ from, to, tenantIds, packageCodes, supplier, orderType }: SalesFilter): Sql {
  const given = [
    sql`day between ${from} and ${to}`,
    ...(tenantIds === undefined ? [] : [sql`tenant_id = any (${[...tenantIds]}::uuid[])`]),
    ...(packageCodes === undefined ? [] : [sql`package_code = any (${[...packageCodes]})`]),
    ...(supplier === undefined ? [] : [sql`supplier = ${supplier}`]),
    ...(orderType === undefined ? [] : [sql`order_type = ${orderType}`]),
  ]
  return join(given, ' and ')
}

/** The sums for one order, from its rows. */
export async function getOrderSums(db: Reader, tenantId: string, orderId: string): Promise<Sums> {
  const [row] = await db.query<Omit<Sums, 'sales'> & { revenue: bigint }>({
    text: SUMS_OF_ORDER,
    values: [tenantId, orderId],
  })
  const { revenue, ...rest } = row!
  return { ...rest, sales: revenue }
}

export interface DealerBalance {
  tenantId: string
  clientName: string
  currencyCode: string
  balance: bigint
  creditLimit: bigint
  /** Amount spent less refunds in the last `basis` days. */
  spent: bigint
  basis: number
  /** The number of whole days that the balance and credit will last at these days' average spend; null: nothing was spent. */
  daysLeft: number | null
}

/**
 * Balances and how long they will last, shortest first. The days before a dealer's first sale in the period do not count,
 * as on the dealer's own dashboard (days-left.ts in the console).
 */
export function listBalancesByDaysLeft(
  db: Reader,
  { from, to, limit }: { from: string; to: string; limit: number | null },
): Promise<DealerBalance[]> {
  return db.query<DealerBalance>(sql`
    select w.tenant_id, t.tenant_name as client_name, w.currency_code, w.balance, w.credit_limit,
      coalesce(s.spent, 0)::bigint as spent, coalesce(s.basis, 0) as basis,
      case when s.spent > 0 then
        greatest(0, floor((w.balance + w.credit_limit)::numeric * s.basis / s.spent))::float8 end as days_left
    from wallets w join tenants t using (tenant_id)
    left join (
      select tenant_id, sum(revenue - refunds) as spent, ${to}::date - min(day) filter (where revenue <> refunds) + 1 as basis
      from daily_sales_tenants where day between ${from} and ${to} group by 1) s using (tenant_id)
    order by days_left nulls last, w.tenant_id ${limit === null ? empty : sql`limit ${limit}`}`)
}
