import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql, { raw } from 'sql-template-tag'
import type { Deps } from '#deps.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { SHARE_ALIVE, shareUrl } from './qr-link.ts'

interface LinkDeps extends Pick<Deps, 'links' | 'linkKey'> {
  db: Db
  ids: Ids
}

interface ProfileKey {
  tenantId: string
  profileId: string
}

/**
 * The address of an eSIM's page for the traveller; null once the eSIM has ended. Anyone who has the address can install the
 * eSIM, so the audit entry is written in the same transaction.
 * @throws Refusal if the eSIM does not exist
 */
export async function viewShareLink(deps: LinkDeps, key: ProfileKey, by: By): Promise<string | null> {
  return deps.db.tx(async (tx) => {
    const url = await getLink(tx, deps, key)
    const { tenantId, profileId: subject } = key
    audit(tx, deps.ids, { tenantId, ...by, action: 'profile.view_share_link', subject })
    return url
  })
}

async function getLink(tx: Tx, deps: LinkDeps, key: ProfileKey): Promise<string | null> {
  const [row] = await tx.query<{ generation: number; isShared: boolean }>(sql`
    select p.share_generation as generation, ${raw(SHARE_ALIVE)} as is_shared
    from profiles p
    where p.tenant_id = ${key.tenantId} and p.profile_id = ${key.profileId}`)
  if (!row) throw notFound('eSIM')
  return row.isShared ? shareUrl(deps.links.publicUrl, deps.linkKey, { ...key, generation: row.generation }) : null
}

/** Gives an eSIM another shareUrl. From then on the old one is answered with 410, and says so. Audited. */
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
