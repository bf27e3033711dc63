import {
  firstUuidAt,
  HIGHEST_UUID,
  LATEST_IDS_MS,
  LOWEST_UUID,
  lastUuidBefore,
  timeOfUuid,
} from '@dealer-esim/lib/ids.ts'
import { COUNTED_ROWS_MAX, countOf, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'

/*
 * Reads pages of rows of one tenant or of all tenants, for lists that people see. Tables that grow with orders have the key
 * (tenant_id, UUIDv7) and no index over all tenants, because it would slow down every order. So the newest rows of all
 * tenants are read in time windows: each window is one range of the key per tenant, and its size depends on how many rows
 * the previous one contained.
 * Measured with 10 000 tenants and 300 000 orders in a week, on two cores that were otherwise busy: the first page took 115
 * ms (p50), at most 215 ms. A page that read 20 000 orders for a package contained in none of them took 333 ms;
 * READ_ROWS_MAX is half of that.
 */

/** A table with the key (tenant_id, id), where ids are UUIDv7. */
export interface RowTable {
  readonly table: string
  readonly id: string
}

/** Conditions on the row `r`, all of which must be met. */
export interface RowFilter {
  /** null: all tenants. */
  readonly tenantId: string | null
  /** Conditions that are served by an index beginning with the tenant. */
  readonly indexed?: readonly Sql[] | undefined
  /** Conditions for which every row found through the index is read. */
  readonly others?: readonly Sql[] | undefined
  /**
   * FEW: hardly any of a tenant's rows match. ONE: at most one of a tenant's rows matches. Longer periods are then read
   * with one query.
   */
  readonly matching?: 'FEW' | 'ONE' | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** The values of a row's sort columns, then its id: the start of the next page. */
export type Position = readonly string[]

export interface RowPage {
  /** The sort expressions for the row `r` and its tenant `t`; empty: by time. The id breaks ties. */
  readonly by?: readonly string[] | undefined
  readonly ascending?: boolean | undefined
  readonly after?: Position | undefined
  readonly limit: number
}

/** A page of a search, sorted by one of the sortable columns. */
export type SortedPage<Column extends string> = Omit<RowPage, 'by'> & { readonly column?: Column }

export interface RowKey {
  readonly tenantId: string
  readonly id: string
}

export interface FoundKeys {
  readonly keys: RowKey[]
  /** null: no more rows. */
  readonly next: Position | null
  /** Set if reading stopped before the page was full: older rows have not been read. */
  readonly searchedTo: Date | null
}

/**
 * The number of rows read for one page or count without an index for the conditions. The person then decides whether to go
 * on.
 */
const READ_ROWS_MAX = 10_000
const FIRST_READ_ROWS = 2_000
/** With a first window of an hour, the last one reaches back more than seven years. */
const WINDOWS_MAX = 6
const FIRST_WINDOW_MS = 3_600_000
const FIRST_WINDOW_OF_FEW_MS = 30 * 24 * 3_600_000
const WINDOW_GROWTH_MAX = 16

/** Finds one page of keys. @throws Refusal if more rows match than may be sorted without an index */
export function findRowKeys(db: Pick<Db, 'query'>, rows: RowTable, filter: RowFilter, page: RowPage) {
  return page.by === undefined || page.by.length === 0
    ? findByTime(db, rows, filter, page)
    : findSorted(db, rows, filter, { ...page, by: page.by })
}

async function findByTime(
  db: Pick<Db, 'query'>,
  rows: RowTable,
  filter: RowFilter,
  { ascending = false, after, limit }: RowPage,
): Promise<FoundKeys> {
  const isWhole = filter.tenantId !== null || filter.matching === 'ONE'
  const nowMs = isWhole ? 0 : await databaseTimeMs(db)
  const latest = isWhole ? HIGHEST_UUID : firstUuidAt(nowMs + LATEST_IDS_MS)
  const end = lastEdge(filter, ascending, latest)
  let edge = after?.[0] ?? firstEdge(filter, ascending, latest)
  let timeMs = timeOfUuid(edge)
  if (!isWhole && edge === latest) timeMs = nowMs
  if (!isWhole && ascending && after === undefined) timeMs = await findOldestMs(db, rows, filter, edge, latest)
  const isFiltered = Boolean(filter.others?.length)
  let toRead = isFiltered ? FIRST_READ_ROWS : limit + 1
  let spanMs = filter.matching === 'FEW' ? FIRST_WINDOW_OF_FEW_MS : FIRST_WINDOW_MS
  const isSizedBySums = !isWhole && !ascending && filter.matching === undefined
  if (isSizedBySums && edge === latest) timeMs = await latestOfBusiest(db, rows, filter, edge, timeMs)
  if (isSizedBySums) spanMs = await spanOfOrders(db, timeMs, 2 * toRead)
  let read = 0
  const keys: RowKey[] = []
  for (let windows = 1; ; windows++) {
    const stop = isWhole ? end : nearer(windowEnd(timeMs, spanMs, ascending, nowMs), end, ascending)
    const found = await readWindow(db, rows, filter, { ascending, edge, stop, limit: limit + 1, perTenant: toRead })
    keys.push(...found.keys)
    if (keys.length > limit) {
      const page = keys.slice(0, limit)
      return { keys: page, next: [page.at(-1)!.id], searchedTo: null }
    }
    edge = found.cut ?? stop
    timeMs = timeOfUuid(edge)
    read += found.read
    if (edge === end) return { keys, next: null, searchedTo: null }
    if (windows === WINDOWS_MAX || read >= READ_ROWS_MAX) {
      const hasMore = isWhole || ascending || found.cut !== null || (await hasOlder(db, rows, filter, timeMs))
      return hasMore ? { keys, next: [edge], searchedTo: new Date(timeMs) } : { keys, next: null, searchedTo: null }
    }
    if (isSizedBySums && found.read === 0) {
      const latestMs = await latestOfBusiest(db, rows, filter, edge, timeMs)
      if (latestMs < timeMs) {
        timeMs = latestMs
        spanMs = await spanOfOrders(db, timeMs, 2 * toRead)
        continue
      }
    }
    // As many rows as the page still needs, estimated from the matches so far.
    const wanted = isFiltered ? ((limit + 1 - keys.length) * read) / Math.max(keys.length, 0.5) : READ_ROWS_MAX
    if (isFiltered) toRead = Math.ceil(between(FIRST_READ_ROWS, 1.5 * wanted, READ_ROWS_MAX - read))
    spanMs *= between(1 / WINDOW_GROWTH_MAX, toRead / (found.read + 1), WINDOW_GROWTH_MAX)
  }
}

const between = (min: number, value: number, max: number) => Math.max(min, Math.min(value, max))

async function databaseTimeMs(db: Pick<Db, 'query'>): Promise<number> {
  const [row] = await db.query<{ now: Date }>({ text: 'select clock_timestamp() as now' })
  return row!.now.getTime()
}

const QUARTER_HOUR_MS = 900_000
const QUARTER_HOURS_READ = 24

/**
 * Estimates how far back this many orders of all tenants reach, from the sums of the latest quarter hours with orders.
 * Other tables have about as many rows. Without the estimate, a first window of an hour on a busy gateway would contain so
 * many rows that a page would read the maximum for every tenant.
 */
async function spanOfOrders(db: Pick<Db, 'query'>, beforeMs: number, wanted: number): Promise<number> {
  const [last] = await db.query<{ startsAt: Date; orders: number; total: number }>(sql`
    with quarter_hours as (
      select starts_at, sum(orders)::int as orders from order_quarter_hours where starts_at < ${new Date(beforeMs)}
      group by starts_at having sum(orders) > 0 order by starts_at desc limit ${QUARTER_HOURS_READ}),
    totals as (select *, (sum(orders) over (order by starts_at desc))::int as total from quarter_hours)
    select * from totals order by total < ${wanted}, abs(total - ${wanted}) limit 1`)
  if (last === undefined) return FIRST_WINDOW_MS
  const reachMs = beforeMs - last.startsAt.getTime()
  if (last.total < wanted) return between(FIRST_WINDOW_MS, (reachMs * wanted) / last.total, FIRST_WINDOW_OF_FEW_MS)
  const wantedOfLast = wanted - (last.total - last.orders)
  return Math.max(0, reachMs - QUARTER_HOUR_MS) + (Math.min(reachMs, QUARTER_HOUR_MS) * wantedOfLast) / last.orders
}

const BUSIEST_TENANTS = 8

/**
 * Estimates when the latest row before `edge` was written, from the latest rows of the tenants that sold most on the latest
 * day with sales. After a pause in sales, that row is hours old. A window from now to a little before it would read the
 * maximum for every tenant: 2 100 buffers instead of 1 550 for a page of a million orders.
 * @returns `beforeMs` if those tenants have no such row
 */
async function latestOfBusiest(
  db: Pick<Db, 'query'>,
  { table, id }: RowTable,
  { indexed }: RowFilter,
  edge: string,
  beforeMs: number,
): Promise<number> {
  const column = raw(`r.${id}`)
  const [row] = await db.query<{ id: string }>(sql`
    select r.id from (
      select tenant_id from daily_sales_tenants
      where day = (select max(day) from daily_sales_tenants where day <= (${new Date(beforeMs)}::timestamptz at time zone 'utc')::date)
      group by 1 order by sum(items) desc limit ${BUSIEST_TENANTS}) t
    cross join lateral (
      select ${column} as id from ${raw(table)} r where r.tenant_id = t.tenant_id and ${column} < ${edge} ${and(indexed)}
      order by ${column} desc limit 1) r
    order by r.id desc limit 1`)
  return row === undefined ? beforeMs : Math.min(beforeMs, timeOfUuid(row.id))
}

/** The id at which reading begins, exclusive. */
function firstEdge({ from, to }: RowFilter, ascending: boolean, latest: string): string {
  if (ascending) return from ? lastUuidBefore(from.getTime()) : LOWEST_UUID
  return to ? nearer(firstUuidAt(to.getTime()), latest, true) : latest
}

/** The id at which reading ends, inclusive. */
function lastEdge({ from, to }: RowFilter, ascending: boolean, latest: string): string {
  if (ascending) return to ? nearer(lastUuidBefore(to.getTime()), latest, true) : latest
  return from ? firstUuidAt(from.getTime()) : LOWEST_UUID
}

/**
 * The end of a window. In ascending order, one window contains everything after now, which is nothing unless a clock was
 * wrong.
 */
function windowEnd(timeMs: number, spanMs: number, ascending: boolean, nowMs: number): string {
  if (!ascending) return spanMs >= timeMs ? LOWEST_UUID : firstUuidAt(timeMs - spanMs)
  return timeMs + spanMs >= nowMs ? HIGHEST_UUID : firstUuidAt(timeMs + spanMs)
}

function nearer(a: string, b: string, ascending: boolean): string {
  return a < b === ascending ? a : b
}

/**
 * The time of the first row, from one look-up per tenant. Ascending windows begin there, because earlier years may be
 * empty.
 */
async function findOldestMs(
  db: Pick<Db, 'query'>,
  { table, id }: RowTable,
  { indexed }: RowFilter,
  edge: string,
  end: string,
): Promise<number> {
  const column = raw(`r.${id}`)
  const [row] = await db.query<{ id: string }>(sql`
    select r.id from tenants t cross join lateral (
      select ${column} as id from ${raw(table)} r where r.tenant_id = t.tenant_id and ${column} > ${edge} and ${column} < ${end} ${and(indexed)}
      order by ${column} limit 1) r
    order by r.id limit 1`)
  return row === undefined ? 0 : timeOfUuid(row.id)
}

/** False if there are no rows before this time; the list then does not offer to search further back. */
async function hasOlder(db: Pick<Db, 'query'>, rows: RowTable, filter: RowFilter, timeMs: number): Promise<boolean> {
  return (await findOldestMs(db, rows, filter, LOWEST_UUID, firstUuidAt(timeMs))) > 0
}

interface Window {
  ascending: boolean
  /** Exclusive. */
  edge: string
  /** Inclusive. */
  stop: string
  limit: number
  /** The maximum number of rows read per tenant. */
  perTenant: number
}

/**
 * Reads one window. `cut` is set if a tenant has more rows in the window than were read: the id at which reading stopped
 * for the first such tenant.
 */
async function readWindow(
  db: Pick<Db, 'query'>,
  { table, id }: RowTable,
  { tenantId, indexed, others }: RowFilter,
  { ascending, edge, stop, limit, perTenant }: Window,
): Promise<{ read: number; cut: string | null; keys: RowKey[] }> {
  const column = raw(`r.${id}`)
  const [direction, first, last] = [ascending ? 'asc' : 'desc', ascending ? 'min' : 'max', ascending ? 'max' : 'min']
  const range = ascending
    ? sql`${column} > ${edge} and ${column} <= ${stop}`
    : sql`${column} < ${edge} and ${column} >= ${stop}`
  // The limit per tenant keeps the planner from joining whole tables instead of using the index.
  const [row] = await db.query<{ read: number; cut: string | null; keys: [string, string][] }>(sql`
    with seen as materialized (
      select t.tenant_id, r.id, r.matches from tenants t cross join lateral (
        select ${column} as id, ${matches(others)} as matches from ${raw(table)} r
        where r.tenant_id = t.tenant_id and ${range} ${and(indexed)}
        order by ${column} ${raw(direction)} limit ${perTenant}) r
      ${tenantId === null ? empty : sql`where t.tenant_id = ${tenantId}`}
    ), cut as (
      select ${raw(first)}(last)::uuid as id from (
        select ${raw(last)}(id::text) as last from seen group by tenant_id having count(*) = ${perTenant}) ends
    )
    select (select count(*)::int from seen) as read, cut.id as cut,
           (select coalesce(json_agg(json_build_array(k.tenant_id, k.id) order by k.id ${raw(direction)}), '[]') from (
             select s.tenant_id, s.id from seen s
             where s.matches and (cut.id is null or s.id ${raw(ascending ? '<=' : '>=')} cut.id)
             order by s.id ${raw(direction)} limit ${limit}) k) as keys
    from cut`)
  return { ...row!, keys: row!.keys.map(([tenantId, id]) => ({ tenantId, id })) }
}

async function findSorted(
  db: Pick<Db, 'query'>,
  rows: RowTable,
  filter: RowFilter,
  { by, ascending = false, after, limit }: RowPage & { by: readonly string[] },
): Promise<FoundKeys> {
  const direction = raw(ascending ? 'asc' : 'desc')
  const names = [...by.map((_, i) => `s.k${i}`), 's.id']
  const ordered = join(names.map((name) => sql`${raw(name)} ${direction}`))
  const position =
    after === undefined ? empty : sql`and (${raw(names.join())}) ${raw(ascending ? '>' : '<')} (${join(after)})`
  const [row] = await db.query<{ read: number; matching: number; keys: string[][] }>(sql`
    with seen as materialized (${readable(
      rows,
      filter,
      by.map((expression, i) => `${expression} as k${i}`),
    )})
    select (select count(*)::int from seen) as read, (select count(*)::int from seen s where s.matches) as matching,
           (select coalesce(json_agg(json_build_array(s.tenant_id, ${raw(names.map((name) => `${name}::text`).join())})
                                     order by ${ordered}), '[]')
            from (select * from seen s where s.matches ${position} order by ${ordered} limit ${limit + 1}) s) as keys`)
  const { read, matching, keys } = row!
  if (read > readMax(filter) || matching > COUNTED_ROWS_MAX) throw tooManyToSort()
  const page = keys.slice(0, limit)
  return {
    keys: page.map((key) => ({ tenantId: key[0]!, id: key.at(-1)! })),
    next: keys.length > limit ? page.at(-1)!.slice(1) : null,
    searchedTo: null,
  }
}

function tooManyToSort(): Refusal {
  const message = `More than ${COUNTED_ROWS_MAX.toLocaleString('en')} rows match, so they cannot be sorted by this column.`
  return new Refusal(409, 'TOO_MANY_TO_SORT', `${message} Narrow the filter, or sort by time.`)
}

/** Counts the matching rows and sums the column `amount` per currency, if there are at most COUNTED_ROWS_MAX. */
export async function countRows(
  db: Pick<Db, 'query'>,
  rows: RowTable,
  filter: RowFilter,
  amount?: string,
): Promise<RowCount> {
  const columns = amount === undefined ? [] : ['r.currency_code as currency', `${amount} as amount`]
  const sums = raw(
    amount === undefined
      ? `'[]'::json`
      : `(select coalesce(json_agg(json_build_array(currency, amount) order by currency), '[]')
          from (select currency, sum(amount)::text as amount from seen where matches group by currency) sums)`,
  )
  const [row] = await db.query<{ read: number; matching: number; sums: [string, string][] }>(sql`
    with seen as materialized (${readable(rows, filter, columns)})
    select count(*)::int as read, (count(*) filter (where matches))::int as matching, ${sums} as sums from seen`)
  const { read, matching } = row!
  const counted = countOf(matching, row!.sums)
  return read <= readMax(filter) ? counted : { ...counted, isComplete: false, sums: [] }
}

/** More rows may be read if not all of them may match. */
const readMax = ({ others }: RowFilter) => (others?.length ? READ_ROWS_MAX : COUNTED_ROWS_MAX)

/**
 * The rows that match the indexed conditions, in any order. Selects one more than may be read, to notice that there are
 * more.
 */
function readable({ table, id }: RowTable, filter: RowFilter, columns: readonly string[]): Sql {
  const { tenantId, indexed, others, from, to } = filter
  const column = raw(`r.${id}`)
  const max = readMax(filter) + 1
  const selected = raw(columns.map((one) => `, ${one}`).join(''))
  return sql`
    select t.tenant_id, r.* from tenants t cross join lateral (
      select ${column} as id, ${matches(others)} as matches${selected} from ${raw(table)} r
      where r.tenant_id = t.tenant_id ${and(indexed)}
        ${from === undefined ? empty : sql`and ${column} >= ${firstUuidAt(from.getTime())}`}
        ${to === undefined ? empty : sql`and ${column} < ${firstUuidAt(to.getTime())}`}
      limit ${max}) r
    ${tenantId === null ? empty : sql`where t.tenant_id = ${tenantId}`} limit ${max}`
}

function and(conditions: readonly Sql[] | undefined): Sql {
  return conditions?.length ? sql`and ${join(conditions, ' and ')}` : empty
}

function matches(conditions: readonly Sql[] | undefined): Sql {
  return conditions?.length ? sql`coalesce(${join(conditions, ' and ')}, false)` : raw('true')
}
