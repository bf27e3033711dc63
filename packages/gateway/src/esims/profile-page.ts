import type { Profile } from '@dealer-esim/contract'
import { firstUuidAt, HIGHEST_UUID, isUuid, LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { JOIN_ORDERS, type JoinedRow, type ProfileReadDeps, profileOfRow } from './profile.ts'

/** The maximum number of eSIMs that a numbered page can count: neither count nor page reads more rows. */
export const COUNTED_PROFILES_MAX = 10_000

export interface ProfilePageFilter {
  esimTranNo?: string | undefined
  /** Without padding. */
  iccid?: string | undefined
  startMs?: number | undefined
  endMs?: number | undefined
}

/** Installation times of the eSIMs whose supplier reports them. The dealer API has no member for this. */
export async function findInstallationTimes(
  db: Pick<Db, 'query'>,
  tenantId: string,
  profiles: readonly Profile[],
): Promise<Map<string, Date>> {
  // An eSIM that has not been installed has no time.
  const ids = profiles.filter(({ smdpStatus }) => smdpStatus !== null).map(({ esimTranNo }) => esimTranNo)
  if (ids.length === 0) return new Map()
  const rows = await db.query<{ profileId: string; installationTime: Date }>({
    name: 'profiles-installation-times',
    text: `select profile_id, installation_time from profiles
           where tenant_id = $1 and profile_id = any ($2::uuid[]) and installation_time is not null`,
    values: [tenantId, ids],
  })
  return new Map(rows.map(({ profileId, installationTime }) => [profileId, installationTime]))
}

/**
 * Reads one numbered page of a tenant's eSIMs, oldest first by (createTime, id), so that new eSIMs are at the end and do
 * not shift pages. Those of one ICCID are listed newest first, because an ICCID stands for the newest eSIM that has it.
 * @returns undefined if the filter matches more than COUNTED_PROFILES_MAX
 */
export async function pageProfiles(
  deps: ProfileReadDeps & { db: Db },
  tenantId: string,
  { esimTranNo, iccid, startMs, endMs }: ProfilePageFilter,
  { pageNum, pageSize }: { pageNum: number; pageSize: number },
): Promise<{ profiles: Profile[]; total: number } | undefined> {
  if (esimTranNo !== undefined && !isUuid(esimTranNo)) return { profiles: [], total: 0 }
  const from = startMs === undefined ? LOWEST_UUID : firstUuidAt(startMs)
  const below = endMs === undefined ? HIGHEST_UUID : firstUuidAt(endMs)
  const [name, filter] =
    esimTranNo !== undefined
      ? ['esim', 'p.profile_id = $4::uuid and ($5::text is null or p.iccid = $5)']
      : iccid !== undefined
        ? ['iccid', '$4::uuid is null and p.iccid = $5']
        : ['times', '$4::uuid is null and $5::text is null']
  const order = `p.profile_id ${name === 'iccid' ? 'desc' : 'asc'}`
  const where = `p.tenant_id = $1 and p.profile_id >= $2::uuid and p.profile_id < $3::uuid and ${filter}`
  const values = [tenantId, from, below, esimTranNo ?? null, iccid ?? null]
  const [counted] = await deps.db.query<{ total: number }>({
    name: `profiles-count-${name}`,
    text: `select count(*)::int as total from (select from profiles p where ${where} limit ${COUNTED_PROFILES_MAX + 1}) c`,
    values,
  })
  const { total } = counted!
  if (total > COUNTED_PROFILES_MAX) return undefined
  const offset = (pageNum - 1) * pageSize
  if (offset >= total) return { profiles: [], total }
  const rows = await deps.db.query<JoinedRow>({
    name: `profiles-page-${name}`,
    text: `with found as materialized (
             select p.* from profiles p where ${where} order by ${order} offset $6 limit $7)
           ${JOIN_ORDERS} order by ${order}`,
    values: [...values, offset, pageSize],
  })
  return { profiles: rows.map((row) => profileOfRow(deps, tenantId, row)), total }
}
