/** The columns of sums, in the order of the tables. */
export const SUMS = ['items', 'revenue', 'refunds', 'cost', 'unknown_items', 'unknown_revenue'] as const

/**
 * SQL: the cost of an item `i` of an order `o` in the currency of the sale; null: not known, or not yet. An item that was
 * not delivered costs nothing, nor does one that was cancelled unused: a delivered item with a refund `r`. What the supplier
 * says it charged takes precedence over the catalogue's cost, which for a day pass is that of one day. Nothing is converted.
 */
const COST = `case
    when i.item_status in ('REFUSED', 'CANCELLED') or r.amount is not null then 0
    when i.item_status <> 'DELIVERED' then null
    when i.supplier_charge is not null then case when i.supplier_charge_currency = o.currency_code then i.supplier_charge end
    when i.cost_currency = o.currency_code then i.cost * coalesce((o.package_lines -> i.line_no ->> 'periodNum')::int, 1)
  end`

/** SQL: the items of orders of tenant $1 that meet the condition, with refund and cost. The fee of a cancel stays as revenue. */
const itemsOf = (condition: string) => `
  select o.order_type, o.currency_code, i.package_code, i.price, coalesce(r.amount, 0) as refund,
    case when i.item_status = 'DELIVERED' then coalesce(i.supplier, '') else '' end as supplier,
    ${COST} as cost
  from orders o
  join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
  left join transfers r on r.kind = 'REFUND' and r.tenant_id = i.tenant_id and r.order_id = i.order_id
    and r.item_no = i.item_no
  where o.tenant_id = $1 and ${condition}`

const SUMMED = `
  count(*)::int as items, sum(price)::bigint as revenue, sum(refund)::bigint as refunds,
  coalesce(sum(cost), 0)::bigint as cost, count(*) filter (where cost is null)::int as unknown_items,
  coalesce(sum(price - refund) filter (where cost is null), 0)::bigint as unknown_revenue`

/**
 * The rows of daily_sales as orders, items and refunds have them now, of tenant $1 on day $2, whose order ids are from $3 up
 * to $4: a range of the primary keys.
 */
export const SUMS_OF_DAY = `
  select $1::uuid, $2::date, order_type, package_code, supplier, currency_code, ${SUMMED}
  from (${itemsOf(`o.order_id >= $3::uuid and o.order_id < $4::uuid
    and i.order_id >= $3::uuid and i.order_id < $4::uuid`)}) sold
  group by 3, 4, 5, 6`

/** The sums of order $2 of tenant $1. */
export const SUMS_OF_ORDER = `select ${SUMMED} from (${itemsOf('o.order_id = $2')}) sold`
