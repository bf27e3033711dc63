import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'

/** Gives an eSIM another shareUrl. From then on the old one is answered with 404. Audited. */
export async function renewShareLink(
  deps: { db: Db; ids: Ids },
  { tenantId, profileId }: { tenantId: string; profileId: string },
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const renewed = await tx.query(sql`
      update profiles set share_generation = share_generation + 1, updated_at = greatest(clock_timestamp(), updated_at)
      where tenant_id = ${tenantId} and profile_id = ${profileId} returning 1`)
    if (renewed.length === 0) throw notFound('eSIM')
    audit(tx, deps.ids, { tenantId, ...by, action: 'profile.renew_share_link', subject: profileId })
  })
}
