import { orderNoOf } from '@dealer-esim/contract'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { UNFINISHED_STATUSES } from '../order-item.ts'

export type UnfinishedStatus = (typeof UNFINISHED_STATUSES)[number]

export interface UnfinishedOrder {
  orderNo: string
  tenantId: string
  clientName: string
  orderStatus: UnfinishedStatus
  esims: number
  createdAt: Date
}

export interface UnfinishedFilter {
  statuses: readonly UnfinishedStatus[]
  /** Only orders placed before this time. */
  before: Date
  /** Only orders after this order id, which is the last one on the previous page. */
  after: string | undefined
}

/**
 * Lists the unfinished orders of all tenants, oldest first. Reads the two partial indexes that contain only these, so that
 * the cost depends on the backlog and not on past sales. Takes no lock.
 */
export async function listUnfinished(db: Db, filter: UnfinishedFilter, limit: number): Promise<UnfinishedOrder[]> {
  const { statuses, before, after } = filter
  return db.tx(async (tx) => {
    // A plan made while the table was empty would be a table scan, which is slow once the table has grown.
    tx.send({ text: 'set local enable_seqscan = off' })
    const rows = await tx.query<Omit<UnfinishedOrder, 'orderNo'> & { orderId: string }>({
      text: `
        select o.order_id, o.tenant_id, t.tenant_name as client_name, o.order_status,
          (select sum((l ->> 'count')::int)::int from jsonb_array_elements(o.package_lines) l) as esims,
          o.created_at
        from (
          (select * from orders where due_at is not null and order_status <> 'UNDER_REVIEW' and ${PAGE}
           order by order_id limit $4)
          union all
          (select * from orders where order_status = 'UNDER_REVIEW' and ${PAGE} order by order_id limit $4)
        ) o join tenants t on t.tenant_id = o.tenant_id
        order by o.order_id limit $4`,
      values: [statuses, firstUuidAt(before.getTime()), after ?? null, limit],
    })
    return rows.map(({ orderId, ...row }) => ({ orderNo: orderNoOf(orderId), ...row }))
  })
}

const PAGE = 'order_status = any ($1) and order_id < $2 and ($3::uuid is null or order_id > $3)'

/**
 * SQL: the unfinished orders that meet the condition. They are in fulfilment or under review, so every item without an
 * outcome belongs to one of them. Each part uses a partial index, so the number of rows read does not grow with the number
 * of orders.
 */
export const unfinishedOrders = (condition: string) => `
  select * from orders where ${condition} and due_at is not null
  union all
  select * from orders where ${condition} and order_status = 'UNDER_REVIEW' and due_at is null`
