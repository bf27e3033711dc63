import { LOWEST_UUID } from '../../lib/ids.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { type Loop, runLoop } from '../../lib/process/lifecycle.ts'
import type { Log } from '../../lib/telemetry/log.ts'
import type { LoopMetrics } from '../../lib/telemetry/metrics.ts'
import { applyReports, type ProfileDeps } from '../apply-reports.ts'

export interface LifeDeps extends ProfileDeps {
  log: Log
  loops?: LoopMetrics
}

const POLL_MS = 60_000
/** Profiles in one transaction. */
const BATCH_MAX = 200

/** Expires profiles by the time, tenant by tenant, without asking suppliers. */
export function expiryLoop(deps: LifeDeps): Loop {
  return runLoop({
    name: 'profiles',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    async pass(signal) {
      let tenantId = await findNextTenant(deps.db, LOWEST_UUID)
      while (tenantId !== undefined && !signal.aborted) {
        try {
          while ((await expireProfiles(deps, tenantId)) === BATCH_MAX && !signal.aborted);
        } catch (error) {
          deps.log.error(
            { err: error, tenantId },
            'the eSIMs of a tenant could not be expired; continuing with the next tenant',
          )
        }
        tenantId = await findNextTenant(deps.db, tenantId)
      }
      return false
    },
  })
}

/** @returns how many profiles expired. */
export async function expireProfiles(deps: ProfileDeps, tenantId: string): Promise<number> {
  const rows = await deps.db.query<{ orderId: string; profileId: string }>({
    name: 'profiles-expired',
    text: `select order_id, profile_id from profiles
           where tenant_id = $1 and esim_status in ('GOT_RESOURCE', 'IN_USE')
             and case esim_status when 'GOT_RESOURCE' then install_before else expired_time end <= now()
           order by case esim_status when 'GOT_RESOURCE' then install_before else expired_time end limit $2`,
    values: [tenantId, BATCH_MAX],
  })
  await applyReports(deps, tenantId, rows)
  return rows.length
}

/** The next tenant that has eSIMs: one index probe, however many eSIMs it has. */
async function findNextTenant(db: Db, after: string): Promise<string | undefined> {
  const [next] = await db.query<{ tenantId: string }>({
    name: 'profiles-next-tenant',
    text: 'select tenant_id from profiles where tenant_id > $1 order by tenant_id limit 1',
    values: [after],
  })
  return next?.tenantId
}
