import { orderNoOf } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { itemKeyOf } from '#orders/order-item.ts'

export interface OrderUnderReview {
  tenantId: string
  orderNo: string
  itemNos: number[]
  /** Names of the items at their suppliers. */
  keys: string[]
  suppliers: string[]
  reason: string | null
  createdAt: Date
}

const REVIEWED_MAX = 1_000

/** Lists the orders under review, of one tenant or of all, oldest first. */
export async function listOrdersUnderReview(db: Db, tenantId?: string): Promise<OrderUnderReview[]> {
  const rows = await db.query<Omit<OrderUnderReview, 'orderNo' | 'keys'> & { orderId: string }>({
    text: `select o.tenant_id, o.order_id, o.created_at, i.*
           from orders o cross join lateral (
             select array_agg(item_no order by item_no) as item_nos,
               array_agg(distinct supplier) filter (where supplier is not null) as suppliers,
               min(failure_reason) as reason
             from order_items where tenant_id = o.tenant_id and order_id = o.order_id and item_status = 'REVIEW'
           ) i
           where o.order_status = 'UNDER_REVIEW' and ($1::uuid is null or o.tenant_id = $1)
           order by o.order_id limit $2`,
    values: [tenantId ?? null, REVIEWED_MAX],
  })
  return rows.map(({ orderId, ...row }) => ({
    ...row,
    keys: row.itemNos.map((itemNo) => itemKeyOf(orderId, itemNo)),
    suppliers: row.suppliers ?? [],
    orderNo: orderNoOf(orderId),
  }))
}
