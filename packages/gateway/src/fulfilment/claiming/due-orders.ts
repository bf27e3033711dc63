import type { Db, Tx } from '../../lib/postgres/db.ts'
import { ITEM_COLUMNS, type ItemRow, itemOf, type LockedOrder, type OrderRow, orderOf } from '../../orders/lock.ts'

/** How long a claim holds without being renewed. Past it another worker takes the order over: within a minute. */
export const LEASE_MS = 30_000

/**
 * Tenants that have an order due which nobody works on, in ascending order from `after` on. A loose index scan: two
 * probes of orders_due per tenant that has anything pending, however many orders it has. Takes no lock.
 *
 * Orders in work stay in front of the index (a lease is in no index, so that claiming is a HOT update), so a probe
 * passes over those: as many as are in work of that tenant at most.
 */
export async function listDueTenants(db: Db, after: string, most: number): Promise<string[]> {
  const rows = await db.query<{ tenantId: string }>({
    name: 'fulfilment-tenants',
    text: TENANTS,
    values: [after, most],
  })
  return rows.map((row) => row.tenantId)
}

const TENANTS = `
  with recursive pending as (
    (select tenant_id from orders where due_at is not null and tenant_id > $1 order by tenant_id limit 1)
    union all
    select (select o.tenant_id from orders o where o.due_at is not null and o.tenant_id > p.tenant_id
            order by o.tenant_id limit 1)
    from pending p where p.tenant_id is not null
  )
  select p.tenant_id from pending p
  where p.tenant_id is not null and exists (
    select from orders o where o.tenant_id = p.tenant_id and o.due_at <= now()
      and (o.lease_until is null or o.lease_until < now()))
  limit $2`

export interface LeasedOrders {
  orders: LockedOrder[]
  now: Date
  catalogueVersion: bigint
}

/**
 * Takes the orders of one tenant that have been due longest, with all their items, under a lease. One round trip.
 *
 * Locks: the orders it takes, skipping those that somebody else has locked; and, by its lease, for the minutes after.
 * Items are read by a statement of their own, as in lockOrders: who settles one item of an order and commits after the
 * claim has begun, but before it comes to that order, is not in the snapshot of the statement that locks.
 */
export async function leaseDueOrders(
  tx: Tx,
  tenantId: string,
  leaseToken: string,
  most: number,
): Promise<LeasedOrders> {
  const claiming = tx.query<OrderRow>({
    name: 'fulfilment-claim',
    text: CLAIM,
    values: [tenantId, leaseToken, LEASE_MS, most],
  })
  const items = tx.query<ItemRow>({ name: 'fulfilment-claim-items', text: ITEMS, values: [tenantId, leaseToken] })
  const clock = tx.query<{ now: Date; version: bigint }>({ name: 'fulfilment-clock', text: CLOCK })
  const orders = new Map((await claiming).map((row) => [row.orderId, orderOf(row)]))
  for (const row of await items) orders.get(row.orderId)!.items.push(itemOf(row))
  const [at] = await clock
  for (const order of orders.values()) order.items.sort((left, right) => left.itemNo - right.itemNo)
  return { orders: [...orders.values()], now: at!.now, catalogueVersion: at!.version }
}

const CLAIM = `
  with due as (
    select order_id from orders
    where tenant_id = $1 and due_at <= now() and (lease_until is null or lease_until < now())
    order by due_at limit $4
    for no key update skip locked
  )
  update orders o set lease_token = $2, lease_until = now() + $3 * interval '1 millisecond'
  from due where o.tenant_id = $1 and o.order_id = due.order_id
  returning o.order_id, o.transaction_id, o.order_status, o.refunded_amount, o.currency_code, o.event_sequence,
    o.package_lines, o.created_at`
const ITEMS = `
  select c.order_id, i.* from orders c
  cross join lateral (
    select ${ITEM_COLUMNS} from order_items where tenant_id = $1 and order_id = c.order_id
    offset 0 -- keeps the plan one index range for each order, whatever the statistics say
  ) i
  where c.tenant_id = $1 and c.due_at <= now() and c.lease_token = $2`
const CLOCK = `select date_trunc('milliseconds', clock_timestamp()) as now, version from catalogue_version`

/** Keeps leases that are still ours. @returns the orders of them. */
export async function renewLeases(db: Db, tenantId: string, leaseToken: string, orderIds: string[]): Promise<string[]> {
  const rows = await db.query<{ orderId: string }>({
    name: 'fulfilment-renew',
    text: `update orders set lease_until = now() + $4 * interval '1 millisecond'
           where tenant_id = $1 and order_id = any ($3::uuid[]) and lease_token = $2 returning order_id`,
    values: [tenantId, leaseToken, orderIds, LEASE_MS],
  })
  return rows.map((row) => row.orderId)
}

/** Puts off the order that a claim of one would take. */
export async function postponeFirstOrder(db: Db, tenantId: string, byMs: number): Promise<void> {
  await db.query({
    text: `update orders set due_at = now() + $2 * interval '1 millisecond'
           where tenant_id = $1 and order_id = (
             select order_id from orders
             where tenant_id = $1 and due_at <= now() and (lease_until is null or lease_until < now())
             order by due_at limit 1 for no key update skip locked)`,
    values: [tenantId, byMs],
  })
}
