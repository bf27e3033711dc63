import { timeOfId } from '@dealer-esim/lib/ids.ts'

/** The columns that contain sums, in the order of the tables. */
export const SUMS = ['items', 'revenue', 'refunds', 'cost', 'unknown_items', 'unknown_revenue'] as const
/** Additional columns of daily_sales. */
const COST_SUMS = ['costed_items', 'supplier_cost', 'charged_items', 'charged_cost'] as const
/** The columns of daily_purchases. */
export const PURCHASE_SUMS = ['items', 'revenue', ...COST_SUMS] as const

/** SQL: the UTC day of a UUIDv7, as text. */
export const dayOf = (id: string) => `(${timeOfId(id)} at time zone 'utc')::date::text`

/**
 * SQL: the cost of an item `i` of an order `o` in COST_CURRENCY. The charge stated by the supplier takes precedence over
 * the catalogue's cost, which for a day pass is the cost of one day. Nothing is converted.
 */
const SUPPLIER_COST = `coalesce(i.supplier_charge, i.cost * coalesce((o.package_lines -> i.line_no ->> 'periodNum')::int, 1))`
/** SQL: the currency of an item `i`'s cost; '' if it is unknown. */
export const COST_CURRENCY = `coalesce(case when i.supplier_charge is null then i.cost_currency else i.supplier_charge_currency end, '')`

/**
 * SQL: the cost of an item `i` of an order `o` in the currency of the sale; null: not known, or not yet known. An item that
 * was not delivered costs nothing, nor does one that was cancelled unused: a delivered item with a refund `r`.
 */
const COST = `case
    when i.item_status in ('REFUSED', 'CANCELLED') or r.amount is not null then 0
    when i.item_status = 'DELIVERED' and ${COST_CURRENCY} = o.currency_code then ${SUPPLIER_COST}
  end`

const OUTCOME = `case
    when i.item_status in ('REFUSED', 'CANCELLED') then 'REFUSED'
    when i.item_status <> 'DELIVERED' then 'OPEN'
    when r.amount is not null then 'CANCELLED' else 'DELIVERED'
  end`

/**
 * SQL: the items of tenant $1's orders that meet the condition, with refund and cost. The fee for a cancel remains as
 * revenue.
 */
const itemsOf = (condition: string) => `
  select o.order_type, o.currency_code, i.package_code, i.price, coalesce(r.amount, 0) as refund,
    case when i.item_status = 'DELIVERED' then coalesce(i.supplier, '') else '' end as supplier,
    ${COST} as cost, ${OUTCOME} as outcome, i.supplier as asked, ${COST_CURRENCY} as cost_currency,
    ${SUPPLIER_COST} as supplier_cost, i.supplier_charge
  from orders o
  join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
  left join transfers r on r.kind = 'REFUND' and r.tenant_id = i.tenant_id and r.order_id = i.order_id
    and r.item_no = i.item_no
  where o.tenant_id = $1 and ${condition}`

const SUMMED = `
  count(*)::int as items, sum(price)::bigint as revenue, sum(refund)::bigint as refunds,
  coalesce(sum(cost), 0)::bigint as cost, count(*) filter (where cost is null)::int as unknown_items,
  coalesce(sum(price - refund) filter (where cost is null), 0)::bigint as unknown_revenue`

const DELIVERED = `filter (where outcome = 'DELIVERED')`
const COST_SUMMED = `
  (count(supplier_cost) ${DELIVERED})::int as costed_items, coalesce(sum(supplier_cost) ${DELIVERED}, 0)::bigint as supplier_cost,
  (count(supplier_charge) ${DELIVERED})::int as charged_items, coalesce(sum(supplier_charge) ${DELIVERED}, 0)::bigint as charged_cost`
/** SQL: '' for an item without an outcome, because its supplier may change without marking the day for recalculation. */
const ifDecided = (column: string) => `case when outcome = 'OPEN' then '' else coalesce(${column}, '') end`

/**
 * The rows of daily_sales as the orders, items and refunds now stand, for tenant $1 on day $2, whose order ids are from $3
 * up to $4: a range of the primary keys.
 */
export const SUMS_OF_DAY = `
  select $1::uuid, $2::date, order_type, package_code, supplier, currency_code, outcome, ${ifDecided('asked')},
    ${ifDecided('cost_currency')}, ${SUMMED}, ${COST_SUMMED}
  from (${itemsOf(`o.order_id >= $3::uuid and o.order_id < $4::uuid
    and i.order_id >= $3::uuid and i.order_id < $4::uuid`)}) sold
  group by 3, 4, 5, 6, 7, 8, 9`

/** The sums for order $2 of tenant $1. */
export const SUMS_OF_ORDER = `select ${SUMMED} from (${itemsOf('o.order_id = $2')}) sold`
