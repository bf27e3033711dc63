import type { EsimStatus, OrderStatus, OrderType, SmdpStatus } from '@dealer-esim/contract'
import { failUnless, plainArray, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { tenantTime } from '#platform/test-time.ts'
import { lockWallet } from '#wallet/ledger/lock-wallets.ts'
import type { ItemStatus, PackageLine } from './order-item.ts'
import { sentTransactionId } from './transaction-id.ts'

/** An order as read under its lock, with its items and the public part of its profiles. */
export interface LockedOrder {
  orderId: string
  /** As the dealer sent it. */
  transactionId: string
  orderType: OrderType
  /** The eSIM that a TOPUP is added to. */
  toppedUpProfileId: string | null
  orderStatus: OrderStatus
  refundedAmount: bigint
  currencyCode: string
  eventSequence: number
  packageLines: PackageLine[]
  createdAt: Date
  /** By itemNo, ascending. */
  items: LockedItem[]
  profiles: LockedProfile[]
}

export interface LockedItem {
  itemNo: number
  lineNo: number
  packageCode: string
  price: bigint
  itemStatus: ItemStatus
  routeNo: number
  supplier: string | null
  productCode: string | null
  cost: bigint | null
  costCurrency: string | null
  /** The amount that its supplier reported as charged; null if the supplier does not report charges, or has not charged. */
  supplierCharge: bigint | null
  supplierChargeCurrency: string | null
  attempts: number
  requestedAt: Date | null
  inDoubtAt: Date | null
  failureReason: string | null
  retryAt: Date | null
  updatedAt: Date
}

export interface LockedProfile {
  profileId: string
  itemNo: number
  iccid: string
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
}

export interface LockedOrders {
  /** By orderId. */
  orders: Map<string, LockedOrder>
  /** The orders that delivered the eSIMs being topped up; one of them may also be among `orders`. */
  esimOrders: Map<string, LockedOrder>
  /** The tenant's time when they were locked (platform/test-time.ts). */
  now: Date
  /** The database's time at that moment, for work that is due. */
  databaseNow: Date
}

/**
 * Locks orders of one tenant, in ascending order, and reads them with their items and profiles. With a lease token it finds
 * only orders whose lease still has that token. The orders in `esimOrderIds` are those whose eSIMs are topped up. They are
 * found under any lease, and locked in the same statement to keep the lock order.
 * Lock order: wallets, orders, items. Only the holder of the order's lock changes its items and profiles, so they need no
 * lock. They are read by separate statements, because the snapshot of the locking statement is older than the lock that it
 * waited for. One round trip; two if another worker holds a lease (readAskedItems). The holder knows its own attempts.
 */
export async function lockOrders(
  tx: Tx,
  tenantId: string,
  orderIds: readonly string[],
  leaseToken?: string,
  esimOrderIds: readonly string[] = [],
): Promise<LockedOrders> {
  const values = [tenantId, [...orderIds, ...esimOrderIds]]
  const locking = tx.query<LockedRow>(
    leaseToken === undefined
      ? { name: 'orders-lock', text: LOCK, values }
      : { name: 'orders-lock-leased', text: LOCK_LEASED, values: [...values, leaseToken, esimOrderIds] },
  )
  const items = tx.query<ItemRow>({ name: 'orders-lock-items', text: ITEMS, values })
  const profiles = tx.query<ProfileRow>({ name: 'orders-lock-profiles', text: PROFILES, values })
  const clock = tx.query<{ databaseNow: Date; testOffsetMs: number }>({
    name: 'orders-lock-now',
    text: NOW,
    values: [tenantId],
  })
  const locked = new Map((await locking).map(({ isHeld: _, leaseToken: __, ...row }) => [row.orderId, orderOf(row)]))
  for (const row of await items) locked.get(row.orderId)?.items.push(itemOf(row))
  for (const row of await profiles) locked.get(row.orderId)?.profiles.push(profileOf(row))
  const leasedElsewhere = (await locking).flatMap((row) =>
    row.leaseToken === null || row.leaseToken === leaseToken
      ? []
      : [{ order: locked.get(row.orderId)!, leaseToken: row.leaseToken }],
  )
  await readAskedItems(tx, tenantId, leasedElsewhere)
  const held = new Set((await locking).filter((row) => row.isHeld !== false).map((row) => row.orderId))
  const those = (ids: readonly string[]) => new Map([...locked].filter(([orderId]) => ids.includes(orderId)))
  const [at] = await clock
  return {
    orders: those(orderIds.filter((orderId) => held.has(orderId))),
    esimOrders: those(esimOrderIds),
    now: tenantTime(at!.databaseNow, at!),
    databaseNow: at!.databaseNow,
  }
}

/** An order as its worker left it when leasing it, and the version of its row. */
export interface KeptOrder {
  order: LockedOrder
  version: string
}

/**
 * Locks orders that the holder of the lease has kept in memory, and fails the transaction with NOT_AS_EXPECTED unless all
 * of them are still held and unchanged. Every writer of an order's items or profiles also writes the order's row, so a
 * change shows in its version. Adds no round trip.
 */
export function expectKeptOrders(
  tx: Tx,
  tenantId: string,
  kept: ReadonlyMap<string, KeptOrder>,
  leaseToken: string,
): void {
  const orderIds = [...kept.keys()].sort()
  const versions = orderIds.map((orderId) => kept.get(orderId)!.version)
  const values = [tenantId, uuidArray(orderIds), plainArray(versions), leaseToken]
  tx.send({ name: 'orders-expect-kept', text: EXPECT_KEPT, values })
}

/** The terms on which an item is bought: those of the package's route at the time its supplier is asked. */
export type Terms = Pick<LockedItem, 'supplier' | 'productCode' | 'cost' | 'costCurrency' | 'routeNo'>

/** The columns that count attempts are of type smallint. */
const ATTEMPTS_MAX = 32_767

/** Makes a WAITING item ASKED. Drops any earlier supplier charge: it was refunded, or the item would not be bought again. */
export function markAsked(item: LockedItem, terms: Terms, startedAt: Date): void {
  const { supplier, productCode, cost, costCurrency, routeNo } = terms
  const isFirst = item.requestedAt === null || item.requestedAt > startedAt
  Object.assign(item, {
    ...{ supplier, productCode, cost, costCurrency, routeNo, supplierCharge: null, supplierChargeCurrency: null },
    ...{ itemStatus: 'ASKED', inDoubtAt: null, retryAt: null, updatedAt: startedAt },
    attempts: countAttempt(item.attempts),
    requestedAt: isFirst ? startedAt : item.requestedAt,
  })
}

export function countAttempt(attempts: number): number {
  return Math.min(attempts + 1, ATTEMPTS_MAX)
}

/**
 * Marks as ASKED the items that the worker holding the lease has requested from suppliers. That worker writes them with
 * their outcome, or earlier if a supplier is slow (fulfilment/run-claim.ts); until then, only its open attempts show that
 * they were requested. The caller has locked the orders.
 * @returns these items
 */
export async function readAskedItems(
  tx: Tx,
  tenantId: string,
  leased: readonly { order: LockedOrder; leaseToken: string }[],
): Promise<{ orderId: string; item: LockedItem }[]> {
  const waiting = leased.filter(({ order }) => order.items.some((item) => item.itemStatus === 'WAITING'))
  if (waiting.length === 0) return []
  const orders = new Map(waiting.map(({ order }) => [order.orderId, order]))
  const rows = await tx.query<Terms & { orderId: string; itemNo: number; startedAt: Date }>({
    name: 'orders-asked-items',
    text: ASKED,
    values: [tenantId, [...orders.keys()], waiting.map(({ leaseToken }) => leaseToken)],
  })
  return rows.flatMap(({ orderId, itemNo, startedAt, ...terms }) => {
    const item = orders.get(orderId)!.items.find((one) => one.itemNo === itemNo)
    if (item?.itemStatus !== 'WAITING') return []
    markAsked(item, terms, startedAt)
    return [{ orderId, item }]
  })
}

/** Locks the wallet and then the orders, for callers that may refund. One round trip. */
export async function lockWalletAndOrders(
  tx: Tx,
  tenantId: string,
  orderIds: readonly string[],
  leaseToken?: string,
  esimOrderIds: readonly string[] = [],
): Promise<LockedOrders> {
  const wallet = lockWallet(tx, tenantId)
  // Awaited together, because both fail if the connection is lost.
  const [locked] = await Promise.all([lockOrders(tx, tenantId, orderIds, leaseToken, esimOrderIds), wallet])
  return locked
}

/** Adds the profiles that were delivered earlier. A claim does not read them, because it rarely needs them. */
export async function readProfiles(tx: Tx, tenantId: string, orders: readonly LockedOrder[]): Promise<void> {
  if (orders.length === 0) return
  const byId = new Map(orders.map((order) => [order.orderId, order]))
  const values = [tenantId, [...byId.keys()]]
  const rows = await tx.query<ProfileRow>({ name: 'orders-lock-profiles', text: PROFILES, values })
  for (const row of rows) byId.get(row.orderId)?.profiles.push(profileOf(row))
}

export const ORDER_COLUMNS = `o.order_id, ${sentTransactionId('o')} as transaction_id, o.order_type, o.topped_up_profile_id, o.order_status,
  o.refunded_amount, o.currency_code, o.event_sequence, o.package_lines, o.created_at`
const LOCK = `select ${ORDER_COLUMNS}, lease_token from orders o
  where tenant_id = $1 and order_id = any ($2::uuid[]) order by order_id for no key update`
const LOCK_LEASED = `select ${ORDER_COLUMNS}, lease_token, coalesce(lease_token = $3, false) as is_held from orders o
  where tenant_id = $1 and order_id = any ($2::uuid[]) and (lease_token = $3 or order_id = any ($4::uuid[]))
  order by order_id for no key update`
export const ITEM_COLUMNS = `item_no, line_no, package_code, price, item_status, route_no, supplier, product_code, cost,
  cost_currency, supplier_charge, supplier_charge_currency, attempts, requested_at, in_doubt_at, failure_reason,
  retry_at, updated_at`
const ITEMS = `select order_id, ${ITEM_COLUMNS} from order_items
  where tenant_id = $1 and order_id = any ($2::uuid[]) order by order_id, item_no`
const PROFILES = `select order_id, profile_id, item_no, iccid, esim_status, smdp_status from profiles
  where tenant_id = $1 and order_id = any ($2::uuid[]) order by order_id, item_no`
const EXPECT_KEPT = `
  select ${failUnless('array_agg(version) = $3::text[]')}
  from (
    select xmin::text as version from orders
    where tenant_id = $1 and order_id = any ($2::uuid[]) and lease_token = $4 order by order_id for no key update
  ) held`
const ASKED = `
  select a.order_id, a.item_no, a.supplier, a.product_code, a.cost, a.cost_currency, a.route_no, a.started_at
  from unnest($2::uuid[], $3::uuid[]) as leased(order_id, lease_token)
  cross join lateral (
    select * from supplier_attempts where tenant_id = $1 and order_id = leased.order_id
    offset 0 -- keeps the plan one index range for each order, independent of statistics
  ) a
  where a.lease_token = leased.lease_token and a.finished_at is null and a.operation in ('ORDER', 'TOPUP')`
const NOW = `select date_trunc('milliseconds', clock_timestamp()) as database_now,
  coalesce((select test_offset_ms from tenants where tenant_id = $1), 0)::float8 as test_offset_ms`

/** The columns of an order as lockOrders and a claim read them. */
export type OrderRow = Omit<LockedOrder, 'items' | 'profiles'>
export type ItemRow = LockedItem & { orderId: string }
type LockedRow = OrderRow & { leaseToken: string | null; isHeld?: boolean }
type ProfileRow = LockedProfile & { orderId: string }

export function orderOf(row: OrderRow): LockedOrder {
  return { ...row, items: [], profiles: [] }
}

export function itemOf({ orderId: _, ...item }: ItemRow): LockedItem {
  return item
}

function profileOf({ orderId: _, ...profile }: ProfileRow): LockedProfile {
  return profile
}
