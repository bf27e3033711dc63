import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import { type Loop, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { endpointsToRescan, finishRescan } from '#webhooks/endpoint/endpoint.ts'
import { applyEachReport } from '../apply-reports.ts'
import type { LifeDeps } from './expire.ts'

const POLL_MS = 15_000
/** Profiles per transaction. */
const BATCH_MAX = 200

/**
 * Records ESIM_EXPIRING when it is due. A pass reads one index of due notices, whatever the number of tenants and eSIMs. If a
 * tenant has changed its hours, the next notice of each of its eSIMs is computed again first.
 */
export function expiryNoticeLoop(deps: LifeDeps): Loop {
  return runLoop(deps, 'expiry notices', POLL_MS, (signal) => recordExpiryNotices(deps, signal))
}

/** One pass: everything that is due now. */
export async function recordExpiryNotices(deps: LifeDeps, signal: AbortSignal): Promise<void> {
  await applyChangedHours(deps, signal)
  await recordDue(deps, signal)
}

async function recordDue(deps: LifeDeps, signal: AbortSignal): Promise<void> {
  // Each query continues after the last eSIM, so that an eSIM that cannot be saved does not block later ones.
  let last = { dueAt: '-infinity', profileId: LOWEST_UUID }
  for (;;) {
    const due = await deps.db.query<{ dueAt: string; tenantId: string; orderId: string; profileId: string }>({
      name: 'profiles-notices-due',
      // The time as text: a Date would lose its microseconds.
      text: `select expiry_notice_at::text as due_at, tenant_id, order_id, profile_id from profiles
             where expiry_notice_at <= now() and (expiry_notice_at, profile_id) > ($1::timestamptz, $2::uuid)
               and not ${isHeld('profiles.tenant_id')}
             order by expiry_notice_at, profile_id limit $3`,
      values: [last.dueAt, last.profileId, BATCH_MAX],
    })
    for (const tenantId of new Set(due.map((row) => row.tenantId))) {
      const own = due.filter((row) => row.tenantId === tenantId)
      await applyEachReport(
        deps,
        tenantId,
        own.map(({ orderId, profileId }) => ({ orderId, profileId })),
      )
    }
    if (due.length < BATCH_MAX || signal.aborted) return
    last = due.at(-1)!
  }
}

/** Applies changed hours to the eSIMs of their tenants. Starts again after a crash, and may run on several nodes at the same time. */
async function applyChangedHours(deps: LifeDeps, signal: AbortSignal): Promise<void> {
  for (const { tenantId, rescanFrom } of await endpointsToRescan(deps.db)) {
    for (const esimStatus of ['IN_USE', 'USED_UP']) {
      let last = { smdpStatus: '', profileId: LOWEST_UUID }
      for (let isMore = true; isMore; ) {
        const page = await deps.db.query<{ orderId: string; profileId: string; smdpStatus: string }>({
          name: 'profiles-rescan',
          text: `select order_id, profile_id, coalesce(smdp_status, '') as smdp_status from profiles
                 where tenant_id = $1 and esim_status = $2 and (coalesce(smdp_status, ''), profile_id) > ($3, $4::uuid)
                 order by coalesce(smdp_status, ''), profile_id limit $5`,
          values: [tenantId, esimStatus, last.smdpStatus, last.profileId, BATCH_MAX],
        })
        const rows = page.map(({ orderId, profileId }) => ({ orderId, profileId, hoursSince: rescanFrom }))
        await applyEachReport(deps, tenantId, rows)
        if (signal.aborted) return
        isMore = page.length === BATCH_MAX
        last = page.at(-1) ?? last
      }
    }
    await finishRescan(deps.db, tenantId, rescanFrom)
  }
}
