import { Readable } from 'node:stream'
import { ORDER_TYPES } from '@dealer-esim/contract'
import { csvText } from '@dealer-esim/lib/csv.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { countryName, salesLocation } from '#catalogue/coverage.ts'
import { listBalancesByDaysLeft, listSales, type SalesFilter, type SalesRow } from '#sales/list-sales.ts'
import { sendCsv } from './kernel/csv-route.ts'
import { type Context, OPERATORS, type Route, route } from './kernel/route.ts'
import { CLOSED, line, money, nullable, uuid } from './kernel/route-schemas.ts'
import { addSums, daysAfter, daysBetween, NO_SALES, type SalesView, viewOf } from './sales-view.ts'

const count = () => Type.Integer({ minimum: 0 })
const day = () => Type.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$', description: 'A UTC day' })

const figures = {
  items: count(),
  sales: money(),
  refunds: money(),
  revenue: money(),
  cost: money(),
  margin: nullable(money()),
  marginRevenue: money(),
  unknownItems: count(),
  unknownRevenue: money(),
}

const salesRow = Type.Object({
  key: Type.String({ description: 'A day, or what identifies the dealer, package, country or supplier' }),
  name: Type.String(),
  currencyCode: Type.String(),
  ...figures,
  previous: Type.Object(figures, { description: 'Of the period before, which is as long' }),
})
export type SalesFigures = Static<typeof salesRow>

const answer = Type.Object({
  ...{ from: day(), to: day(), previousFrom: day(), previousTo: day() },
  totals: Type.Array(salesRow, { description: 'One per currency' }),
  rows: Type.Array(salesRow, { description: 'Days in order; otherwise those with most revenue, of each currency' }),
  omitted: count(),
})
export type SalesReport = Static<typeof answer>

const KEYS = ['day', 'dealer', 'package', 'country', 'supplier'] as const
type Key = (typeof KEYS)[number]

const period = { from: Type.Optional(day()), to: Type.Optional(day()) }
const query = Type.Object(
  {
    by: Type.Enum(KEYS),
    ...period,
    tenantId: Type.Optional(uuid()),
    packageCode: Type.Optional(line(64)),
    country: Type.Optional(Type.String({ pattern: '^([A-Z]{2}|!RG|!GL)$' })),
    supplier: Type.Optional(line(64)),
    orderType: Type.Optional(Type.Enum(ORDER_TYPES)),
  },
  CLOSED,
)
type Query = Static<typeof query>

const balance = Type.Object({
  tenantId: Type.String(),
  clientName: Type.String(),
  currencyCode: Type.String(),
  balance: money(),
  creditLimit: money(),
  spent: money(),
  basis: Type.Integer({ description: 'Days whose spend was counted' }),
  daysLeft: nullable(Type.Integer({ description: 'null: nothing was spent' })),
})
export type DealerBalanceRow = Static<typeof balance>

/** Rows shown per currency. The CSV file contains all of them. */
const ROWS_MAX = 100
/** A year, plus the day on which it ends. */
const DAYS_MAX = 366
/**
 * The longest period for the dealers of a package, country or supplier: only daily sums exist, possibly as many as there
 * are sales.
 */
const DAYS_MAX_WITHIN = 31
const DAYS_DEFAULT = 30
/** How many days of spend a forecast is based on. */
const FORECAST_DAYS = 14
const BALANCES_MAX = 100

export const salesRoutes: Route[] = [
  route('GET /sales', {
    access: OPERATORS,
    summary: 'Revenue, cost and margin of a period by day, dealer, package, country or supplier, per currency',
    query,
    answer,
    handle: report,
  }),
  route('GET /sales.csv', {
    access: OPERATORS,
    summary: 'The same figures as CSV, with all rows',
    query,
    answer: Type.String(),
    answerType: 'text/csv',
    async handle(context, { query }) {
      const { filter, from, to } = await readQuery(context, query)
      const rows = await namedRows(context, query.by, await listByKey(context, query.by, filter))
      return sendCsv(context.reply, `sales-by-${query.by}-${from}-${to}.csv`, Readable.from(csvOf(query.by, rows)))
    },
  }),
  route('GET /sales/balances', {
    access: OPERATORS,
    summary: 'How many days each dealer’s balance lasts, the shortest first',
    answer: Type.Object({ balances: Type.Array(balance) }),
    handle: async (context) => ({ balances: await listBalances(context, BALANCES_MAX) }),
  }),
  route('GET /sales/balances.csv', {
    access: OPERATORS,
    summary: 'The same balances as CSV, with all dealers',
    answer: Type.String(),
    answerType: 'text/csv',
    async handle(context) {
      const rows = await listBalances(context, null)
      return sendCsv(context.reply, 'balances.csv', Readable.from(balancesCsv(rows)))
    },
  }),
]

function listBalances({ deps }: Context, limit: number | null) {
  const to = today(deps)
  return listBalancesByDaysLeft(deps.db, { from: daysAfter(to, 1 - FORECAST_DAYS), to, limit })
}

function today({ databaseClock }: Context['deps']): string {
  return new Date(databaseClock.now()).toISOString().slice(0, 10)
}

/** @throws Refusal */
async function readQuery({ deps }: Context, query: Query) {
  const { to = today(deps), by, tenantId, packageCode, country, supplier, orderType } = query
  const from = query.from ?? daysAfter(to, 1 - DAYS_DEFAULT)
  for (const given of [from, to]) {
    if (daysAfter(given, 0) !== given)
      throw new Refusal(422, 'NOT_A_DAY', `${given} is not a valid date. Use the form 2026-11-20.`)
  }
  const length = daysBetween(from, to)
  if (length < 1) throw new Refusal(422, 'PERIOD_EMPTY', 'The period ends before it begins. Swap the two dates.')
  if (length > DAYS_MAX) {
    throw new Refusal(422, 'PERIOD_TOO_LONG', `A period can have at most ${DAYS_MAX} days. Choose a shorter one.`)
  }
  const isWithin = packageCode !== undefined || country !== undefined || supplier !== undefined
  if (by === 'dealer' && isWithin && tenantId === undefined && length > DAYS_MAX_WITHIN) {
    const message = `The dealers of a package, country or supplier are shown for up to ${DAYS_MAX_WITHIN} days.`
    throw new Refusal(422, 'PERIOD_TOO_LONG', `${message} Choose a shorter period.`)
  }
  const inCountry =
    country === undefined
      ? undefined
      : (await deps.catalogue.latest()).packages
          .filter((item) => salesLocation(item.coverage) === country)
          .map((item) => item.packageCode)
  const packageCodes =
    packageCode === undefined ? inCountry : (inCountry ?? [packageCode]).filter((code) => code === packageCode)
  const filter: SalesFilter = {
    ...{ from, to, supplier, orderType, packageCodes },
    tenantIds: tenantId === undefined ? undefined : [tenantId],
  }
  const previous = { from: daysAfter(from, -length), to: daysAfter(from, -1) }
  return { filter, from, to, length, previous }
}

async function report(context: Context, { query }: { query: Query }) {
  const { db } = context.deps
  const { filter, from, to, length, previous } = await readQuery(context, query)
  const before = { ...filter, ...previous }
  const [totals, totalsBefore, rows] = await Promise.all([
    listSales(db, 'all', filter),
    listSales(db, 'all', before),
    listByKey(context, query.by, filter),
  ])
  const shown = query.by === 'day' ? rows : topOf(rows)
  const rowsBefore = await listBefore(context, query.by, before, shown)
  const shift = query.by === 'day' ? (key: string) => daysAfter(key, -length) : (key: string) => key
  return {
    ...{ from, to, previousFrom: previous.from, previousTo: previous.to },
    totals: compared(
      totals.map((row) => ({ ...row, name: '' })),
      totalsBefore,
    ),
    rows: compared(await namedRows(context, query.by, shown), rowsBefore, shift),
    omitted: rows.length - shown.length,
  }
}

/** The previous period's rows are looked up for the dealers shown, so those of other dealers are not read. */
function listBefore(context: Context, by: Key, before: SalesFilter, shown: SalesRow[]): Promise<SalesRow[]> {
  if (by !== 'dealer') return listByKey(context, by, before)
  return listByKey(context, by, { ...before, tenantIds: [...new Set(shown.map((row) => row.key))] })
}

async function listByKey({ deps }: Context, by: Key, filter: SalesFilter): Promise<SalesRow[]> {
  if (by === 'dealer') return listSales(deps.db, 'tenant', filter)
  if (by !== 'country') return listSales(deps.db, by, filter)
  const catalogue = await deps.catalogue.latest()
  const sums = new Map<string, SalesRow>()
  for (const row of await listSales(deps.db, 'package', filter)) {
    const item = catalogue.find(row.key)
    const country = item ? salesLocation(item.coverage) : ''
    const { currencyCode } = row
    const id = `${country} ${currencyCode}`
    sums.set(id, { key: country, currencyCode, ...addSums(sums.get(id) ?? NO_SALES, row) })
  }
  return [...sums.values()]
}

function topOf(rows: SalesRow[]): SalesRow[] {
  const shown = new Map<string, number>()
  return [...rows].sort(byRevenue).filter(({ currencyCode }) => {
    const position = shown.get(currencyCode) ?? 0
    shown.set(currencyCode, position + 1)
    return position < ROWS_MAX
  })
}

function byRevenue(left: SalesRow, right: SalesRow): number {
  const difference = right.sales - right.refunds - (left.sales - left.refunds)
  return difference === 0n ? left.key.localeCompare(right.key) : difference > 0n ? 1 : -1
}

type NamedRow = SalesRow & { name: string }

async function namedRows({ deps }: Context, by: Key, rows: SalesRow[]): Promise<NamedRow[]> {
  if (by === 'dealer') {
    const names = await deps.db.query<{ tenantId: string; name: string }>({
      text: 'select tenant_id, tenant_name as name from tenants where tenant_id = any ($1::uuid[])',
      values: [rows.map((row) => row.key)],
    })
    const nameOf = new Map(names.map(({ tenantId, name }) => [tenantId, name]))
    return rows.map((row) => ({ ...row, name: nameOf.get(row.key) ?? row.key }))
  }
  const catalogue = await deps.catalogue.latest()
  const nameOf = (key: string) => {
    if (by === 'country') return countryName(key)
    return by === 'package' ? (catalogue.find(key)?.name ?? key) : key
  }
  return rows.map((row) => ({ ...row, name: nameOf(row.key) }))
}

function compared(rows: NamedRow[], before: SalesRow[], shift = (key: string) => key) {
  const id = (key: string, currencyCode: string) => `${currencyCode} ${key}`
  const earlier = new Map(before.map((row) => [id(row.key, row.currencyCode), row]))
  return rows.map(({ key, name, currencyCode, ...sums }) => ({
    ...{ key, name, currencyCode, ...viewOf(sums) },
    previous: viewOf(earlier.get(id(shift(key), currencyCode)) ?? NO_SALES),
  }))
}

const CSV_ROWS = 500
const HEADERS = ['sold', 'sales', 'refunds', 'revenue', 'cost', 'margin', 'unknown_items', 'unknown_revenue']

function* csvOf(by: Key, rows: NamedRow[]): Generator<string> {
  yield `\uFEFF${csvText([[by, ...(by === 'day' ? [] : ['name']), 'currency', ...HEADERS]])}`
  for (let at = 0; at < rows.length; at += CSV_ROWS) {
    yield csvText(
      rows.slice(at, at + CSV_ROWS).map((row) => {
        const view = viewOf(row)
        return [row.key, ...(by === 'day' ? [] : [row.name]), row.currencyCode, ...cellsOf(view)]
      }),
    )
  }
}

/** The margin covers only items whose cost is known. An unknown margin is an empty cell. */
function cellsOf({ items, sales, refunds, revenue, cost, margin, unknownItems, unknownRevenue }: SalesView) {
  return [items, sales, refunds, revenue, cost, margin ?? '', unknownItems, unknownRevenue]
}

function* balancesCsv(rows: Awaited<ReturnType<typeof listBalances>>): Generator<string> {
  yield `\uFEFF${csvText([['dealer', 'name', 'currency', 'balance', 'credit_limit', 'spent', 'days_counted', 'days_left']])}`
  for (let at = 0; at < rows.length; at += CSV_ROWS) {
    yield csvText(
      rows.slice(at, at + CSV_ROWS).map((row) => {
        const { tenantId, clientName, currencyCode, balance, creditLimit, spent, basis, daysLeft } = row
        return [tenantId, clientName, currencyCode, balance, creditLimit, spent, basis, daysLeft ?? '']
      }),
    )
  }
}
