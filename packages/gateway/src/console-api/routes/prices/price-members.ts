import Type from 'typebox'
import type { Db } from '../../../lib/postgres/db.ts'

/** The tenants of a price plan or price group. */
export const members = Type.Object({
  tenantCount: Type.Integer(),
  tenants: Type.Array(Type.Object({ tenantId: Type.String(), clientName: Type.String() }), {
    description: 'The first hundred by name',
  }),
})

const LISTED_MAX = 100

export async function membersOf(db: Db, tenantIds: readonly string[]) {
  const tenants = await db.query<{ tenantId: string; clientName: string }>({
    text: `select tenant_id, tenant_name as client_name from tenants
           where tenant_id = any ($1::uuid[]) order by tenant_name, tenant_id limit ${LISTED_MAX}`,
    values: [tenantIds],
  })
  return { tenantCount: tenantIds.length, tenants }
}
