import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { expect } from 'vitest'
import {
  type Discrepancy,
  listSupplierMonths,
  streamDiscrepancies,
} from '#fulfilment/reconciliation/reconciliation-report.ts'

/* Computes the supplier reports with statements that read every row, and compares them with ours. */

const HOUR_MS = 3_600_000

/** Returns the first moments of last month, this month and next month. */
function months(): [Date, Date, Date] {
  const now = new Date()
  const monthsFrom = (count: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + count))
  return [monthsFrom(-1), monthsFrom(0), monthsFrom(1)]
}

/**
 * Compares the figures for this month and last month with all of their items, while nothing changes and the sums are up to
 * date.
 */
export async function expectMonthsToEqualRows(db: Db): Promise<void> {
  const [last, current, next] = months()
  const expected = [...(await readMonth(db, last, current)), ...(await readMonth(db, current, next))]
  expect(await listSupplierMonths(db, { from: last, to: next })).toEqual(expected)
  const undecided = await db.query<Record<'askedSupplier' | 'costCurrency', string>>({
    text: `select distinct asked_supplier, cost_currency from daily_sales where outcome = 'OPEN'`,
  })
  expect(undecided.filter(({ askedSupplier, costCurrency }) => askedSupplier !== '' || costCurrency !== '')).toEqual([])
}

async function readMonth(db: Db, from: Date, to: Date) {
  const rows = await db.query<Record<string, unknown>>({
    text: `
      select coalesce(i.supplier, '') as supplier, o.currency_code,
        case when i.supplier_charge is null then i.cost_currency else i.supplier_charge_currency end as cost_currency,
        count(*) filter (where i.item_status = 'DELIVERED' and p.esim_status is distinct from 'CANCEL')::int as delivered,
        count(*) filter (where p.esim_status = 'CANCEL')::int as cancelled,
        count(*) filter (where i.item_status in ('REFUSED', 'CANCELLED'))::int as refused,
        count(*) filter (where i.item_status = 'REVIEW')::int as under_review,
        coalesce(sum((select count(*) from orphans n
          where n.tenant_id = i.tenant_id and n.order_id = i.order_id and n.item_no = i.item_no)), 0)::int as orphans,
        sum(i.price)::bigint as sales,
        coalesce(sum(i.price) filter (where i.item_status in ('REFUSED', 'CANCELLED') or p.esim_status = 'CANCEL'),
          0)::bigint as refunds,
        sum(coalesce(i.supplier_charge, i.cost * coalesce((o.package_lines -> i.line_no ->> 'periodNum')::int, 1)))
          filter (where i.item_status = 'DELIVERED' and p.esim_status is distinct from 'CANCEL')::bigint as cost,
        count(i.supplier_charge)
          filter (where i.item_status = 'DELIVERED' and p.esim_status is distinct from 'CANCEL')::int as charged,
        coalesce(sum(i.supplier_charge)
          filter (where i.item_status = 'DELIVERED' and p.esim_status is distinct from 'CANCEL'), 0)::bigint as charged_cost
      from orders o join order_items i using (tenant_id, order_id)
        left join profiles p using (tenant_id, order_id, item_no)
      where o.order_id >= $1 and o.order_id < $2
      group by coalesce(i.supplier, ''), 2, 3 order by coalesce(i.supplier, '') collate "C", 2, 3 nulls first`,
    values: [firstUuidAt(from.getTime()), firstUuidAt(to.getTime())],
  })
  return rows.map((row) => ({ ...row, month: from.toISOString().slice(0, 7) }))
}

/** Compares the discrepancies in this month and last month with all rows. */
export async function expectDiscrepanciesToEqualRows(db: Db): Promise<Discrepancy[]> {
  const [from, , to] = months()
  const expected = await db.query<{ key: string }>({
    text: `
      select 'ORDER_WITHOUT_ESIM' || ' ' || o.tenant_id || ' ' || coalesce(i.supplier, '') || ' ' || i.item_no || ' ' || i.item_status as key
      from orders o join order_items i using (tenant_id, order_id)
      where o.order_id >= $4 and o.order_id < $5
        and (i.item_status = 'REVIEW' or i.item_status in ('WAITING', 'ASKED', 'UNKNOWN') and o.created_at < $3)
      union all
      select 'ESIM_WITHOUT_ORDER' || ' ' || tenant_id || ' ' || supplier || ' ' || item_no || ' ' || state
      from orphans where created_at >= $1 and created_at < $2
      union all
      select 'ESIM_WITHOUT_ORDER  ' || supplier || '  under' from unclaimed_esims where found_at >= $1 and found_at < $2`,
    values: [from, to, new Date(Date.now() - HOUR_MS), firstUuidAt(+from), firstUuidAt(+to)],
  })
  const found: Discrepancy[] = []
  for await (const part of streamDiscrepancies(db, { from, to })) found.push(...part)
  const keys = found.map(({ kind, tenantId, supplier, itemNo, detail }) =>
    [kind, tenantId, supplier, itemNo, /^\w+/.exec(detail ?? '')?.[0]].join(' '),
  )
  expect(keys.sort()).toEqual(expected.map(({ key }) => key).sort())
  return found
}

/**
 * Checks that every item without an outcome is in an order that is due or under review: reports look for such items nowhere
 * else.
 */
export async function expectOpenItemsInOpenOrders(db: Db): Promise<void> {
  const lost = await db.query({
    text: `select i.item_status, i.tenant_id, i.order_id from orders o join order_items i using (tenant_id, order_id)
           where i.item_status in ('WAITING', 'ASKED', 'UNKNOWN', 'REVIEW') and o.due_at is null and o.order_status <> 'UNDER_REVIEW'`,
  })
  expect(lost).toEqual([])
}
