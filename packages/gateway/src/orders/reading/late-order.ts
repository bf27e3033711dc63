/*
 * An order is late if it is still undecided after three times the time within which 95 % of its supplier's orders of a day
 * were delivered, but never before one minute. Without enough deliveries the limit is five minutes.
 */

export const LATE_MIN_MS = 60_000
export const LATE_DEFAULT_MS = 300_000

/** SQL: the order is waiting for a supplier. Orders under review have a separate alert. Uses a partial index. */
export function waitsForSupplier(order: string): string {
  return `${order}.due_at is not null and ${order}.order_status in ('PAID', 'ALLOCATING')
    and ${order}.created_at < now() - interval '${LATE_MIN_MS} milliseconds'`
}

/** SQL: the time since when the order has been late; in the future if it is not late yet. */
export function lateAt(order: string): string {
  return `${order}.created_at + interval '1 millisecond' * (
    select min(coalesce(s.late_after_ms, ${LATE_DEFAULT_MS}))
    from order_items i left join supplier_states s on s.supplier = i.supplier
    where i.tenant_id = ${order}.tenant_id and i.order_id = ${order}.order_id
      and i.item_status in ('WAITING', 'ASKED', 'UNKNOWN'))`
}
