import type { Db } from '../lib/postgres/db.ts'
import { notFound, requireUuid } from '../lib/refusal.ts'
import type { Buyer } from './snapshot.ts'

/** @throws Refusal when there is no such tenant */
export async function buyerOf(db: Db, typedId: string): Promise<Buyer> {
  const tenantId = requireUuid(typedId, 'tenant')
  const [row] = await db.query<{ currencyCode: string }>({
    text: 'select currency_code from tenants where tenant_id = $1',
    values: [tenantId],
  })
  if (!row) throw notFound('tenant', tenantId)
  return { tenantId, currencyCode: row.currencyCode }
}
