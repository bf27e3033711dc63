import type { Clock } from '@dealer-esim/lib/clock.ts'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import { plainArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { type LoopDeps, type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import sql from 'sql-template-tag'
import { unfinishedOrders } from '#orders/reading/list-unfinished.ts'
import { isMoving } from '#platform/held-tenants.ts'
import { CELLS_OF_DAY, outcomeOfCell, startOfCell } from './order-cells.ts'
import { dayOf, PURCHASE_SUMS, SUMS, SUMS_OF_DAY } from './sums-of-rows.ts'

/*
 * Daily sales are derived from the rows of orders, without a write on the order path. A tenant's day is dirty, and is
 * recalculated as a whole, if
 *
 *   - a transfer refers to one of its orders: the order was placed, or part of it was refunded. Wallet versions have
 *     no gaps and commit in order, so the transfers after sales_progress.wallet_version are all that have been added
 *     since, however long their transactions took;
 *   - the digest of its orders that are not final has changed: something was delivered or refused, or an order has
 *     become final. Each such change increases event_sequence or refunded_amount, so a digest never recurs.
 *
 * A final order changes only through a refund, which is a transfer. No clock is involved. Anything that commits after a
 * statement here has read its tables is found by the next pass, because versions and digests are read before the rows.
 */

/**
 * How many tenants a transaction of `markDirtyDays` covers, and how many transfers of each. Ten million rows take half of
 * the statement timeout.
 */
const MARKED_MAX = 50
const TRANSFERS_MAX = 200_000
/**
 * How many tenant days a transaction of `calculateDays` covers, each in one statement. A day with 500 000 items takes a few
 * seconds.
 */
const CALCULATED_MAX = 20

/** Brings the sums up to date with the rows. @returns false if another node is already doing so */
export async function updateSales(db: Db, signal?: AbortSignal): Promise<boolean> {
  let after: string | undefined
  do {
    const marked = await db.tx((tx) => withLock(tx, () => markDirtyDays(tx, after)))
    if (marked === undefined) return false
    after = marked.last
  } while (after !== undefined && !signal?.aborted)
  for (let days = CALCULATED_MAX; days === CALCULATED_MAX && !signal?.aborted; ) {
    const calculated = await db.tx((tx) => withLock(tx, () => calculateDays(tx)))
    if (calculated === undefined) return false
    days = calculated
  }
  return true
}

/**
 * Subtracts the sales of these tenants from the sums over all tenants. The caller deletes the tenants' own rows in the same
 * transaction.
 */
export async function subtractTenants(tx: Tx, tenantIds: readonly string[]): Promise<void> {
  await tx.query({ text: `select pg_advisory_xact_lock(${advisoryKey('daily sales')})` })
  const days = await tx.query<{ tenantId: string; day: string }>(sql`
    select distinct tenant_id, day::text from daily_sales where tenant_id = any (${tenantIds})`)
  const pairs = [uuidArray(days.map(({ tenantId }) => tenantId)), plainArray(days.map(({ day }) => day))]
  for (const add of ADD_OVER_TENANTS) tx.send({ text: add('-'), values: pairs })
  for (const text of DELETE_EMPTY) tx.send({ text, values: pairs })
}

/** Ensures that only one writer runs at a time across all nodes. */
async function withLock<Result>(tx: Tx, work: () => Promise<Result>): Promise<Result | undefined> {
  const [row] = await tx.query<{ locked: boolean }>({
    text: `select pg_try_advisory_xact_lock(${advisoryKey('daily sales')}) as locked`,
  })
  return row?.locked ? work() : undefined
}

interface Progress {
  tenantId: string
  /** The wallet's current version, or the version of the last transfer to read in this pass. */
  version: bigint
  seen: bigint
  openDays: Record<string, string>
  dirtyDays: string[]
}

/**
 * Records the dirty days of the next tenants, by id.
 * @returns the last of these tenants; undefined: there are no more
 */
async function markDirtyDays(tx: Tx, after: string | undefined): Promise<{ last: string | undefined }> {
  // Reads the short rows of all wallets; an idle tenant costs no more than that.
  const tenants = await tx.query<Progress>({
    text: `select w.tenant_id, least(w.version, coalesce(p.wallet_version, 0) + ${TRANSFERS_MAX}) as version,
             coalesce(p.wallet_version, 0) as seen, coalesce(p.open_days, '{}') as open_days,
             coalesce(p.dirty_days::text[], '{}') as dirty_days
           from wallets w left join sales_progress p using (tenant_id)
           where (w.version > coalesce(p.wallet_version, 0) or p.open_days <> '{}')
             and ($1::uuid is null or w.tenant_id > $1) and not ${isMoving('w.tenant_id')}
           order by w.tenant_id limit ${MARKED_MAX}`,
    values: [after ?? null],
  })
  if (tenants.length === 0) return { last: undefined }
  const [moved, open] = await Promise.all([listMovedDays(tx, tenants), listOpenDays(tx, tenants)])
  const rows = tenants.map((tenant) => {
    const openDays = Object.fromEntries(rowsOf(tenant, open).map(({ day, digest }) => [day, digest]))
    const changed = [...Object.keys(openDays), ...Object.keys(tenant.openDays)].filter(
      (day) => openDays[day] !== tenant.openDays[day],
    )
    const dirty = new Set([...tenant.dirtyDays, ...rowsOf(tenant, moved).map(({ day }) => day), ...changed])
    return { tenant, openDays, dirty: [...dirty] }
  })
  tx.send({
    text: `insert into sales_progress (tenant_id, wallet_version, open_days, dirty_days)
           select tenant_id, wallet_version, open_days, array(select jsonb_array_elements_text(dirty_days)::date)
           from jsonb_to_recordset($1::jsonb)
             as p(tenant_id uuid, wallet_version bigint, open_days jsonb, dirty_days jsonb)
           on conflict (tenant_id) do update set wallet_version = excluded.wallet_version,
             open_days = excluded.open_days, dirty_days = excluded.dirty_days`,
    values: [
      JSON.stringify(
        rows.map(({ tenant, openDays, dirty }) => ({
          ...{ tenant_id: tenant.tenantId, wallet_version: String(tenant.version) },
          ...{ open_days: openDays, dirty_days: dirty },
        })),
      ),
    ],
  })
  return { last: tenants.length < MARKED_MAX ? undefined : tenants.at(-1)!.tenantId }
}

function rowsOf<Row extends { tenantId: string }>({ tenantId }: Progress, rows: readonly Row[]): Row[] {
  return rows.filter((row) => row.tenantId === tenantId)
}

/** The days of the orders that transfers since the last pass refer to. */
function listMovedDays(tx: Tx, tenants: readonly Progress[]) {
  return tx.query<{ tenantId: string; day: string }>({
    text: `select distinct t.tenant_id, ${dayOf('m.order_id')} as day
           from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as t(tenant_id, seen, version)
           join transfers m on m.tenant_id = t.tenant_id and m.wallet_version > t.seen and m.wallet_version <= t.version
           where m.order_id is not null`,
    values: [
      uuidArray(tenants.map(({ tenantId }) => tenantId)),
      plainArray(tenants.map(({ seen }) => seen)),
      plainArray(tenants.map(({ version }) => version)),
    ],
  })
}

/** A digest of each day's orders that are not final: those due for fulfilment or under review. */
function listOpenDays(tx: Tx, tenants: readonly Progress[]) {
  return tx.query<{ tenantId: string; day: string; digest: string }>({
    text: `select o.tenant_id, ${dayOf('o.order_id')} as day,
             sum(hashtextextended(o.order_id || ' ' || o.event_sequence || ' ' || o.refunded_amount, 0))::text as digest
           from unnest($1::uuid[]) as t(tenant_id)
           cross join lateral (
             ${unfinishedOrders('tenant_id = t.tenant_id')}
           ) o
           group by 1, 2`,
    values: [uuidArray(tenants.map(({ tenantId }) => tenantId))],
  })
}

const DAY_MS = 86_400_000

/** Calculates dirty days from the rows, and replaces their sums. @returns the number of days */
async function calculateDays(tx: Tx): Promise<number> {
  const days = await tx.query<{ tenantId: string; day: string }>({
    text: `select tenant_id, unnest(dirty_days)::text as day from sales_progress where dirty_days <> '{}'
           limit ${CALCULATED_MAX}`,
  })
  if (days.length === 0) return 0
  const pairs = [uuidArray(days.map(({ tenantId }) => tenantId)), plainArray(days.map(({ day }) => day))]
  for (const add of [...ADD_OVER_TENANTS, addToMonths]) tx.send({ text: add('-'), values: pairs })
  for (const table of ['daily_sales', 'daily_sales_tenants', 'daily_sales_tenant_suppliers', 'daily_orders']) {
    tx.send({
      text: `delete from ${table} s using ${PAIRS} where s.tenant_id = d.tenant_id and s.day = d.day`,
      values: pairs,
    })
  }
  for (const { tenantId, day } of days) {
    const startMs = Date.parse(`${day}T00:00:00Z`)
    const values = [tenantId, day, firstUuidAt(startMs), firstUuidAt(startMs + DAY_MS)]
    tx.send({ name: 'sales-calculate', text: `insert into daily_sales ${SUMS_OF_DAY}`, values })
    tx.send({ name: 'sales-orders', text: INSERT_CELLS, values })
  }
  for (const text of INSERT_SUMS_OF_TENANTS) tx.send({ text, values: pairs })
  for (const add of [...ADD_OVER_TENANTS, addToMonths]) tx.send({ text: add('+'), values: pairs })
  for (const text of DELETE_EMPTY) tx.send({ text, values: pairs })
  tx.send({
    text: `update sales_progress p set dirty_days = array(
             select day from unnest(p.dirty_days) as day
             where not exists (select from ${PAIRS} where d.tenant_id = p.tenant_id and d.day = day))
           where p.tenant_id = any ($1::uuid[])`,
    values: pairs,
  })
  return days.length
}

// A distributed schema turns the shorter `insert … select` into invalid SQL if the select casts text to a time.
const INSERT_CELLS = `with cells as materialized (${CELLS_OF_DAY}) insert into daily_orders select * from cells`

const PAIRS = 'unnest($1::uuid[], $2::date[]) as d(tenant_id, day)'
const DELETE_EMPTY = [
  `delete from daily_purchases s using ${PAIRS} where s.day = d.day and items = 0`,
  `delete from daily_sales_packages s using ${PAIRS} where s.day = d.day and items = 0`,
  `delete from monthly_sales_tenants s using ${PAIRS}
   where s.tenant_id = d.tenant_id and s.month = date_trunc('month', d.day::timestamp)::date and items = 0`,
  `delete from order_quarter_hours q using ${PAIRS}
   where q.starts_at >= d.day::timestamp at time zone 'utc' and q.starts_at < (d.day + 1)::timestamp at time zone 'utc'
     and q.orders = 0 and q.amount = 0`,
]

/** Statements that sum a tenant's day over the columns that the tenant's coarser tables do not have. */
const INSERT_SUMS_OF_TENANTS = [
  ['daily_sales_tenants', 's.order_type, s.currency_code'],
  ['daily_sales_tenant_suppliers', 's.order_type, s.supplier, s.currency_code'],
].map(
  ([table, members]) => `
    insert into ${table}
    select s.tenant_id, s.day, ${members}, ${summed(SUMS, '+')}
    from ${PAIRS} join daily_sales s on s.tenant_id = d.tenant_id and s.day = d.day
    group by s.tenant_id, s.day, ${members}`,
)

/* Each statement adds the sums of these tenant days to coarser sums (`p`), or subtracts them. */
type Sign = '+' | '-'

function summed(sums: readonly string[], sign: Sign): string {
  return sums.map((name) => `${sign}sum(s.${name})`).join(', ')
}

function addTo(key: string, sums: readonly string[]): string {
  return `on conflict (${key}) do update set ${sums.map((name) => `${name} = p.${name} + excluded.${name}`).join(', ')}`
}

const addToPackages = (sign: Sign) => `
  insert into daily_sales_packages as p
  select s.day, s.order_type, s.package_code, s.supplier, s.currency_code, ${summed(SUMS, sign)}
  from ${PAIRS} join daily_sales s on s.tenant_id = d.tenant_id and s.day = d.day
  group by 1, 2, 3, 4, 5
  ${addTo('day, order_type, package_code, supplier, currency_code', SUMS)}`

const addToPurchases = (sign: Sign) => `
  insert into daily_purchases as p
  select s.day, s.asked_supplier, s.outcome, s.currency_code, s.cost_currency, ${summed(PURCHASE_SUMS, sign)}
  from ${PAIRS} join daily_sales s on s.tenant_id = d.tenant_id and s.day = d.day
  where s.outcome <> 'OPEN'
  group by 1, 2, 3, 4, 5
  ${addTo('day, supplier, outcome, currency_code, cost_currency', PURCHASE_SUMS)}`

const addToMonths = (sign: Sign) => `
  insert into monthly_sales_tenants as p
  select s.tenant_id, date_trunc('month', s.day::timestamp)::date, s.order_type, s.currency_code, ${summed(SUMS, sign)}
  from ${PAIRS} join daily_sales_tenants s on s.tenant_id = d.tenant_id and s.day = d.day
  group by 1, 2, 3, 4
  ${addTo('tenant_id, month, order_type, currency_code', SUMS)}`

const addToQuarterHours = (sign: Sign) => `
  insert into order_quarter_hours as q
  select ${startOfCell('o.day', 'c.cell')}, ${outcomeOfCell('c.cell')}, o.currency_code,
    ${sign}sum(c.orders), ${sign}sum(c.amount)
  from ${PAIRS} join daily_orders o on o.tenant_id = d.tenant_id and o.day = d.day,
    unnest(o.cells, o.orders, o.amounts) as c(cell, orders, amount)
  group by 1, 2, 3
  on conflict (starts_at, outcome, currency_code) do update set orders = q.orders + excluded.orders,
    amount = q.amount + excluded.amount`

/** Statements that add to, or subtract from, sums over all tenants. */
const ADD_OVER_TENANTS = [addToPackages, addToPurchases, addToQuarterHours]

interface SalesLoopDeps extends LoopDeps {
  db: Db
  clock: Pick<Clock, 'monotonic'>
}

const POLL_MS = 5_000
/**
 * After a pass of one second the loop rests for half a minute, so sums use at most 3 % of one connection, however high the
 * sales are.
 */
const REST_FACTOR = 30

/** Keeps the daily sales up to date. The loop runs on every node, but only one node at a time does the work. */
export function salesLoop(deps: SalesLoopDeps): Running {
  let restsUntilMs = 0
  return runLoop(deps, 'daily sales', POLL_MS, async (signal) => {
    const startedMs = deps.clock.monotonic()
    if (startedMs < restsUntilMs) return false
    await updateSales(deps.db, signal)
    const endedMs = deps.clock.monotonic()
    restsUntilMs = endedMs + REST_FACTOR * (endedMs - startedMs)
  })
}
