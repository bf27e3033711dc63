import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type Loop, type LoopDeps, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { nowOfTenantRow, tenantNow } from '#platform/test-time.ts'
import { applyEachReport, type ProfileDeps } from '../apply-reports.ts'

export type LifeDeps = ProfileDeps & LoopDeps

const POLL_MS = 60_000
/** Profiles per transaction. */
const BATCH_MAX = 200

/**
 * Expires profiles whose time is over, tenant by tenant, without asking suppliers. A tenant with nothing to expire costs
 * one probe.
 */
export function expiryLoop(deps: LifeDeps): Loop {
  return runLoop(deps, 'profiles', POLL_MS, async (signal) => {
    let tenantId = await findNextExpiring(deps.db, LOWEST_UUID)
    while (tenantId !== undefined && !signal.aborted) {
      try {
        await expireProfiles(deps, tenantId, signal)
      } catch (error) {
        deps.log.error(
          { err: error, tenantId },
          'the eSIMs of a tenant could not be expired; continuing with the next tenant',
        )
      }
      tenantId = await findNextExpiring(deps.db, tenantId)
    }
  })
}

/** Expires a tenant's profiles whose time is over, the earliest first. */
export async function expireProfiles(deps: LifeDeps, tenantId: string, signal?: AbortSignal): Promise<void> {
  // Each query continues after the last eSIM, so that an eSIM that cannot be saved does not block later ones.
  let last = { endedAt: '-infinity', profileId: LOWEST_UUID }
  for (;;) {
    const ended = await deps.db.query<{ orderId: string; profileId: string; endedAt: string }>({
      name: 'profiles-expired',
      // The time as text: a Date would lose its microseconds.
      text: `select order_id, profile_id, (${EXPIRY})::text as ended_at from profiles
             where tenant_id = $1 and ${expired(tenantNow('$1'))} and (${EXPIRY}, profile_id) > ($3::timestamptz, $4::uuid)
             order by ${EXPIRY}, profile_id limit $2`,
      values: [tenantId, BATCH_MAX, last.endedAt, last.profileId],
    })
    const reported = ended.map(({ orderId, profileId }) => ({ orderId, profileId }))
    await applyEachReport(deps, tenantId, reported)
    if (ended.length < BATCH_MAX || signal?.aborted) return
    last = ended.at(-1)!
  }
}

const EXPIRY = `case esim_status when 'GOT_RESOURCE' then install_before else expired_time end`
const expired = (now: string) => `esim_status in ('GOT_RESOURCE', 'IN_USE') and ${EXPIRY} <= ${now}`

/**
 * Finds the next tenant with an eSIM that has expired. One statement probes the index of expiry times once per tenant; with
 * a statement per tenant, 10 000 idle tenants caused 20 000 statements a minute. The inner limit keeps the planner from
 * reading all profiles.
 */
async function findNextExpiring(db: Db, after: string): Promise<string | undefined> {
  const [next] = await db.query<{ tenantId: string }>({
    name: 'profiles-next-expiring',
    text: `select t.tenant_id from tenants t
           cross join lateral (select from profiles where tenant_id = t.tenant_id and ${expired(nowOfTenantRow('t'))} limit 1) due
           where t.tenant_id > $1 and not ${isHeld('t.tenant_id')} order by t.tenant_id limit 1`,
    values: [after],
  })
  return next?.tenantId
}
