import type { Db } from '../lib/postgres/db.ts'

/** Tenants with eSIMs, one after the other: one step in an index each, however many eSIMs they have. */
export async function nextTenant(db: Db, after: string): Promise<string | undefined> {
  const [next] = await db.query<{ tenantId: string }>({
    name: 'profiles-next-tenant',
    text: 'select tenant_id from profiles where tenant_id > $1 order by tenant_id limit 1',
    values: [after],
  })
  return next?.tenantId
}
