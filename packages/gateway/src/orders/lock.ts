import type { EsimStatus, OrderStatus, SmdpStatus } from '@dealer-esim/contract'
import type { Tx } from '../lib/postgres/db.ts'
import { lockWallet } from '../wallet/lock.ts'
import type { PackageLine } from './decide.ts'
import type { ItemStatus } from './status.ts'

/** An order as it was read under its lock, with its items and what is public of its profiles. */
export interface LockedOrder {
  orderId: string
  transactionId: string
  orderStatus: OrderStatus
  refundedAmount: bigint
  currencyCode: string
  eventSequence: number
  packageLines: PackageLine[]
  createdAt: Date
  /** In order of itemNo. */
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
  /** What its supplier says that it charged; null: it does not say, or has not charged. */
  charged: bigint | null
  chargedCurrency: string | null
  attempts: number
  askedAt: Date | null
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

/** Orders by their ids, and the time of the database at which they were locked. */
interface Locked {
  orders: Map<string, LockedOrder>
  now: Date
}

/**
 * Locks orders of one tenant, in ascending order, and reads them whole. One round trip. With a lease token only those
 * are found that are still held under it: the others belong to somebody else now.
 *
 * Lock order: wallets, orders, items. Items and profiles of a locked order
 * are changed by nobody else, so they need no lock of their own; they are read by statements of their own, because the
 * snapshot of the locking statement is older than the lock it waited for.
 */
export async function lockOrders(
  tx: Tx,
  tenantId: string,
  orderIds: readonly string[],
  leaseToken?: string,
): Promise<Locked> {
  const values = [tenantId, orderIds]
  const locking = tx.query<OrderRow>(
    leaseToken === undefined
      ? { name: 'orders-lock', text: LOCK, values }
      : { name: 'orders-lock-leased', text: LOCK_LEASED, values: [...values, leaseToken] },
  )
  const items = tx.query<ItemRow>({ name: 'orders-lock-items', text: ITEMS, values })
  const profiles = tx.query<ProfileRow>({ name: 'orders-lock-profiles', text: PROFILES, values })
  const clock = tx.query<{ now: Date }>({ name: 'orders-lock-now', text: NOW })
  const orders = new Map((await locking).map((row) => [row.orderId, orderOf(row)]))
  for (const row of await items) orders.get(row.orderId)?.items.push(itemOf(row))
  for (const row of await profiles) orders.get(row.orderId)?.profiles.push(profileOf(row))
  return { orders, now: (await clock)[0]!.now }
}

/** The same for who may refund: the wallet's lock comes first. One round trip. */
export async function lockWalletAndOrders(
  tx: Tx,
  tenantId: string,
  orderIds: readonly string[],
  leaseToken?: string,
): Promise<Locked> {
  const wallet = lockWallet(tx, tenantId)
  // Awaited together: where a connection is lost, both fail.
  const [locked] = await Promise.all([lockOrders(tx, tenantId, orderIds, leaseToken), wallet])
  return locked
}

/** What a claim leaves out because it is rarely needed: the profiles that came before. */
export async function readProfiles(tx: Tx, tenantId: string, orders: readonly LockedOrder[]): Promise<void> {
  if (orders.length === 0) return
  const byId = new Map(orders.map((order) => [order.orderId, order]))
  const values = [tenantId, [...byId.keys()]]
  const rows = await tx.query<ProfileRow>({ name: 'orders-lock-profiles', text: PROFILES, values })
  for (const row of rows) byId.get(row.orderId)?.profiles.push(profileOf(row))
}

const ORDER_COLUMNS = `order_id, transaction_id, order_status, refunded_amount, currency_code, event_sequence,
  package_lines, created_at`
const LOCK = `select ${ORDER_COLUMNS} from orders
  where tenant_id = $1 and order_id = any ($2::uuid[]) order by order_id for no key update`
const LOCK_LEASED = `select ${ORDER_COLUMNS} from orders
  where tenant_id = $1 and order_id = any ($2::uuid[]) and lease_token = $3 order by order_id for no key update`
export const ITEM_COLUMNS = `item_no, line_no, package_code, price, item_status, route_no, supplier, product_code, cost,
  cost_currency, supplier_charge, supplier_charge_currency, attempts, requested_at, in_doubt_at, failure_reason,
  retry_at, updated_at`
const ITEMS = `select order_id, ${ITEM_COLUMNS} from order_items
  where tenant_id = $1 and order_id = any ($2::uuid[]) order by order_id, item_no`
const PROFILES = `select order_id, profile_id, item_no, iccid, esim_status, smdp_status from profiles
  where tenant_id = $1 and order_id = any ($2::uuid[]) order by order_id, item_no`
const NOW = `select date_trunc('milliseconds', clock_timestamp()) as now`

export interface OrderRow {
  orderId: string
  transactionId: string
  orderStatus: OrderStatus
  refundedAmount: bigint
  currencyCode: string
  eventSequence: number
  packageLines: PackageLine[]
  createdAt: Date
}

export interface ItemRow {
  orderId: string
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
  supplierCharge: bigint | null
  supplierChargeCurrency: string | null
  attempts: number
  requestedAt: Date | null
  inDoubtAt: Date | null
  failureReason: string | null
  retryAt: Date | null
  updatedAt: Date
}

interface ProfileRow {
  orderId: string
  profileId: string
  itemNo: number
  iccid: string
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
}

export function orderOf(row: OrderRow): LockedOrder {
  return {
    orderId: row.orderId,
    transactionId: row.transactionId,
    orderStatus: row.orderStatus,
    refundedAmount: row.refundedAmount,
    currencyCode: row.currencyCode,
    eventSequence: row.eventSequence,
    packageLines: row.packageLines,
    createdAt: row.createdAt,
    items: [],
    profiles: [],
  }
}

export function itemOf(row: ItemRow): LockedItem {
  return {
    itemNo: row.itemNo,
    lineNo: row.lineNo,
    packageCode: row.packageCode,
    price: row.price,
    itemStatus: row.itemStatus,
    routeNo: row.routeNo,
    supplier: row.supplier,
    productCode: row.productCode,
    cost: row.cost,
    costCurrency: row.costCurrency,
    charged: row.supplierCharge,
    chargedCurrency: row.supplierChargeCurrency,
    attempts: row.attempts,
    askedAt: row.requestedAt,
    inDoubtAt: row.inDoubtAt,
    failureReason: row.failureReason,
    retryAt: row.retryAt,
    updatedAt: row.updatedAt,
  }
}

function profileOf(row: ProfileRow): LockedProfile {
  return {
    profileId: row.profileId,
    itemNo: row.itemNo,
    iccid: row.iccid,
    esimStatus: row.esimStatus,
    smdpStatus: row.smdpStatus,
  }
}
