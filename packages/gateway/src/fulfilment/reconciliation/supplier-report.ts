import { orderNoOf } from '@dealer-esim/contract'
import { firstUuidAt } from '../../lib/ids.ts'
import type { Db } from '../../lib/postgres/db.ts'

/** Totals of one supplier in one month (UTC, by the time of the order). Amounts in 1/10 000. */
export interface SupplierMonth {
  /** `2026-11` */
  month: string
  supplier: string
  currencyCode: string
  delivered: number
  cancelled: number
  refused: number
  underReview: number
  orphans: number
  sales: bigint
  refunds: bigint
  /** Cost of the delivered eSIMs: the supplier's charge, otherwise the catalogue's cost. null: neither is known. */
  cost: bigint | null
  costCurrency: string | null
  /** How many delivered eSIMs have a supplier's charge, and the sum of these charges within the cost. */
  charged: number
  chargedCost: bigint
}

/** An item without its eSIM, or an eSIM without its item. */
export interface Discrepancy {
  kind: 'ORDER_WITHOUT_ESIM' | 'ESIM_WITHOUT_ORDER'
  supplier: string
  tenantId: string | null
  orderNo: string | null
  itemNo: number | null
  iccid: string | null
  since: Date
  detail: string | null
}

/** The columns of the files. */
export const SUPPLIER_MONTH_COLUMNS = {
  month: (row) => row.month,
  supplier: (row) => row.supplier,
  currencyCode: (row) => row.currencyCode,
  delivered: (row) => row.delivered,
  cancelled: (row) => row.cancelled,
  refused: (row) => row.refused,
  underReview: (row) => row.underReview,
  orphans: (row) => row.orphans,
  sales: (row) => row.sales,
  refunds: (row) => row.refunds,
  cost: (row) => row.cost,
  costCurrency: (row) => row.costCurrency,
  charged: (row) => row.charged,
  chargedCost: (row) => row.chargedCost,
} satisfies Record<string, (row: SupplierMonth) => unknown>

export const DISCREPANCY_COLUMNS = {
  kind: (row) => row.kind,
  supplier: (row) => row.supplier,
  tenantId: (row) => row.tenantId,
  orderNo: (row) => row.orderNo,
  itemNo: (row) => row.itemNo,
  iccid: (row) => row.iccid,
  since: (row) => row.since,
  detail: (row) => row.detail,
} satisfies Record<string, (row: Discrepancy) => unknown>

/** An item that is open for longer is reported. */
const STUCK_AFTER = `interval '1 hour'`

interface Period {
  from: Date
  to: Date
}

/** Read by one statement, so that none takes long however many orders there are. */
const PART_MS = 7 * 86_400_000

function* partsOf({ from, to }: Period): Generator<Period> {
  for (let start = from; start < to; start = new Date(start.getTime() + PART_MS))
    yield { from: start, to: new Date(Math.min(start.getTime() + PART_MS, to.getTime())) }
}

/**
 * Cost and sales by month and supplier, one row for each currency: amounts are never converted. Reads all orders of the
 * period and their items, dealer by dealer, by the time in their ids: for a report that a person asks for.
 */
export async function listSupplierMonths(db: Db, period: Period): Promise<SupplierMonth[]> {
  const months = new Map<string, SupplierMonth>()
  for (const part of partsOf(period)) {
    for (const row of await readMonths(db, part)) {
      const key = [row.month, row.supplier, row.currencyCode, row.costCurrency ?? ''].join('\n')
      const sum = months.get(key)
      months.set(key, sum === undefined ? row : addMonths(sum, row))
    }
  }
  return [...months].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

function addMonths(a: SupplierMonth, b: SupplierMonth): SupplierMonth {
  return {
    ...a,
    delivered: a.delivered + b.delivered,
    cancelled: a.cancelled + b.cancelled,
    refused: a.refused + b.refused,
    underReview: a.underReview + b.underReview,
    orphans: a.orphans + b.orphans,
    sales: a.sales + b.sales,
    refunds: a.refunds + b.refunds,
    cost: a.cost === null || b.cost === null ? (a.cost ?? b.cost) : a.cost + b.cost,
    charged: a.charged + b.charged,
    chargedCost: a.chargedCost + b.chargedCost,
  }
}

function readMonths(db: Db, period: Period): Promise<SupplierMonth[]> {
  return db.query<SupplierMonth>({
    // The item of a top-up has no profile. The cost of a day pass is that of one day.
    text: `
      select to_char(o.created_at at time zone 'utc', 'YYYY-MM') as month, coalesce(i.supplier, '') as supplier,
        o.currency_code,
        case when i.supplier_charge is null then i.cost_currency else i.supplier_charge_currency end as cost_currency,
        count(*) filter (where i.item_status = 'DELIVERED' and p.esim_status is distinct from 'CANCEL')::int as delivered,
        count(*) filter (where p.esim_status = 'CANCEL')::int as cancelled,
        count(*) filter (where i.item_status in ('REFUSED', 'CANCELLED'))::int as refused,
        count(*) filter (where i.item_status = 'REVIEW')::int as under_review,
        coalesce(sum(n.orphans), 0)::int as orphans,
        sum(i.price)::bigint as sales,
        coalesce(sum(i.price) filter (where i.item_status in ('REFUSED', 'CANCELLED') or p.esim_status = 'CANCEL'),
          0)::bigint as refunds,
        sum(coalesce(i.supplier_charge, i.cost * coalesce((o.package_lines -> i.line_no ->> 'periodNum')::int, 1)))
          filter (where i.item_status = 'DELIVERED' and p.esim_status is distinct from 'CANCEL')::bigint
          as cost,
        count(i.supplier_charge)
          filter (where i.item_status = 'DELIVERED' and p.esim_status is distinct from 'CANCEL')::int as charged,
        coalesce(sum(i.supplier_charge)
          filter (where i.item_status = 'DELIVERED' and p.esim_status is distinct from 'CANCEL'), 0)::bigint
          as charged_cost
      from tenants t join orders o on o.tenant_id = t.tenant_id and o.order_id >= $3 and o.order_id < $4
      join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
      left join profiles p on p.tenant_id = i.tenant_id and p.order_id = i.order_id and p.item_no = i.item_no
      left join lateral (
        select count(*) as orphans from orphans n
        where n.tenant_id = i.tenant_id and n.order_id = i.order_id and n.item_no = i.item_no
      ) n on true
      where o.created_at >= $1 and o.created_at < $2
      group by 1, 2, 3, 4`,
    values: [period.from, period.to, ...idRangeOf(period)],
  })
}

/** An id is created before its order is written, by a clock that may be slightly wrong. */
const ID_TOLERANCE_MS = 86_400_000

function idRangeOf(period: Period): [first: string, end: string] {
  return [firstUuidAt(period.from.getTime() - ID_TOLERANCE_MS), firstUuidAt(period.to.getTime() + ID_TOLERANCE_MS)]
}

interface DiscrepancyRow extends Omit<Discrepancy, 'orderNo'> {
  orderId: string | null
}

/** Reads orders without eSIMs and eSIMs without orders, newest first. Reads all orders of the period, in parts of a week. */
export async function* streamDiscrepancies(db: Db, period: Period): AsyncGenerator<Discrepancy[]> {
  for (const part of [...partsOf(period)].reverse()) yield await readDiscrepancies(db, part)
}

async function readDiscrepancies(db: Db, period: Period): Promise<Discrepancy[]> {
  const rows = await db.query<DiscrepancyRow>({
    text: `
      select * from (
        select 'ORDER_WITHOUT_ESIM' as kind, coalesce(i.supplier, '') as supplier, i.tenant_id, i.order_id,
          i.item_no, null::text as iccid, o.created_at as since,
          i.item_status || coalesce(': ' || i.failure_reason, '') as detail
        from tenants t join orders o on o.tenant_id = t.tenant_id and o.order_id >= $3 and o.order_id < $4
        join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
        where o.created_at >= $1 and o.created_at < $2
          and (i.item_status = 'REVIEW'
            or i.item_status in ('WAITING', 'ASKED', 'UNKNOWN') and o.created_at < now() - ${STUCK_AFTER})
        union all
        select 'ESIM_WITHOUT_ORDER', n.supplier, n.tenant_id, n.order_id, n.item_no, n.iccid, n.created_at,
          n.state || coalesce(': ' || n.message, '')
        from orphans n where n.created_at >= $1 and n.created_at < $2
        union all
        select 'ESIM_WITHOUT_ORDER', u.supplier, null, null, null, u.iccid, u.found_at, 'under the key ' || u.key
        from unclaimed_esims u where u.found_at >= $1 and u.found_at < $2
      ) d order by since desc`,
    values: [period.from, period.to, ...idRangeOf(period)],
  })
  return rows.map(({ orderId, ...row }) => ({ ...row, orderNo: orderId === null ? null : orderNoOf(orderId) }))
}
