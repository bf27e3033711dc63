import type { EsimStatus, OrderStatus, SmdpStatus } from '@dealer-esim/contract'
import type { Tx } from '../lib/db.ts'
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
  const orders = new Map((await locking).map((row) => [row.order_id, orderOf(row)]))
  for (const row of await items) orders.get(row.order_id)?.items.push(itemOf(row))
  for (const row of await profiles) orders.get(row.order_id)?.profiles.push(profileOf(row))
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
  for (const row of rows) byId.get(row.order_id)?.profiles.push(profileOf(row))
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
  order_id: string
  transaction_id: string
  order_status: OrderStatus
  refunded_amount: bigint
  currency_code: string
  event_sequence: number
  package_lines: PackageLine[]
  created_at: Date
}

export interface ItemRow {
  order_id: string
  item_no: number
  line_no: number
  package_code: string
  price: bigint
  item_status: ItemStatus
  route_no: number
  supplier: string | null
  product_code: string | null
  cost: bigint | null
  cost_currency: string | null
  supplier_charge: bigint | null
  supplier_charge_currency: string | null
  attempts: number
  requested_at: Date | null
  in_doubt_at: Date | null
  failure_reason: string | null
  retry_at: Date | null
  updated_at: Date
}

interface ProfileRow {
  order_id: string
  profile_id: string
  item_no: number
  iccid: string
  esim_status: EsimStatus
  smdp_status: SmdpStatus | null
}

export function orderOf(row: OrderRow): LockedOrder {
  return {
    orderId: row.order_id,
    transactionId: row.transaction_id,
    orderStatus: row.order_status,
    refundedAmount: row.refunded_amount,
    currencyCode: row.currency_code,
    eventSequence: row.event_sequence,
    packageLines: row.package_lines,
    createdAt: row.created_at,
    items: [],
    profiles: [],
  }
}

export function itemOf(row: ItemRow): LockedItem {
  return {
    itemNo: row.item_no,
    lineNo: row.line_no,
    packageCode: row.package_code,
    price: row.price,
    itemStatus: row.item_status,
    routeNo: row.route_no,
    supplier: row.supplier,
    productCode: row.product_code,
    cost: row.cost,
    costCurrency: row.cost_currency,
    charged: row.supplier_charge,
    chargedCurrency: row.supplier_charge_currency,
    attempts: row.attempts,
    askedAt: row.requested_at,
    inDoubtAt: row.in_doubt_at,
    failureReason: row.failure_reason,
    retryAt: row.retry_at,
    updatedAt: row.updated_at,
  }
}

function profileOf(row: ProfileRow): LockedProfile {
  return {
    profileId: row.profile_id,
    itemNo: row.item_no,
    iccid: row.iccid,
    esimStatus: row.esim_status,
    smdpStatus: row.smdp_status,
  }
}
