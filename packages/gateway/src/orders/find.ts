import type { Db } from '../lib/db.ts'
import { orderIdOf } from '../lib/ids.ts'
import { Refusal } from '../lib/refusal.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Which tenant an order is of: for operators, who name it alone. One index probe a tenant. */
export async function findOrder(
  db: Pick<Db, 'query'>,
  orderNo: string,
): Promise<{ tenantId: string; orderId: string } | undefined> {
  const orderId = UUID.test(orderNo) ? orderNo : orderIdOf(orderNo.toUpperCase())
  if (orderId === undefined) return undefined
  const [row] = await db.query<{ tenant_id: string }>({
    text: `select t.tenant_id from tenants t
           where exists (select from orders o where o.tenant_id = t.tenant_id and o.order_id = $1)`,
    values: [orderId],
  })
  return row && { tenantId: row.tenant_id, orderId }
}

/** @throws Refusal where there is none. */
export async function requireOrder(
  db: Pick<Db, 'query'>,
  orderNo: string,
): Promise<{ tenantId: string; orderId: string }> {
  const found = await findOrder(db, orderNo)
  if (found === undefined) throw new Refusal(404, 'ORDER_UNKNOWN', `There is no order ${orderNo}.`)
  return found
}

/** Whose eSIM this is, by its esimTranNo. @throws Refusal where there is none. */
export async function requireProfile(
  db: Pick<Db, 'query'>,
  profileId: string,
): Promise<{ tenantId: string; profileId: string }> {
  const unknown = new Refusal(404, 'ESIM_UNKNOWN', `There is no eSIM ${profileId}.`)
  if (!UUID.test(profileId)) throw unknown
  const [row] = await db.query<{ tenant_id: string }>({
    text: `select t.tenant_id from tenants t
           where exists (select from profiles p where p.tenant_id = t.tenant_id and p.profile_id = $1)`,
    values: [profileId],
  })
  if (row === undefined) throw unknown
  return { tenantId: row.tenant_id, profileId }
}
