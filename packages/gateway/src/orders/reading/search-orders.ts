import type { OrderStatus, OrderType } from '@dealer-esim/contract'
import type { RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import {
  countRows,
  type FoundKeys,
  findRowKeys,
  type RowFilter,
  type RowKey,
  type RowTable,
  type SortedPage,
} from '#tenants/tenant-rows.ts'
import { sentTransactionId, storedTransactionId } from '../transaction-id.ts'
import { lateAt, waitsForSupplier } from './late-order.ts'

export interface FoundOrder {
  tenantId: string
  clientName: string
  orderId: string
  /** The number of its debit among the dealer's ledger entries, which people use as the order's number: `#1042`. */
  entryNo: bigint
  transactionId: string
  orderType: OrderType
  /** The eSIM that a TOPUP is added to. */
  toppedUpProfileId: string | null
  orderStatus: OrderStatus
  amount: bigint
  refundedAmount: bigint
  currencyCode: string
  /** The names of its packages at the time of the order. */
  packages: string[]
  /** The code of its first package. */
  packageCode: string
  esims: number
  /** The address that placed the order if the request was unsigned; null: the request was signed. */
  unsignedFrom: string | null
  createdAt: Date
  updatedAt: Date
}

export interface OrderFilter {
  /** null: all tenants. */
  tenantId: string | null
  status?: OrderStatus | undefined
  /** LATE: orders that wait for their supplier longer than usual. */
  waiting?: 'LATE' | undefined
  orderType?: OrderType | undefined
  /** Finds orders by any of these four, because a typed text may be a valid order number, transactionId and ICCID. */
  orderId?: string | undefined
  entryNo?: bigint | undefined
  transactionId?: string | undefined
  iccid?: string | undefined
  /** Only orders that contain at least one of these packages. */
  packageCodes?: readonly string[] | undefined
  /** Only orders to which this supplier delivered something. */
  supplier?: string | undefined
  amountFrom?: number | undefined
  amountTo?: number | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** The sort expressions for each column; an empty list sorts by time. Amounts are grouped by currency. */
const SORTS = {
  createdAt: [],
  amount: ['r.currency_code', 'r.amount'],
  transactionId: ['r.transaction_id'],
  clientName: ['left(lower(t.tenant_name), 60)'],
} as const

export type OrderSort = keyof typeof SORTS

const ORDERS: RowTable = { table: 'orders', id: 'order_id' }

/** Searches the orders of one tenant or of all, newest first or sorted by a column. */
export async function searchOrders(
  db: Pick<Db, 'query'>,
  filter: OrderFilter,
  { column = 'createdAt', ...page }: SortedPage<OrderSort>,
): Promise<Omit<FoundKeys, 'keys'> & { orders: FoundOrder[] }> {
  const { keys, ...rest } = await findRowKeys(db, ORDERS, rowFilter(filter), { ...page, by: SORTS[column] })
  return { orders: await readOrders(db, keys), ...rest }
}

/** Counts the matching orders and sums their amounts. */
export function countOrders(db: Pick<Db, 'query'>, filter: OrderFilter): Promise<RowCount> {
  return countRows(db, ORDERS, rowFilter(filter), 'r.amount')
}

async function readOrders(db: Pick<Db, 'query'>, keys: RowKey[]): Promise<FoundOrder[]> {
  if (keys.length === 0) return []
  return db.query<FoundOrder>(sql`
    select o.tenant_id, t.tenant_name as client_name, o.order_id, o.wallet_version as entry_no,
           ${raw(sentTransactionId('o'))} as transaction_id, o.order_type, o.topped_up_profile_id, o.order_status, o.amount,
           o.refunded_amount, o.currency_code,
           array(select l ->> 'packageName' from jsonb_array_elements(o.package_lines) l) as packages,
           o.package_lines -> 0 ->> 'packageCode' as package_code,
           (select sum((l ->> 'count')::int)::int from jsonb_array_elements(o.package_lines) l) as esims,
           o.sent ->> 'unsignedFrom' as unsigned_from, o.created_at, o.updated_at
    from unnest(${keys.map((key) => key.tenantId)}::uuid[], ${keys.map((key) => key.id)}::uuid[])
           with ordinality as k (tenant_id, order_id, place)
    join orders o on o.tenant_id = k.tenant_id and o.order_id = k.order_id
    join tenants t on t.tenant_id = k.tenant_id
    order by k.place`)
}

/**
 * Builds the conditions. Rare statuses (as in order/list) and top-ups are found through partial indexes; all other
 * conditions are checked on the orders themselves.
 */
function rowFilter(filter: OrderFilter): RowFilter {
  const { tenantId, status, waiting, orderType, packageCodes, from, to } = filter
  if (packageCodes?.length === 0) return { tenantId, matching: 'ONE', indexed: [raw('false')] }
  const named = ordersNamed(filter)
  const hasFew = isRare(status) || waiting === 'LATE' || orderType === 'TOPUP'
  return {
    ...{ tenantId, from, to },
    matching: named.length > 0 ? 'ONE' : hasFew ? 'FEW' : undefined,
    indexed: [
      ...(named.length === 0 ? [] : [sql`r.order_id in (${join(named, ' union all ')})`]),
      ...(status === undefined ? [] : [statusCondition(status)]),
      ...(waiting === 'LATE' ? [raw(waitsForSupplier('r'))] : []),
      ...(orderType === 'TOPUP' ? [sql`r.order_type = 'TOPUP'`] : []),
    ],
    others: otherConditions(filter),
  }
}

/** Finds the ids of the tenant's orders with each of these names, through an index. */
function ordersNamed({ orderId, entryNo, transactionId, iccid }: OrderFilter): Sql[] {
  const named: Sql[] = []
  if (orderId !== undefined) named.push(sql`select ${orderId}::uuid`)
  if (entryNo !== undefined)
    named.push(sql`
      select e.order_id from transfers e
      where e.tenant_id = t.tenant_id and e.wallet_version = ${entryNo} and e.kind in ('ORDER', 'ESIM_TOPUP')`)
  if (transactionId !== undefined)
    named.push(sql`
      select o.order_id from orders o
      where o.tenant_id = t.tenant_id and o.transaction_id = ${storedTransactionId(transactionId)}`)
  if (iccid !== undefined)
    named.push(sql`select p.order_id from profiles p where p.tenant_id = t.tenant_id and p.iccid = ${iccid}`)
  return named
}

function isRare(status: OrderStatus | undefined): boolean {
  return status !== undefined && status !== 'DELIVERED'
}

/** A partial index serves a statement only if the statement repeats its condition. */
function statusCondition(status: OrderStatus): Sql {
  switch (status) {
    case 'PAID':
    case 'ALLOCATING':
      return sql`r.due_at is not null and r.order_status = ${status}`
    case 'UNDER_REVIEW':
      return raw("r.order_status = 'UNDER_REVIEW'")
    case 'PARTIALLY_DELIVERED':
    case 'FAILED':
    case 'CANCELLED':
      return sql`r.order_status in ('PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED') and r.order_status = ${status}`
    case 'DELIVERED':
      return raw("r.order_status = 'DELIVERED'")
    default:
      return status satisfies never
  }
}

function otherConditions(filter: OrderFilter): Sql[] {
  const { waiting, orderType, packageCodes, supplier, amountFrom, amountTo } = filter
  const conditions = [
    waiting === 'LATE' ? raw(`${lateAt('r')} < now()`) : empty,
    orderType === 'NEW' ? raw("r.order_type = 'NEW'") : empty,
    packageCodes === undefined ? empty : ofPackages(packageCodes),
    amountFrom === undefined ? empty : sql`r.amount >= ${amountFrom}`,
    amountTo === undefined ? empty : sql`r.amount <= ${amountTo}`,
    supplier === undefined
      ? empty
      : sql`exists (select from order_items i where i.tenant_id = r.tenant_id and i.order_id = r.order_id
                      and i.supplier = ${supplier} and i.item_status = 'DELIVERED')`,
  ]
  return conditions.filter((condition) => condition !== empty)
}

function ofPackages(packageCodes: readonly string[]): Sql {
  return sql`exists (select from jsonb_array_elements(r.package_lines) l
                     where l ->> 'packageCode' = any (${[...packageCodes]}::text[]))`
}
