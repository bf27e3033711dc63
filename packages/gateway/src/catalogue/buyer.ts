import type { Db } from '../lib/db.ts'
import { absent } from '../lib/refusal.ts'
import type { Buyer } from './snapshot.ts'

/** @throws Refusal when there is no such tenant */
export async function buyerOf(db: Db, tenantId: string): Promise<Buyer> {
  const [row] = await db.query<{ currencyCode: string }>({
    text: 'select currency_code as "currencyCode" from tenants where tenant_id::text = $1',
    values: [tenantId],
  })
  if (!row) throw absent('tenant', tenantId)
  return { tenantId, currencyCode: row.currencyCode }
}
