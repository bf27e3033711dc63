import { orderIdOf } from '@dealer-esim/contract'
import sql, { empty, join } from 'sql-template-tag'
import { isUuid } from '../../lib/ids.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { notFound } from '../../lib/refusal.ts'
import { storedTransactionId } from '../transaction-id.ts'

/** Finds an order and its tenant by the order number alone, for operators. One index probe per tenant. */
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

/** Finds the orders with this id or transactionId, of one tenant or of all: few, because a dealer uses each only once. */
export async function findOrderKeys(
  db: Pick<Db, 'query'>,
  tenantId: string | null,
  { orderId, transactionId }: { orderId?: string | undefined; transactionId?: string | undefined },
): Promise<{ tenantId: string; orderId: string }[]> {
  const conditions = [
    ...(orderId === undefined ? [] : [sql`o.order_id = ${orderId}`]),
    ...(transactionId === undefined ? [] : [sql`o.transaction_id = ${storedTransactionId(transactionId)}`]),
  ]
  if (conditions.length === 0) return []
  return db.query<{ tenantId: string; orderId: string }>(sql`
    select t.tenant_id, o.order_id from tenants t join orders o on o.tenant_id = t.tenant_id
    where ${join(conditions, ' and ')} ${tenantId === null ? empty : sql`and t.tenant_id = ${tenantId}`}
    limit ${ORDER_KEYS_MAX}`)
}

/** Dealers that use the same transactionId. */
const ORDER_KEYS_MAX = 100

/** @throws Refusal where it is not an order number */
export function parseOrderNo(orderNo: string): string {
  const orderId = orderIdOf(orderNo)
  if (orderId === undefined) throw notFound('order')
  return orderId
}

/** @throws Refusal where there is no such order */
export async function getOrder(db: Pick<Db, 'query'>, orderNo: string): Promise<{ tenantId: string; orderId: string }> {
  const found = await findOrder(db, orderNo)
  if (found === undefined) throw notFound('order', orderNo)
  return found
}
