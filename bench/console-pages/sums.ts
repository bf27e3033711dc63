import { PURCHASE_SUMS, SUMS } from '@dealer-esim/gateway/sales/sums-of-rows.ts'
import { updateSales } from '@dealer-esim/gateway/sales/update-sales.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/** The tables of sums. */
export const SUM_TABLES = [
  'daily_sales',
  'daily_sales_tenants',
  'daily_sales_tenant_suppliers',
  'monthly_sales_tenants',
  'daily_sales_packages',
  'daily_purchases',
  'daily_orders',
  'order_quarter_hours',
]
/** Days of tenants that the job calculates again. */
const CHECKED_DAYS = 500

const IS_REFUNDED = `(order_status in ('FAILED', 'CANCELLED') or order_status = 'PARTIALLY_DELIVERED' and i = items)`
const DAY = `(at at time zone 'utc')::date`
const sumOf = (from: string, key: string) =>
  `select ${key}, order_type, currency_code, ${SUMS.map((name) => `sum(${name})`).join()} from ${from} group by ${key}, order_type, currency_code`

/** The sums that the job keeps, from the drawn sales: as the job, which takes hours for a year of ten thousand dealers. */
const FILL = [
  ...SUM_TABLES.map((table) => `truncate ${table}`),
  `insert into daily_sales
   select tenant_id, day, order_type, package_code, supplier, currency_code, outcome,
     case when outcome = 'OPEN' then '' else asked end, case when outcome = 'OPEN' or own_cost is null then '' else 'USD' end,
     count(*), sum(price), sum(refund), coalesce(sum(cost), 0), count(*) filter (where cost is null),
     coalesce(sum(price - refund) filter (where cost is null), 0), count(own_cost) filter (where outcome = 'DELIVERED'),
     coalesce(sum(own_cost) filter (where outcome = 'DELIVERED'), 0), 0, 0
   from (
     select d.tenant_id, ${DAY} as day, case when is_top_up then 'TOPUP' else 'NEW' end as order_type, package_code, t.currency_code,
       45000 as price, case when ${IS_REFUNDED} then 45000 else 0 end as refund,
       case when ${IS_REFUNDED} or order_status = 'UNDER_REVIEW' then '' else supplier end as supplier, supplier as asked,
       case when ${IS_REFUNDED} then 'REFUSED' when order_status = 'UNDER_REVIEW' then 'OPEN' else 'DELIVERED' end as outcome,
       case when n % 50 > 0 then 30000 end as own_cost,
       case when ${IS_REFUNDED} then 0 when order_status = 'UNDER_REVIEW' then null
         when n % 50 > 0 and t.currency_code = 'USD' then 30000 end as cost
     from bench_sales join bench_dealers d using (dealer) join tenants t using (tenant_id), generate_series(1, items) i) sold
   group by 1, 2, 3, 4, 5, 6, 7, 8, 9 order by 2, 1`,
  `insert into daily_sales_tenants ${sumOf('daily_sales', 'tenant_id, day')} order by day, tenant_id`,
  `insert into daily_sales_tenant_suppliers
   select tenant_id, day, order_type, supplier, currency_code, ${SUMS.map((name) => `sum(${name})`).join()}
   from daily_sales group by 1, 2, 3, 4, 5 order by 2, 1`,
  `insert into monthly_sales_tenants ${sumOf(`(select *, date_trunc('month', day)::date as month from daily_sales_tenants) s`, 'tenant_id, month')} order by month, tenant_id`,
  `insert into daily_sales_packages select day, order_type, package_code, supplier, currency_code, ${SUMS.map((name) => `sum(${name})`).join()}
   from daily_sales group by 1, 2, 3, 4, 5 order by 1`,
  `insert into daily_purchases select day, asked_supplier, outcome, currency_code, cost_currency,
     ${PURCHASE_SUMS.map((name) => `sum(${name})`).join()}
   from daily_sales where outcome <> 'OPEN' group by 1, 2, 3, 4, 5 order by 1`,
  `insert into daily_orders
   select d.tenant_id, day, currency_code, array_agg(cell order by cell), array_agg(orders order by cell), array_agg(amount order by cell)
   from (
     select dealer, day, cell, count(*) as orders, sum(amount) as amount from (
       select dealer, ${DAY} as day, (items - case when order_status in ('FAILED', 'CANCELLED') then items when order_status = 'PARTIALLY_DELIVERED' then 1 else 0 end) * 45000 as amount,
         floor(extract(epoch from at) / 900)::bigint % 96 * 128 + case when order_status in ('FAILED', 'CANCELLED') then 1
           when order_status = 'UNDER_REVIEW' then 0 else 2 + ceil(ln((200 + n % 4000)::float8) / ln(2::float8) * 2) end::int as cell
       from bench_sales) c group by 1, 2, 3) c
   join bench_dealers d using (dealer) join tenants t using (tenant_id) group by 1, 2, 3 order by 2, 1`,
  `insert into order_quarter_hours
   select (o.day::timestamp + c.cell / 128 * interval '15 minutes') at time zone 'utc', c.cell % 128, o.currency_code, sum(c.orders), sum(c.amount)
   from daily_orders o, unnest(o.cells, o.orders, o.amounts) as c(cell, orders, amount) group by 1, 2, 3 order by 1`,
  `insert into sales_progress select tenant_id, version, '{}', '{}' from wallets
   on conflict (tenant_id) do update set wallet_version = excluded.wallet_version, open_days = '{}', dirty_days = '{}'`,
]

export async function fillSums(db: Db): Promise<void> {
  for (const text of FILL) {
    await db.tx(async (tx) => {
      tx.send({ text: `set local work_mem = '512MB'` })
      await tx.query({ text })
    })
  }
  for (const table of [...SUM_TABLES, 'sales_progress']) await db.query({ text: `vacuum analyze ${table}` })
}

/** Lets the job calculate some days again. @throws Error if that changes a sum */
export async function checkSums(db: Db): Promise<void> {
  const digests = async () => {
    const rows: unknown[] = []
    for (const table of SUM_TABLES)
      rows.push(
        ...(await db.query({
          text: `select '${table}' as table, count(*)::int as rows, sum(hashtextextended(r::text, 0)) as digest from ${table} r`,
        })),
      )
    return JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  }
  const before = await digests()
  await db.query({
    text: `update sales_progress p set dirty_days = d.days from (
             select tenant_id, array_agg(day) as days from (
               select tenant_id, day from daily_orders tablesample system (1) limit ${CHECKED_DAYS}) s group by 1) d
           where p.tenant_id = d.tenant_id`,
  })
  await updateSales(db)
  const after = await digests()
  if (after !== before)
    throw new Error(`The job's sums differ from those of the generated history:\n${before}\n${after}`)
}
