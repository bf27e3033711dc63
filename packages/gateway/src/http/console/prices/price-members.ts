import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import Type from 'typebox'

/** The tenants of a price plan or price group. */
export const members = Type.Object({
  tenantCount: Type.Integer(),
  tenants: Type.Array(Type.Object({ tenantId: Type.String(), clientName: Type.String() }), {
    description: 'The first hundred by name',
  }),
})

const LISTED_MAX = 100

/** Counts the tenants whose prices come from a plan, their own or their group's: those with one currency, and all others. */
export async function countPayers(
  db: Db,
  planName: string,
  currencyCode: string,
): Promise<{ dealers: number; otherDealers: number }> {
  const [row] = await db.query<{ dealers: number; otherDealers: number }>({
    text: `select (count(*) filter (where currency_code = $2))::int as dealers,
                  (count(*) filter (where currency_code <> $2))::int as other_dealers
           from tenants t
           where (
             exists (select from tenant_price_plans p
                     where p.tenant_id = t.tenant_id and p.plan_name = $1 and not p.removed)
             or exists (select from tenant_price_groups g
                        join price_group_plans gp on gp.group_name = g.group_name and gp.plan_name = $1 and not gp.removed
                        where g.tenant_id = t.tenant_id and not g.removed))`,
    values: [planName, currencyCode],
  })
  return row!
}

export async function membersOf(db: Db, tenantIds: readonly string[]) {
  const tenants = await db.query<{ tenantId: string; clientName: string }>({
    text: `select tenant_id, tenant_name as client_name from tenants
           where tenant_id = any ($1::uuid[]) order by tenant_name, tenant_id limit ${LISTED_MAX}`,
    values: [tenantIds],
  })
  return { tenantCount: tenantIds.length, tenants }
}
