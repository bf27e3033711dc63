import { isFree } from '@dealer-esim/lib/leases.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import {
  ITEM_COLUMNS,
  type ItemRow,
  itemOf,
  type LockedItem,
  type LockedOrder,
  ORDER_COLUMNS,
  type OrderRow,
  orderOf,
  readAskedItems,
} from '#orders/lock-orders.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { tenantTime } from '#platform/test-time.ts'

/** A lease that is not renewed for this long expires, and another worker takes over the order. */
export const LEASE_MS = 30_000
const FREE = isFree('lease_until', LEASE_MS)

/**
 * Lists tenants with a due order that no worker holds, ascending, after `after`. A loose index scan: two probes of
 * orders_due for each tenant with anything pending, however many orders it has. Takes no lock.
 * Leases are not indexed, so that claiming is a HOT update. Leased orders therefore stay at the front of the index, and a
 * probe skips at most as many of them as the tenant has.
 */
export async function listDueTenants(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await db.query<{ tenantId: string }>({
    name: 'fulfilment-tenants',
    text: TENANTS,
    values: [after, limit],
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
  where p.tenant_id is not null and not ${isHeld('p.tenant_id')} and exists (
    select from orders o where o.tenant_id = p.tenant_id and o.due_at <= now()
      and ${isFree('o.lease_until', LEASE_MS)})
  limit $2`

export interface LeasedOrders {
  orders: LockedOrder[]
  /** Versions of the orders' rows, by orderId. If the version differs later, the order was written in between. */
  versions: Map<string, string>
  /** Items that an earlier worker requested but did not write. The new lease hides its attempts, so they are written now. */
  askedItems: { orderId: string; item: LockedItem }[]
  now: Date
  /** In test time. */
  tenantNow: Date
  catalogueVersion: bigint
}

/**
 * Leases one tenant's orders that have been due longest, and reads all their items. One round trip; two if another worker
 * has left orders. Locks: the orders that it leases, skipping those that another transaction has locked. The lease outlives
 * the transaction. As in lockOrders, a second statement reads the items, because the locking statement's snapshot would
 * miss an item change that commits while it runs.
 */
export async function leaseDueOrders(
  tx: Tx,
  tenantId: string,
  leaseToken: string,
  limit: number,
): Promise<LeasedOrders> {
  const claiming = tx.query<OrderRow & { isLeaseOdd: boolean; formerToken: string | null; version: string }>({
    name: 'fulfilment-claim',
    text: CLAIM,
    values: [tenantId, leaseToken, LEASE_MS, limit],
  })
  const items = tx.query<ItemRow>({ name: 'fulfilment-claim-items', text: ITEMS, values: [tenantId, leaseToken] })
  const clock = tx.query<{ now: Date; version: bigint; testOffsetMs: number }>({
    name: 'fulfilment-clock',
    text: CLOCK,
    values: [tenantId],
  })
  const oddOrders = new Set<string>()
  const orders = new Map<string, LockedOrder>()
  const versions = new Map<string, string>()
  const takenOver: { order: LockedOrder; leaseToken: string }[] = []
  for (const { isLeaseOdd, formerToken, version, ...row } of await claiming) {
    const order = orderOf(row)
    orders.set(row.orderId, order)
    versions.set(row.orderId, version)
    if (isLeaseOdd) oddOrders.add(row.orderId)
    if (formerToken !== null) takenOver.push({ order, leaseToken: formerToken })
  }
  for (const row of await items) orders.get(row.orderId)!.items.push(itemOf(row))
  const [at] = await clock
  const askedItems = await readAskedItems(tx, tenantId, takenOver)
  for (const orderId of oddOrders) restartDoubt(orders.get(orderId)!, at!.now)
  for (const order of orders.values()) order.items.sort((left, right) => left.itemNo - right.itemNo)
  return {
    orders: [...orders.values()],
    versions,
    askedItems,
    now: at!.now,
    tenantNow: tenantTime(at!.now, at!),
    catalogueVersion: at!.version,
  }
}

/**
 * Restarts the doubt about an order's items. If the clock was changed, the previous worker may still be calling suppliers,
 * so the doubt lasts, from now on, until no earlier purchase can be running any more.
 */
function restartDoubt({ items }: LockedOrder, now: Date): void {
  for (const item of items) if (item.itemStatus === 'ASKED' || item.inDoubtAt !== null) item.inDoubtAt = now
}

/** Nodes look for due orders twice a second, so they would have taken over a lease within this time of its end. */
const LEASE_END_NOTICED_MS = 5_000
/**
 * SQL: true if the lease seems to have ended long ago or is still in the future: the clock was changed, or no worker was
 * running.
 */
const IS_LEASE_ODD = `coalesce(not due.lease_until
  between now() - interval '${LEASE_END_NOTICED_MS} milliseconds' and now(), false)`

const CLAIM = `
  with due as (
    select order_id, lease_token, lease_until from orders
    where tenant_id = $1 and due_at <= now() and ${FREE} and not ${isHeld('$1')}
    order by due_at limit $4
    for no key update skip locked
  )
  update orders o set lease_token = $2, lease_until = now() + $3 * interval '1 millisecond'
  from due where o.tenant_id = $1 and o.order_id = due.order_id
  returning ${ORDER_COLUMNS}, due.lease_token as former_token, o.xmin::text as version, ${IS_LEASE_ODD} as is_lease_odd`
const ITEMS = `
  select c.order_id, i.* from orders c
  cross join lateral (
    select ${ITEM_COLUMNS} from order_items where tenant_id = $1 and order_id = c.order_id
    offset 0 -- keeps the plan one index range for each order, independent of statistics
  ) i
  where c.tenant_id = $1 and c.due_at <= now() and c.lease_token = $2`
const CLOCK = `select date_trunc('milliseconds', clock_timestamp()) as now, version,
  coalesce((select test_offset_ms from tenants where tenant_id = $1), 0)::float8 as test_offset_ms from catalogue_version`

/** Renews the leases that are still held under the token. @returns their orders. */
export async function renewLeases(db: Db, tenantId: string, leaseToken: string, orderIds: string[]): Promise<string[]> {
  const rows = await db.query<{ orderId: string }>({
    name: 'fulfilment-renew',
    text: `update orders set lease_until = now() + $4 * interval '1 millisecond'
           where tenant_id = $1 and order_id = any ($3::uuid[]) and lease_token = $2 returning order_id`,
    values: [tenantId, leaseToken, orderIds, LEASE_MS],
  })
  return rows.map((row) => row.orderId)
}

/** Postpones the order that a claim of one order would lease. */
export async function postponeFirstOrder(db: Db, tenantId: string, byMs: number): Promise<void> {
  await db.query({
    text: `update orders set due_at = now() + $2 * interval '1 millisecond'
           where tenant_id = $1 and order_id = (
             select order_id from orders
             where tenant_id = $1 and due_at <= now() and ${FREE}
             order by due_at limit 1 for no key update skip locked)`,
    values: [tenantId, byMs],
  })
}
