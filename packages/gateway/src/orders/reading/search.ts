import type { OrderStatus, OrderType } from '@dealer-esim/contract'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import { firstUuidAt } from '../../lib/ids.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { sentTransactionId, storedTransactionId } from '../transaction-id.ts'

export interface FoundOrder {
  tenantId: string
  clientName: string
  orderId: string
  transactionId: string
  orderType: OrderType
  /** The eSIM that a TOPUP adds to. */
  toppedUpProfileId: string | null
  orderStatus: OrderStatus
  amount: bigint
  refundedAmount: bigint
  currencyCode: string
  /** The names of its packages when it was placed. */
  packages: string[]
  esims: number
  /** The address of the request without a signature that placed it; null: it was signed. */
  unsignedFrom: string | null
  createdAt: Date
  updatedAt: Date
}

export interface OrderFilter {
  /** null: all tenants. */
  tenantId: string | null
  status?: OrderStatus | undefined
  orderId?: string | undefined
  transactionId?: string | undefined
  iccid?: string | undefined
  orderType?: OrderType | undefined
  /** Only orders of at least one of these packages. */
  packageCodes?: readonly string[] | undefined
  /** Only orders of which this supplier delivered something. */
  supplier?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Only orders before this id: the last one of the previous page. */
  before?: string | undefined
}

/**
 * Searches the orders of one tenant or of all, newest first. The newest of each tenant are read through the primary key, so
 * a page of all costs (tenants × page) rows and never a scan: there are hundreds of tenants and millions of orders.
 */
export function searchOrders(db: Pick<Db, 'query'>, filter: OrderFilter, limit: number): Promise<FoundOrder[]> {
  const where = conditions(filter)
  return db.query<FoundOrder>(sql`
    select o.tenant_id, t.tenant_name as client_name, o.order_id,
           ${raw(sentTransactionId('o'))} as transaction_id, o.order_type, o.topped_up_profile_id, o.order_status, o.amount,
           o.refunded_amount, o.currency_code,
           array(select l ->> 'packageName' from jsonb_array_elements(o.package_lines) l) as packages,
           (select sum((l ->> 'count')::int)::int from jsonb_array_elements(o.package_lines) l) as esims,
           o.sent ->> 'unsignedFrom' as unsigned_from, o.created_at, o.updated_at
    from tenants t
    cross join lateral (
      select * from orders o where o.tenant_id = t.tenant_id ${where} order by o.order_id desc limit ${limit}) o
    where true ${filter.tenantId === null ? empty : sql`and t.tenant_id = ${filter.tenantId}`}
    order by o.order_id desc limit ${limit}`)
}

function conditions(filter: OrderFilter): Sql {
  const { status, orderType, orderId, transactionId, iccid, packageCodes, supplier, from, to, before } = filter
  return sql`
    ${status === undefined ? empty : sql`and o.order_status = ${status}`}
    ${orderId === undefined ? empty : sql`and o.order_id = ${orderId}`}
    ${transactionId === undefined ? empty : sql`and o.transaction_id = ${storedTransactionId(transactionId)}`}
    ${
      iccid === undefined
        ? empty
        : sql`and o.order_id in (
      select p.order_id from profiles p where p.tenant_id = t.tenant_id and p.iccid = ${iccid})`
    }
    ${orderType === undefined ? empty : sql`and o.order_type = ${orderType}`}
    ${
      packageCodes === undefined && supplier === undefined
        ? empty
        : sql`and exists (
      select from order_items i where i.tenant_id = t.tenant_id and i.order_id = o.order_id
        ${packageCodes === undefined ? empty : sql`and i.package_code = any (${[...packageCodes]})`}
        ${supplier === undefined ? empty : sql`and i.supplier = ${supplier} and i.item_status = 'DELIVERED'`})`
    }
    ${from === undefined ? empty : sql`and o.order_id >= ${firstUuidAt(from.getTime())}`}
    ${to === undefined ? empty : sql`and o.order_id < ${firstUuidAt(to.getTime())}`}
    ${before === undefined ? empty : sql`and o.order_id < ${before}`}`
}
