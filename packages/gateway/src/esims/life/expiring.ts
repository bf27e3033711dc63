import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import { type Loop, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { tenantNow } from '#platform/test-time.ts'
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
  for (const tenantId of await listAdvancedTenants(deps)) await recordDue(deps, signal, tenantId)
}

/** Tenants whose test time is ahead. Their notices are due by their own time. */
async function listAdvancedTenants({ db }: Pick<LifeDeps, 'db'>): Promise<string[]> {
  const rows = await db.query<{ tenantId: string }>({
    name: 'tenants-advanced',
    text: `select tenant_id from tenants where test_offset_ms > 0 and not ${isHeld('tenants.tenant_id')} order by tenant_id`,
  })
  return rows.map(({ tenantId }) => tenantId)
}

/** @param only one whose test time is ahead; absent: all, by the database's time */
async function recordDue(deps: LifeDeps, signal: AbortSignal, only?: string): Promise<void> {
  // Each query continues after the last eSIM, so that an eSIM that cannot be saved does not block later ones.
  let last = { dueAt: '-infinity', profileId: LOWEST_UUID }
  for (;;) {
    const due = await deps.db.query<{ dueAt: string; tenantId: string; orderId: string; profileId: string }>({
      name: only === undefined ? 'profiles-notices-due' : 'profiles-notices-due-test',
      // The time as text: a Date would lose its microseconds.
      text: `select expiry_notice_at::text as due_at, tenant_id, order_id, profile_id from profiles
             where ${only === undefined ? 'expiry_notice_at <= now()' : `tenant_id = $4 and expiry_notice_at <= ${tenantNow('$4')}`}
               and (expiry_notice_at, profile_id) > ($1::timestamptz, $2::uuid)
               and not ${isHeld('profiles.tenant_id')}
             order by expiry_notice_at, profile_id limit $3`,
      values: [last.dueAt, last.profileId, BATCH_MAX, ...(only === undefined ? [] : [only])],
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
