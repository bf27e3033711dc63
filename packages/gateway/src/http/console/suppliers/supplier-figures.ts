import { orderNoOf } from '@dealer-esim/contract'
import { firstUuidAt, LATEST_IDS_MS, timeOfId } from '@dealer-esim/lib/ids.ts'
import sql, { raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { sentence } from '#people/languages/translate-answer.ts'
import { listPriceDifferences } from '#suppliers/supplier-prices.ts'
import { OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, nullable, time } from '../kernel/route-schemas.ts'

const count = () => Type.Integer({ minimum: 0 })
const duration = () => nullable(Type.Integer({ description: 'ms; null: nothing was purchased' }))

const figures = Type.Object({
  succeeded: count(),
  refused: count(),
  retried: count(),
  unknown: count(),
  p50_ms: duration(),
  p95_ms: duration(),
  costs: Type.Array(
    Type.Object({
      currencyCode: Type.String(),
      delivered: count(),
      spent: Type.Integer({
        description: 'What the supplier charged; where it did not state that, the cost in the catalogue',
      }),
      stated: Type.Integer({ description: 'Deliveries whose charge and cost are both known in this currency' }),
      charged: Type.Integer({ description: 'Their charges' }),
      expected: Type.Integer({ description: 'Their costs in the catalogue' }),
    }),
    { description: 'Deliveries of the last 24 hours, by currency' },
  ),
  priceDifferences: Type.Array(
    Type.Object({
      packageCode: Type.String(),
      productCode: Type.String(),
      price: Type.Integer({ description: 'What the supplier last charged' }),
      cost: Type.Integer({ description: 'In the catalogue' }),
      currencyCode: Type.String(),
      seenAt: time(),
    }),
    { description: 'Packages on sale whose cost differs from the price of the latest purchase' },
  ),
  errors: Type.Array(
    Type.Object({
      time: time(),
      tenantId: Type.String(),
      orderNo: Type.String(),
      operation: Type.String(),
      outcome: Type.String(),
      message: nullable(sentence()),
    }),
    { description: 'The latest first' },
  ),
})
export type SupplierFigures = Static<typeof figures>

const DAY_MS = 86_400_000
const ERRORS_SHOWN = 10
const DIFFERENCES_SHOWN = 20

/**
 * SQL: the finished attempts of the supplier in a period. Attempts of all tenants are stored in order of time, so an index of
 * page ranges (BRIN) finds them: it reads 1 054 pages for a day with 32 000 attempts. A look-up per tenant took three times as
 * long with 10 000 tenants. The period has an end, so that partitions that were created ahead are not read.
 */
const attemptsOf = (supplier: string, { since, until }: { since: string; until: string }) => sql`
  select tenant_id, attempt_id, order_id, item_no, operation, outcome, message, started_at, finished_at from supplier_attempts
  where attempt_id >= ${since} and attempt_id < ${until} and supplier = ${supplier} and finished_at is not null`

/**
 * SQL: what the delivered items cost, in 1/10 000. The cost of a day pass is that of one day, so its order is read for the
 * number of days. The order of a package with a fixed duration is not read if the package has not changed since the order.
 * Amounts of different currencies are never added or compared. The limit keeps the planner from joining whole tables instead of
 * looking up keys. Looking up keys in their order takes 60 % of the time that it takes unordered.
 */
const costsOf = (attempts: Sql, supplier: string) => sql`
  with delivered as (
    select i.supplier_charge as charge, i.supplier_charge_currency as charge_currency, i.cost_currency, i.cost * o.days as cost
    from (
      select distinct tenant_id, order_id, item_no from (${attempts}) finished where outcome in ('delivered', 'toppedUp')
      order by 1, 2, 3) a
    cross join lateral (
      select * from order_items i where i.tenant_id = a.tenant_id and i.order_id = a.order_id and i.item_no = a.item_no limit 1) i
    left join packages p using (package_code)
    cross join lateral (
      select case when p.period_num_min is null and p.touched_at < ${hourBeforeOrder} then 1 else (
        select coalesce((package_lines -> i.line_no ->> 'periodNum')::int, 1) from orders o
        where o.tenant_id = a.tenant_id and o.order_id = a.order_id) end as days) o
    where i.item_status = 'DELIVERED' and i.supplier = ${supplier})
  select coalesce(charge_currency, cost_currency) as currency_code, count(*)::int as delivered,
    coalesce(sum(coalesce(charge, cost)), 0)::bigint as spent,
    count(*) filter (where charge_currency = cost_currency)::int as stated,
    coalesce(sum(charge) filter (where charge_currency = cost_currency), 0)::bigint as charged,
    coalesce(sum(cost) filter (where charge_currency = cost_currency), 0)::bigint as expected
  from delivered where coalesce(charge_currency, cost_currency) is not null group by 1 order by 1`

/** A node may still sell according to a version of the catalogue that another node replaced shortly before the order. */
const hourBeforeOrder = raw(`${timeOfId('i.order_id')} - interval '1 hour'`)

type Costs = Pick<SupplierFigures['costs'][number], 'currencyCode' | 'delivered' | 'stated'>

export const supplierFigureRoutes: Route[] = [
  route('GET /suppliers/:supplier/figures', {
    access: OPERATORS,
    summary:
      'How purchases at a supplier ended in the last 24 hours, how long they took and what they cost, with the last errors',
    params: Type.Object({ supplier: line(64) }, CLOSED),
    answer: figures,
    async handle({ deps }, { params: { supplier } }) {
      const nowMs = deps.databaseClock.now()
      const period = { since: firstUuidAt(nowMs - DAY_MS), until: firstUuidAt(nowMs + LATEST_IDS_MS) }
      const attempts = attemptsOf(supplier, period)
      const [counted, errors, costs, differences] = await Promise.all([
        deps.db.query<
          Omit<SupplierFigures, 'errors' | 'p50_ms' | 'p95_ms'> & Record<'p50Ms' | 'p95Ms', number | null>
        >(sql`
          select count(*) filter (where outcome in ('delivered', 'toppedUp', 'ordered'))::int as succeeded,
            count(*) filter (where outcome = 'refused')::int as refused,
            count(*) filter (where outcome = 'retry')::int as retried,
            count(*) filter (where outcome = 'unknown')::int as unknown,
            round(percentile_cont(0.5) within group (
              order by extract(epoch from finished_at - started_at) * 1000))::int as p50_ms,
            round(percentile_cont(0.95) within group (
              order by extract(epoch from finished_at - started_at) * 1000))::int as p95_ms
          from (${attempts}) finished where operation in ('ORDER', 'TOPUP')`),
        deps.db.query<
          Omit<SupplierFigures['errors'][number], 'orderNo' | 'time'> & { orderId: string; time: Date }
        >(sql`
          select finished_at as time, tenant_id, order_id, operation, outcome, message
          from (${attempts}) finished where outcome in ('refused', 'retry', 'unknown')
          order by attempt_id desc limit ${ERRORS_SHOWN}`),
        deps.db.query<Record<'spent' | 'charged' | 'expected', bigint> & Costs>(costsOf(attempts, supplier)),
        listPriceDifferences(deps.db, { supplier, limit: DIFFERENCES_SHOWN }),
      ])
      const { p50Ms, p95Ms, ...outcomes } = counted[0]!
      return {
        ...outcomes,
        p50_ms: p50Ms,
        p95_ms: p95Ms,
        costs: costs.map(({ spent, charged, expected, ...cost }) => {
          return { ...cost, spent: Number(spent), charged: Number(charged), expected: Number(expected) }
        }),
        priceDifferences: differences.map(({ price, cost, supplier: _, ...rest }) => {
          return { ...rest, price: Number(price), cost: Number(cost) }
        }),
        errors: errors.map(({ orderId, ...error }) => ({ ...error, orderNo: orderNoOf(orderId) })),
      }
    },
  }),
]
