import { firstUuidAt, LATEST_IDS_MS } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import { countLateOrders } from '#fulfilment/review/late-orders.ts'
import { listOrderParts } from '#sales/order-cells.ts'
import { DELIVERY_OF_EVENT, STATE_OF_EVENT } from '#webhooks/delivery-state.ts'
import type { LocalDay } from './local-days.ts'

/*
 * Figures of one tenant or of all. Ids are ordered by time, so events and attempts of a period are a range of each tenant's
 * primary key. They are counted row by row, so only for the latest days, and only as long as those have few orders. Days
 * are those of the reader's time zone (local-days.ts).
 */

type Reader = Pick<Db, 'query'>

interface Scope {
  /** null for all tenants. */
  tenantId: string | null
  /** The days of the period, in order. */
  days: LocalDay[]
  /** When the last day ends; undefined if the last day is today. */
  end?: Date | undefined
}

/** The number of orders on each day that has any, from the sums that a job keeps. */
export async function listOrderDays(db: Reader, { tenantId, days, end }: Scope) {
  const starts = days.map(({ startsAt }) => startsAt)
  const parts = await listOrderParts(db, { tenantId, starts, end })
  return parts.map(({ part, ...figures }) => ({ day: days[part]!.day, ...figures }))
}

const COUNTED_ORDERS_MAX = 20_000

/** The latest days whose events and attempts are counted, possibly none. Depends on how many orders they have. */
export function countedDays(days: LocalDay[], orderDays: readonly { day: string; orders: number }[]): LocalDay[] {
  const ordersOf = new Map(orderDays.map(({ day, orders }) => [day, orders]))
  let [first, orders] = [days.length, 0]
  while (first > 0) {
    orders += ordersOf.get(days[first - 1]!.day) ?? 0
    if (orders > COUNTED_ORDERS_MAX) break
    first--
  }
  return days.slice(first)
}

export interface WebhookDay {
  day: string
  delivered: number
  dead: number
  pending: number
  unsent: number
}

/** The current delivery state of each day's events. Counts the same events as the list of that day, not attempts. */
export function listWebhookDays(db: Reader, { tenantId, days, end }: Scope): Promise<WebhookDay[]> {
  return db.query<WebhookDay>(sql`
    select ${dayOf(days, sql`e.notify_id`)} as day,
           count(*) filter (where delivery_state = 'DELIVERED')::int as delivered,
           count(*) filter (where delivery_state = 'DEAD')::int as dead,
           count(*) filter (where delivery_state = 'PENDING')::int as pending,
           count(*) filter (where delivery_state = 'UNSENT')::int as unsent
    from tenants t
    cross join lateral (
      select e.notify_id, ${raw(STATE_OF_EVENT)} as delivery_state
      from events e ${raw(DELIVERY_OF_EVENT)} and d.notify_id >= ${firstId(days)} and d.notify_id < ${endId(days, end)}
      where e.tenant_id = t.tenant_id and e.notify_id >= ${firstId(days)} and e.notify_id < ${endId(days, end)}) e
    where ${tenantFilter(tenantId)}
    group by 1 order by 1`)
}

export interface SupplierFigures {
  supplier: string
  delivered: number
  refused: number
  unknown: number
  p50Ms: number | null
}

export function listSupplierFigures(
  db: Reader,
  { days, end }: Pick<Scope, 'days' | 'end'>,
): Promise<SupplierFigures[]> {
  return db.query<SupplierFigures>(sql`
    select a.supplier, count(*) filter (where outcome = 'delivered')::int as delivered,
           count(*) filter (where outcome = 'refused')::int as refused,
           count(*) filter (where outcome in ('unknown', 'retry') or outcome is null)::int as unknown,
           round(percentile_cont(0.5) within group (
             order by extract(epoch from finished_at - started_at) * 1000))::int as p50_ms
    from supplier_attempts a
    where a.attempt_id >= ${firstId(days)} and a.attempt_id < ${endId(days, end)} and a.operation = 'ORDER'
    group by 1 order by 1`)
}

export interface Balances {
  currencyCode: string
  tenants: number
  balance: bigint
}

export function listBalances(db: Reader, tenantId: string | null): Promise<Balances[]> {
  return db.query<Balances>(sql`
    select w.currency_code, count(*)::int as tenants, sum(w.balance)::bigint as balance
    from wallets w join tenants t using (tenant_id) where ${tenantFilter(tenantId)} group by 1 order by 2 desc`)
}

export interface Attention {
  underReview: number
  deadEvents: number
  lowBalances: number
  failingEndpoints: number
  lowStock: number
  orphans: number
  adjustments: number
  topUpRequests: number
  failingSuppliers: number
  recoveries: number
  lateOrders: number
}

/** Counts what needs attention. Each count reads a partial index of exactly those rows. */
export async function countAttention(db: Reader, tenantId: string | null): Promise<Attention> {
  const own = tenantId === null ? empty : sql`and tenant_id = ${tenantId}`
  // Stock, orphans, adjustments and top-up requests concern only the operator.
  const operators = tenantId === null ? sql`true` : sql`false`
  const [[row], lateOrders] = await Promise.all([
    db.query<Omit<Attention, 'lateOrders'>>(sql`
    select
      (select count(*)::int from orders where order_status = 'UNDER_REVIEW' ${own}) as under_review,
      (select count(*)::int from deliveries where delivery_state = 'DEAD' ${own}) as dead_events,
      (select count(*)::int from wallets where balance < low_balance_threshold ${own}) as low_balances,
      (select count(*)::int from webhook_endpoints
       where callback_url is not null and (disabled_reason is not null or failing_since is not null) ${own})
        as failing_endpoints,
      (select count(*)::int from stock_levels where available < low_threshold and ${operators}) as low_stock,
      (select count(*)::int from orphans where state = 'FOUND' and ${operators}) as orphans,
      (select count(*)::int from wallet_adjustments
       where adjustment_status = 'PROPOSED' and expires_at > now() and ${operators}) as adjustments,
      (select count(*)::int from top_up_requests where request_status = 'REQUESTED' and ${operators}) as top_up_requests,
      (select count(*)::int from supplier_states join suppliers using (supplier)
       where failure is not null and not paused and ${operators}) as failing_suppliers,
      (select count(*)::int from restores where recovering and ${operators}) as recoveries`),
    countLateOrders(db, tenantId),
  ])
  return { ...row!, lateOrders }
}

function tenantFilter(tenantId: string | null): Sql {
  return tenantId === null ? sql`true` : sql`t.tenant_id = ${tenantId}`
}

/**
 * SQL: the day on which an id was created, which is the last one that starts before it. Lists for a day use the same id
 * ranges.
 */
function dayOf(days: LocalDay[], id: Sql): Sql {
  const starts = days.map(({ startsAt }) => firstUuidAt(startsAt.getTime()))
  return sql`(${days.map(({ day }) => day)}::text[])[width_bucket(${id}, ${starts}::uuid[])]`
}

function firstId(days: LocalDay[]): string {
  return firstUuidAt(days[0]?.startsAt.getTime() ?? 0)
}

/** The end of the period as an id. A period that includes today ends with its last day, which may be up to 25 hours long. */
function endId(days: LocalDay[], end: Date | undefined): string {
  const lastMs = days.at(-1)?.startsAt.getTime() ?? 0
  return firstUuidAt(end?.getTime() ?? lastMs + LONGEST_DAY_MS + LATEST_IDS_MS)
}

const LONGEST_DAY_MS = 25 * 3_600_000
