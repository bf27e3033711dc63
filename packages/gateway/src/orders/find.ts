import { isUuid, orderIdOf } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import { notFound } from '../lib/refusal.ts'

/** Which tenant an order is of: for operators, who name it alone. One index probe a tenant. */
export async function findOrder(
  db: Pick<Db, 'query'>,
  orderNo: string,
): Promise<{ tenantId: string; orderId: string } | undefined> {
  const orderId = isUuid(orderNo) ? orderNo : orderIdOf(orderNo.toUpperCase())
  if (orderId === undefined) return undefined
  const [row] = await db.query<{ tenantId: string }>({
    text: `select t.tenant_id from tenants t
           where exists (select from orders o where o.tenant_id = t.tenant_id and o.order_id = $1)`,
    values: [orderId],
  })
  return row && { tenantId: row.tenantId, orderId }
}

/** @throws Refusal where it is no order number */
export function requireOrderId(orderNo: string): string {
  const orderId = orderIdOf(orderNo)
  if (orderId === undefined) throw notFound('order')
  return orderId
}

/** @throws Refusal where there is none. */
export async function requireOrder(
  db: Pick<Db, 'query'>,
  orderNo: string,
): Promise<{ tenantId: string; orderId: string }> {
  const found = await findOrder(db, orderNo)
  if (found === undefined) throw notFound('order', orderNo)
  return found
}
