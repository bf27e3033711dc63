import { stripIccidPadding } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { isConnectionLoss } from '@dealer-esim/lib/postgres/errors.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { ProfileReport } from '@dealer-esim/wholesalers/supplier.ts'
import type { Catalogue } from '#catalogue/catalogue.ts'
import { refundReportedCancel } from '#orders/change-action.ts'
import { type ChangedStatus, changeOrders } from '#orders/change-order.ts'
import { lockOrders, lockWalletAndOrders } from '#orders/lock-orders.ts'
import { findNoticeSettings } from '#webhooks/endpoint/endpoint.ts'
import { afterReport, afterTime, type ProfileLife } from './life/esim-lifecycle.ts'
import { changeLife } from './life/esim-notices.ts'
import { type NotedEsim, readLives, recordNotices, writeLives } from './life/lives.ts'
import { pollEveryS } from './life/poll-interval.ts'

export interface ProfileDeps {
  db: Db
  ids: Ids
  catalogue: Catalogue
  wake: Pick<Wakeups<'webhooks'>, 'wake'>
}

/** A report on one profile, or how it follows from the profile. Without `report`, only the passing of time is applied. */
export interface ReportedProfile {
  orderId: string
  profileId: string
  report?: ProfileReport | ((life: ProfileLife, now: Date) => ProfileReport)
  /**
   * The time at which the tenant changed its hours for ESIM_EXPIRING, if they may not have been applied to this profile
   * yet.
   */
  hoursSince?: Date
}

/**
 * Applies reports on profiles of one tenant, in the given order. A changed status causes an event for the profile's order,
 * and ESIM_USAGE and ESIM_EXPIRING are recorded in the same transaction. An eSIM that its supplier has cancelled is
 * refunded. Locks the orders, ascending, and before them the wallet if a report may cancel an eSIM.
 * @returns how many profiles changed.
 */
export async function applyReports(
  deps: ProfileDeps,
  tenantId: string,
  reported: readonly ReportedProfile[],
): Promise<number> {
  if (reported.length === 0) return 0
  const catalogue = await deps.catalogue.latest()
  const { changedCount, eventsToSend } = await deps.db.tx(async (tx) => {
    const orderIds = [...new Set(reported.map((one) => one.orderId))].sort()
    const mayRefund = reported.some(({ report }) => typeof report === 'object' && report.esimStatus === 'CANCEL')
    const locking = mayRefund ? lockWalletAndOrders(tx, tenantId, orderIds) : lockOrders(tx, tenantId, orderIds)
    const reading = readLives(tx, tenantId, [...new Set(reported.map((one) => one.profileId))])
    // The settings are also read after the locks: the previous holder may have used other settings.
    const [{ orders, now }, lives, settings] = await Promise.all([locking, reading, findNoticeSettings(tx, tenantId)])
    const changed = new Map<string, ProfileLife>()
    const noted: NotedEsim[] = []
    const changedStatuses = new Map<string, ChangedStatus[]>()
    for (const { orderId, profileId, report, hoursSince } of reported) {
      const before = changed.get(profileId) ?? lives.get(profileId)
      const order = orders.get(orderId)
      const profile = order?.profiles.find((candidate) => candidate.profileId === profileId)
      if (!before || !order || !profile) continue
      const item = order.items.find((candidate) => candidate.itemNo === profile.itemNo)
      const policy = item && catalogue.find(item.packageCode)?.activationPolicy
      const change = (life: ProfileLife) => {
        const reported = typeof report === 'function' ? report(life, now) : report
        const changed = afterTime(reported ? afterReport(life, reported, policy) : life, now)
        return report ? { ...changed, pollEveryS: pollEveryS(life, changed, settings) } : changed
      }
      const { after, notices } = changeLife(before, change, { settings, now, hoursSince })
      if (after === before) continue
      noted.push({ order, profile, notices, totalDuration: after.totalDuration })
      changed.set(profileId, after)
      const { esimStatus, smdpStatus } = after
      const isCancelled = esimStatus === 'CANCEL' && profile.esimStatus !== 'CANCEL'
      for (const status of ['smdpStatus', 'esimStatus'] as const) {
        if (after[status] === profile[status]) continue
        const ofOrder = changedStatuses.get(orderId) ?? []
        changedStatuses.set(orderId, [...ofOrder, { status, profileId, eid: after.eid, usage: after }])
      }
      Object.assign(profile, { esimStatus, smdpStatus })
      if (isCancelled) await refundReportedCancel(tx, deps, tenantId, { order, profile }, now)
    }
    writeLives(tx, tenantId, changed, now)
    const changes = [...changedStatuses].map(([orderId, changedStatuses]) => {
      const order = orders.get(orderId)!
      return { order, profilesChanged: true, changedStatuses, isEachReported: settings.eventFormat === 'RT' }
    })
    const statusReported = changeOrders(tx, deps, tenantId, changes, now)
    const noticesReported = recordNotices(tx, deps.ids, tenantId, noted, now)
    return { changedCount: changed.size, eventsToSend: statusReported || noticesReported }
  })
  if (eventsToSend) deps.wake.wake('webhooks')
  return changedCount
}

/**
 * Applies reports together, or each one alone if that fails, so that an eSIM that cannot be saved does not affect the others.
 * @throws if the database is unreachable
 */
export async function applyEachReport(
  deps: ProfileDeps & { log: Pick<Log, 'warn' | 'error'> },
  tenantId: string,
  reported: readonly ReportedProfile[],
): Promise<void> {
  try {
    await applyReports(deps, tenantId, reported)
    return
  } catch (error) {
    if (isConnectionLoss(error)) throw error
    deps.log.warn({ err: error, tenantId }, 'eSIMs could not be changed together; changing them one by one')
  }
  for (const one of reported) {
    await applyReports(deps, tenantId, [one]).catch((error) => {
      if (isConnectionLoss(error)) throw error
      const { profileId } = one
      deps.log.error({ err: error, tenantId, profileId }, 'an eSIM could not be changed; the others continue')
    })
  }
}

/**
 * Applies an SM-DP+ notification about an ICCID. Suppliers reuse ICCIDs, so it concerns the newest eSIM with that ICCID
 * that these suppliers delivered before the reported time and that was not cancelled. A deleted eSIM still receives its own
 * late and repeated notifications. The look-up crosses tenants (an index on ICCID); the change is within one tenant.
 * @returns whether there is such an eSIM.
 */
export async function applyReportByIccid(
  deps: ProfileDeps,
  suppliers: readonly string[],
  iccid: string,
  report: ProfileReport,
): Promise<boolean> {
  const [row] = await deps.db.query<{ tenantId: string; orderId: string; profileId: string }>({
    name: 'profiles-live-iccid',
    text: `select tenant_id, order_id, profile_id from profiles
           where iccid = $1 and supplier = any ($2::text[]) and esim_status not in ('CANCEL', 'REVOKED')
             and created_at <= $3::timestamptz + $4 * interval '1 second'
           order by profile_id desc limit 1`,
    values: [stripIccidPadding(iccid), suppliers, report.time, CLOCK_TOLERANCE_S],
  })
  if (row === undefined) return false
  await applyReports(deps, row.tenantId, [{ orderId: row.orderId, profileId: row.profileId, report }])
  return true
}

/** Tolerates an SM-DP+ whose clock is behind. No supplier sells an ICCID again within an hour. */
const CLOCK_TOLERANCE_S = 3_600
