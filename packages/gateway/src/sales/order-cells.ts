import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql, { raw, type Sql } from 'sql-template-tag'

/*
 * Orders are counted by quarter hour, outcome and delivery time. Delivery times are sorted into classes, two per doubling,
 * so that the counts of many orders can be added up. A percentile is interpolated within its class, whose limits differ by
 * a factor of 1.41.
 * The counts of a UTC day are stored by cell, a number: quarter hour * OUTCOMES + outcome.
 */

const FAILED = 1
/** The first class of delivery times: up to 1 ms. */
const DELIVERED = 2
const CLASSES_PER_DOUBLING = 2
const OUTCOMES = 128

/** SQL: the start of a cell's quarter hour on a UTC day. */
export const startOfCell = (day: string, cell: string) =>
  `(${day}::timestamp + ${cell} / ${OUTCOMES} * interval '15 minutes') at time zone 'utc'`
/** SQL: the outcome of a cell, with its class of delivery times. */
export const outcomeOfCell = (cell: string) => `${cell} % ${OUTCOMES}`

const TIME_MS = `extract(epoch from (status_history -> -1 ->> 'time')::timestamptz - created_at)::float8 * 1000`
const OUTCOME = `case
    when order_status in ('FAILED', 'CANCELLED') then ${FAILED}
    when order_status in ('DELIVERED', 'PARTIALLY_DELIVERED') then
      least(${OUTCOMES - 1}, ${DELIVERED} + ceil(ln(greatest(1, ${TIME_MS})) / ln(2::float8) * ${CLASSES_PER_DOUBLING}))
    else 0
  end`
/** SQL: the quarter hour of an order, from its id, a UUIDv7. */
const QUARTER_HOUR = `('x' || left(replace(order_id::text, '-', ''), 12))::bit(48)::bigint / 900000 % 96`

/** The row of daily_orders for tenant $1 on day $2, whose order ids are from $3 up to $4. */
export const CELLS_OF_DAY = `
  select $1::uuid, $2::date, currency_code, array_agg(cell order by cell), array_agg(orders order by cell),
    array_agg(amount order by cell)
  from (
    select currency_code, cell, count(*)::int as orders, sum(amount - refunded_amount)::bigint as amount
    from (
      select currency_code, (${QUARTER_HOUR} * ${OUTCOMES} + ${OUTCOME})::smallint as cell, amount, refunded_amount
      from orders where tenant_id = $1 and order_id >= $3::uuid and order_id < $4::uuid) o
    group by 1, 2) c
  group by 3`

/** The orders of a period, in parts that begin at its starts. */
export interface OrderPart {
  /** The index of its start, from 0. */
  part: number
  orders: number
  delivered: number
  failed: number
  /** Times from order to delivery, estimated from their classes. */
  p50Ms: number | null
  p95Ms: number | null
  /** Sales less refunds. */
  amounts: { currencyCode: string; amount: bigint }[]
}

/**
 * Counts the orders of one tenant or of all tenants.
 * @param starts ascending quarter hours: each part ends at the start of the next, and the last at `end`
 */
export async function listOrderParts(
  db: Pick<Db, 'query'>,
  { tenantId, starts, end }: { tenantId: string | null; starts: readonly Date[]; end?: Date | undefined },
): Promise<OrderPart[]> {
  const [first] = starts
  if (first === undefined) return []
  const cells = tenantId === null ? cellsOfAll(first, end) : cellsOfTenant(tenantId, first, end)
  const rows = await db.query<CellRow>(sql`
    select width_bucket(starts_at, ${[...starts]}::timestamptz[]) - 1 as part, outcome, currency_code,
      sum(orders)::int as orders, sum(amount)::bigint as amount
    from (${cells}) c where starts_at >= ${first} and starts_at < ${end ?? 'infinity'}::timestamptz
    group by 1, 2, 3 order by 1, 2, 3`)
  const parts = new Map<number, CellRow[]>()
  for (const row of rows) parts.set(row.part, [...(parts.get(row.part) ?? []), row])
  return [...parts].map(([part, cells]) => {
    const sumOf = (outcomes: CellRow[]) => outcomes.reduce((sum, row) => sum + row.orders, 0)
    const delivered = cells.filter(({ outcome }) => outcome >= DELIVERED)
    return {
      part,
      orders: sumOf(cells),
      delivered: sumOf(delivered),
      failed: sumOf(cells.filter(({ outcome }) => outcome === FAILED)),
      p50Ms: percentileOf(delivered, 0.5),
      p95Ms: percentileOf(delivered, 0.95),
      amounts: amountsOf(cells),
    }
  })
}

interface CellRow {
  part: number
  outcome: number
  currencyCode: string
  orders: number
  amount: bigint
}

function cellsOfAll(first: Date, end: Date | undefined): Sql {
  return sql`select starts_at, outcome, currency_code, orders, amount from order_quarter_hours
    where starts_at >= ${first} and starts_at < ${end ?? 'infinity'}::timestamptz`
}

function cellsOfTenant(tenantId: string, first: Date, end: Date | undefined): Sql {
  return sql`
    select ${raw(startOfCell('o.day', 'c.cell'))} as starts_at, ${raw(outcomeOfCell('c.cell'))} as outcome, o.currency_code,
      c.orders, c.amount
    from daily_orders o, unnest(o.cells, o.orders, o.amounts) as c(cell, orders, amount)
    where o.tenant_id = ${tenantId} and o.day >= (${first}::timestamptz at time zone 'utc')::date
      and o.day <= (${end ?? 'infinity'}::timestamptz at time zone 'utc')::date`
}

function amountsOf(cells: readonly { currencyCode: string; amount: bigint }[]): OrderPart['amounts'] {
  const amounts = new Map<string, bigint>()
  for (const { currencyCode, amount } of cells) amounts.set(currencyCode, (amounts.get(currencyCode) ?? 0n) + amount)
  return [...amounts].sort().map(([currencyCode, amount]) => ({ currencyCode, amount }))
}

function percentileOf(delivered: readonly { outcome: number; orders: number }[], share: number): number | null {
  const classes = new Map<number, number>()
  for (const { outcome, orders } of delivered) classes.set(outcome, (classes.get(outcome) ?? 0) + orders)
  let left = share * [...classes.values()].reduce((sum, orders) => sum + orders, 0)
  for (const [outcome, orders] of classes) {
    const [fromMs, toMs] = [limitMs(outcome - 1), limitMs(outcome)]
    if (left <= orders) return Math.round(fromMs + ((toMs - fromMs) * left) / orders)
    left -= orders
  }
  return null
}

/** The longest time in a class. */
function limitMs(outcome: number): number {
  return outcome < DELIVERED ? 0 : 2 ** ((outcome - DELIVERED) / CLASSES_PER_DOUBLING)
}
