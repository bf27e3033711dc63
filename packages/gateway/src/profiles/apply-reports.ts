import { stripIccidPadding } from '@dealer-esim/contract'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Ids } from '../lib/ids.ts'
import { recordset } from '../lib/postgres/columns.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import type { Wakeups } from '../lib/postgres/wakeups.ts'
import { changeOrders } from '../orders/change.ts'
import { refundReportedCancel } from '../orders/change-action.ts'
import { lockOrders, lockWalletAndOrders } from '../orders/lock.ts'
import type { ProfileReport } from '../suppliers/supplier.ts'
import { afterReport, afterTime, type ProfileLife } from './lifecycle.ts'

export interface ProfileDeps {
  db: Db
  ids: Ids
  catalogue: Catalogue
  wake: Pick<Wakeups<'webhooks'>, 'wake'>
}

/** A report on one profile. Without a report only the passing of time is applied. */
export interface ReportedProfile {
  orderId: string
  profileId: string
  report?: ProfileReport
}

/**
 * Applies reports on profiles of one tenant, in the given order. A status that changes emits an event of its order. An
 * eSIM that its supplier has cancelled is refunded.
 * Locks the orders, ascending, and before them the wallet where a report may cancel an eSIM.
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
    const mayRefund = reported.some(({ report }) => report?.esimStatus === 'CANCEL')
    const locking = mayRefund ? lockWalletAndOrders(tx, tenantId, orderIds) : lockOrders(tx, tenantId, orderIds)
    const reading = readLives(tx, tenantId, [...new Set(reported.map((one) => one.profileId))])
    const [{ orders, now }, lives] = await Promise.all([locking, reading])
    const changed = new Map<string, ProfileLife>()
    const changedOrders = new Set<string>()
    for (const { orderId, profileId, report } of reported) {
      const before = changed.get(profileId) ?? lives.get(profileId)
      const order = orders.get(orderId)
      const profile = order?.profiles.find((candidate) => candidate.profileId === profileId)
      if (!before || !order || !profile) continue
      const item = order.items.find((candidate) => candidate.itemNo === profile.itemNo)
      const policy = item && catalogue.find(item.packageCode)?.activationPolicy
      const after = afterTime(report ? afterReport(before, report, policy) : before, now)
      if (after === before) continue
      changed.set(profileId, after)
      const { esimStatus, smdpStatus } = after
      const isCancelled = esimStatus === 'CANCEL' && profile.esimStatus !== 'CANCEL'
      if (esimStatus !== profile.esimStatus || smdpStatus !== profile.smdpStatus) changedOrders.add(orderId)
      Object.assign(profile, { esimStatus, smdpStatus })
      if (isCancelled) await refundReportedCancel(tx, deps, tenantId, { order, profile }, now)
    }
    writeLives(tx, tenantId, changed, now)
    const changes = [...changedOrders].map((orderId) => ({ order: orders.get(orderId)!, profilesChanged: true }))
    return { changedCount: changed.size, eventsToSend: changeOrders(tx, deps, tenantId, changes, now) }
  })
  if (eventsToSend) deps.wake.wake('webhooks')
  return changedCount
}

async function readLives(tx: Tx, tenantId: string, profileIds: string[]): Promise<Map<string, ProfileLife>> {
  const rows = await tx.query<ProfileLife & { profileId: string }>({
    name: 'profiles-lives',
    text: `select profile_id, esim_status, smdp_status, smdp_status_time, eid, order_usage, usage_update_time,
             total_duration, install_before, activate_time, expired_time, topped_up_at
           from profiles where tenant_id = $1 and profile_id = any ($2::uuid[])`,
    values: [tenantId, profileIds],
  })
  return new Map(rows.map(({ profileId, ...life }) => [profileId, life]))
}

function writeLives(tx: Tx, tenantId: string, lives: Map<string, ProfileLife>, now: Date): void {
  if (lives.size === 0) return
  const rows = [...lives].map(([profileId, life]) => ({
    profileId,
    ...life,
    orderUsage: life.orderUsage === null ? null : String(life.orderUsage),
  }))
  tx.send({
    name: 'profiles-write-lives',
    text: `update profiles p set esim_status = c.esim_status, smdp_status = c.smdp_status,
             smdp_status_time = c.smdp_status_time, eid = c.eid, order_usage = c.order_usage,
             usage_update_time = c.usage_update_time, activate_time = c.activate_time,
             expired_time = c.expired_time, updated_at = greatest(p.updated_at, $3::timestamptz)
           from jsonb_to_recordset($2::jsonb) as c(profile_id uuid, esim_status text, smdp_status text,
             smdp_status_time timestamptz, eid text, order_usage bigint, usage_update_time timestamptz,
             activate_time timestamptz, expired_time timestamptz)
           where p.tenant_id = $1 and p.profile_id = c.profile_id`,
    values: [tenantId, recordset(rows), now],
  })
}

/**
 * Applies an SM-DP+ notification about an ICCID. Suppliers reuse ICCIDs, so it concerns the newest eSIM with that ICCID
 * that these suppliers delivered before the reported time and that was not cancelled. A deleted eSIM still gets its own
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
