/** The columns of sums, in the order of the tables. */
export const SUMS = ['items', 'revenue', 'refunds', 'cost', 'unknown_items', 'unknown_revenue'] as const

/**
 * SQL: the cost of an item `i` of an order `o` in the currency of the sale; null: not known, or not yet. An item that was
 * not delivered, or was cancelled unused (`cancelled`), costs nothing. What the supplier says it charged takes precedence
 * over the catalogue's cost, which for a day pass is that of one day. Nothing is converted.
 */
export function itemCost(cancelled: string): string {
  return `case
    when i.item_status in ('REFUSED', 'CANCELLED') or ${cancelled} then 0
    when i.item_status <> 'DELIVERED' then null
    when i.supplier_charge is not null then case when i.supplier_charge_currency = o.currency_code then i.supplier_charge end
    when i.cost_currency = o.currency_code then i.cost * coalesce((o.package_lines -> i.line_no ->> 'periodNum')::int, 1)
  end`
}

/**
 * The rows of daily_sales as orders, items and refunds have them now, of tenant $1 on day $2, whose order ids are from $3 up
 * to $4: a range of the primary keys. A delivered item with a refund was cancelled unused; its fee stays as revenue.
 */
export const SUMS_OF_ROWS = `
  select $1::uuid, $2::date, sold.order_type, sold.package_code, sold.supplier, sold.currency_code,
    count(*), sum(sold.price), sum(sold.refund), coalesce(sum(sold.cost), 0),
    count(*) filter (where sold.cost is null),
    coalesce(sum(sold.price - sold.refund) filter (where sold.cost is null), 0)
  from (
    select o.order_type, o.currency_code, i.package_code, i.price, coalesce(r.amount, 0) as refund,
      case when i.item_status = 'DELIVERED' then coalesce(i.supplier, '') else '' end as supplier,
      ${itemCost('r.amount is not null')} as cost
    from orders o
    join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
    left join transfers r on r.kind = 'REFUND' and r.tenant_id = i.tenant_id and r.order_id = i.order_id
      and r.item_no = i.item_no
    where o.tenant_id = $1 and o.order_id >= $3::uuid and o.order_id < $4::uuid
      and i.order_id >= $3::uuid and i.order_id < $4::uuid
  ) sold
  group by 3, 4, 5, 6`
