import { orderNoOf } from '@dealer-esim/contract'
import { memberColumns } from '@dealer-esim/lib/csv.ts'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { ITEM_STATUSES, isOpen } from '#orders/order-item.ts'
import { unfinishedOrders } from '#orders/reading/list-unfinished.ts'
import { COST_CURRENCY, dayOf } from '#sales/sums-of-rows.ts'

/** Totals of one supplier in one month (UTC, by the time of the order's id). Amounts in 1/10 000. */
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
  /** The number of delivered eSIMs with a supplier's charge, and the total of these charges within the cost. */
  charged: number
  chargedCost: bigint
}

/** An item without its eSIM, an eSIM without its item, or an entry of a supplier's list that could not be compared. */
export interface Discrepancy {
  kind: 'ORDER_WITHOUT_ESIM' | 'ESIM_WITHOUT_ORDER' | 'UNREADABLE_ENTRY'
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
  ...memberColumns('kind', 'supplier', 'tenantId', 'orderNo', 'itemNo', 'iccid', 'since', 'detail'),
} satisfies Record<string, (row: Discrepancy) => unknown>

/** Whole UTC days. */
interface Period {
  from: Date
  to: Date
}

/**
 * Cost and sales by month and supplier, one row for each currency: amounts are never converted. Items with an outcome come
 * from the sums that the sales loop keeps, a few seconds late; items without one, and orphans, come from their rows. An
 * item with an outcome keeps it, so a single statement never counts an item twice.
 */
export function listSupplierMonths(db: Db, { from, to }: Period): Promise<SupplierMonth[]> {
  return db.query<SupplierMonth>({
    text: MONTHS,
    values: [from.toISOString().slice(0, 10), to.toISOString().slice(0, 10), firstUuidAt(+from), firstUuidAt(+to)],
  })
}

/** The item statuses without an outcome. */
const OPEN_STATUSES = `('${ITEM_STATUSES.filter((status) => isOpen(status) || status === 'REVIEW').join("', '")}')`
const OF_PERIOD = 'order_id >= $3 and order_id < $4'

/** SQL: an item `i` of an order `o` as a row of daily_purchases. */
const itemRow = (outcome: string, revenue: string) => `
  ${dayOf('o.order_id')}::date, coalesce(i.supplier, ''), ${outcome}, o.currency_code, ${COST_CURRENCY}, 1, ${revenue}, 0, 0, 0, 0`

const sumOf = (column: string, ...outcomes: string[]) =>
  `coalesce(sum(${column}) filter (where outcome in (${outcomes.map((outcome) => `'${outcome}'`).join()})), 0)`

// A month may have an orphan whose item is not in the sums yet: for a few seconds, it has a row without sales.
const MONTHS = `
  select to_char(day, 'YYYY-MM') as month, supplier, currency_code, nullif(cost_currency, '') as cost_currency,
    ${sumOf('items', 'DELIVERED')}::int as delivered, ${sumOf('items', 'CANCELLED')}::int as cancelled,
    ${sumOf('items', 'REFUSED')}::int as refused, ${sumOf('items', 'REVIEW')}::int as under_review,
    ${sumOf('items', 'ORPHAN')}::int as orphans, sum(revenue)::bigint as sales,
    ${sumOf('revenue', 'REFUSED', 'CANCELLED')}::bigint as refunds,
    case when sum(costed_items) > 0 then sum(supplier_cost)::bigint end as cost,
    sum(charged_items)::int as charged, sum(charged_cost)::bigint as charged_cost
  from (
    select * from daily_purchases where day >= $1::date and day < $2::date
    union all
    select ${itemRow(`case when i.item_status = 'REVIEW' then 'REVIEW' else 'OPEN' end`, 'i.price')}
    from (${unfinishedOrders(OF_PERIOD)}) o join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
    where i.item_status in ${OPEN_STATUSES}
    union all
    select ${itemRow(`'ORPHAN'`, '0')}
    from (select tenant_id, order_id, item_no from orphans where ${OF_PERIOD}) n
    join orders o on o.tenant_id = n.tenant_id and o.order_id = n.order_id
    join order_items i on i.tenant_id = n.tenant_id and i.order_id = n.order_id and i.item_no = n.item_no
  ) p
  group by month, supplier, currency_code, p.cost_currency
  order by month, supplier collate "C", currency_code, p.cost_currency`

/** An item that is open for longer than this is reported. */
const STUCK_AFTER = `interval '1 hour'`

/** The part of a file that one statement reads, so that memory does not grow with the number of discrepancies. */
const PART_MS = 7 * 86_400_000

function* partsOf({ from, to }: Period): Generator<Period> {
  for (let start = from; start < to; start = new Date(start.getTime() + PART_MS))
    yield { from: start, to: new Date(Math.min(start.getTime() + PART_MS, to.getTime())) }
}

interface DiscrepancyRow extends Omit<Discrepancy, 'orderNo'> {
  orderId: string | null
}

/** Reads orders without eSIMs and eSIMs without orders, newest first, one week at a time. */
export async function* streamDiscrepancies(db: Db, period: Period): AsyncGenerator<Discrepancy[]> {
  for (const part of [...partsOf(period)].reverse()) yield await readDiscrepancies(db, part)
}

async function readDiscrepancies(db: Db, { from, to }: Period): Promise<Discrepancy[]> {
  const rows = await db.query<DiscrepancyRow>({
    text: `
      select * from (
        select 'ORDER_WITHOUT_ESIM' as kind, coalesce(i.supplier, '') as supplier, i.tenant_id, i.order_id,
          i.item_no, null::text as iccid, o.created_at as since,
          i.item_status || coalesce(': ' || i.failure_reason, '') as detail
        from (${unfinishedOrders(OF_PERIOD)}) o join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
        where i.item_status = 'REVIEW' or i.item_status in ${OPEN_STATUSES} and o.created_at < now() - ${STUCK_AFTER}
        union all
        select 'ESIM_WITHOUT_ORDER', n.supplier, n.tenant_id, n.order_id, n.item_no, n.iccid, n.created_at,
          n.state || coalesce(': ' || n.message, '')
        from orphans n where n.created_at >= $1 and n.created_at < $2
        union all
        select 'ESIM_WITHOUT_ORDER', u.supplier, null, null, null, u.iccid, u.found_at, 'under the key ' || u.key
        from unclaimed_esims u where u.found_at >= $1 and u.found_at < $2
        union all
        select 'UNREADABLE_ENTRY', c.supplier, null, null, null, null, c.checked_at, e.detail
        from supplier_list_checks c
        cross join lateral (
          select (one ->> 'entry') || ': ' || (one ->> 'reason') as detail from jsonb_array_elements(c.unreadable_entries) one
          union all
          select 'and ' || c.unreadable - jsonb_array_length(c.unreadable_entries) || ' more'
          where c.unreadable > jsonb_array_length(c.unreadable_entries)) e
        where c.checked_at >= $1 and c.checked_at < $2
      ) d order by since desc`,
    values: [from, to, firstUuidAt(+from), firstUuidAt(+to)],
  })
  return rows.map(({ orderId, ...row }) => ({ ...row, orderNo: orderId === null ? null : orderNoOf(orderId) }))
}
