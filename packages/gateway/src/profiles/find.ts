import { isUuid } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import { notFound } from '../lib/refusal.ts'

/** Whose eSIM this is, by its esimTranNo. @throws Refusal where there is none. */
export async function requireProfile(
  db: Pick<Db, 'query'>,
  profileId: string,
): Promise<{ tenantId: string; profileId: string }> {
  if (!isUuid(profileId)) throw notFound('eSIM', profileId)
  const [row] = await db.query<{ tenantId: string }>({
    text: `select t.tenant_id from tenants t
           where exists (select from profiles p where p.tenant_id = t.tenant_id and p.profile_id = $1)`,
    values: [profileId],
  })
  if (row === undefined) throw notFound('eSIM', profileId)
  return { tenantId: row.tenantId, profileId }
}
