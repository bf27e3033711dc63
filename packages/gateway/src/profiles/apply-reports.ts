import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import { stripIccidPadding } from '@dealer-esim/contract'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Ids } from '../lib/ids.ts'
import { recordset } from '../lib/postgres/columns.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import type { Wakeups } from '../lib/postgres/wakeups.ts'
import { changeOrders } from '../orders/change.ts'
import { lockOrders } from '../orders/lock.ts'
import type { ProfileReport } from '../suppliers/supplier.ts'
import { afterReport, afterTime, type ProfileLife } from './lifecycle.ts'

export interface ProfileDeps {
  db: Db
  ids: Ids
  catalogue: Catalogue
  wake: Pick<Wakeups, 'wake'>
}

/** One profile, and what was reported of it; without a report only the passing of time is looked at. */
export interface ReportedProfile {
  orderId: string
  profileId: string
  report?: ProfileReport
}

/**
 * Takes in what is reported of profiles of one tenant, in the order given. Each change of a status emits an event of its
 * order. Locks the orders, ascending.
 * @returns how many profiles changed.
 */
export async function applyReports(
  deps: ProfileDeps,
  tenantId: string,
  reported: readonly ReportedProfile[],
): Promise<number> {
  if (reported.length === 0) return 0
  const catalogue = await deps.catalogue.latest()
  const { changed, told } = await deps.db.tx(async (tx) => {
    const orderIds = [...new Set(reported.map((one) => one.orderId))].sort()
    const locking = lockOrders(tx, tenantId, orderIds)
    const reading = readLives(tx, tenantId, [...new Set(reported.map((one) => one.profileId))])
    const [{ orders, now }, lives] = await Promise.all([locking, reading])
    const told = new Set<string>()
    const changed = new Map<string, ProfileLife>()
    for (const { orderId, profileId, report } of reported) {
      const before = changed.get(profileId) ?? lives.get(profileId)?.life
      const order = orders.get(orderId)
      const profile = order?.profiles.find((candidate) => candidate.profileId === profileId)
      if (!before || !order || !profile) continue
      const item = order.items.find((candidate) => candidate.itemNo === profile.itemNo)
      const policy = item && catalogue.find(item.packageCode)?.activationPolicy
      const reportedLife = report ? afterReport(before, report, policy) : before
      const after = afterTime(reportedLife, now)
      if (after === before) continue
      changed.set(profileId, after)
      if (after.esimStatus !== profile.esimStatus || after.smdpStatus !== profile.smdpStatus) told.add(orderId)
      Object.assign(profile, { esimStatus: after.esimStatus, smdpStatus: after.smdpStatus })
    }
    writeLives(tx, tenantId, changed, now)
    const changes = [...told].map((orderId) => ({ order: orders.get(orderId)!, profilesChanged: true }))
    return { changed: changed.size, told: changeOrders(tx, deps, tenantId, changes, now) }
  })
  if (told) deps.wake.wake('webhooks')
  return changed
}

interface LifeRow {
  profileId: string
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  smdpStatusTime: Date | null
  eid: string | null
  orderUsage: bigint | null
  usageUpdateTime: Date | null
  totalDuration: number
  installBefore: Date | null
  activateTime: Date | null
  expiredTime: Date | null
}

async function readLives(tx: Tx, tenantId: string, profileIds: string[]): Promise<Map<string, { life: ProfileLife }>> {
  const rows = await tx.query<LifeRow>({
    name: 'profiles-lives',
    text: `select profile_id, esim_status, smdp_status, smdp_status_time, eid, order_usage, usage_update_time,
             total_duration, install_before, activate_time, expired_time
           from profiles where tenant_id = $1 and profile_id = any ($2::uuid[])`,
    values: [tenantId, profileIds],
  })
  return new Map(rows.map((row) => [row.profileId, { life: lifeOf(row) }]))
}

function lifeOf(row: LifeRow): ProfileLife {
  return {
    esimStatus: row.esimStatus,
    smdpStatus: row.smdpStatus,
    smdpStatusTime: row.smdpStatusTime,
    eid: row.eid,
    orderUsage: row.orderUsage,
    usageUpdateTime: row.usageUpdateTime,
    totalDuration: row.totalDuration,
    installBefore: row.installBefore,
    activateTime: row.activateTime,
    expiredTime: row.expiredTime,
  }
}

function writeLives(tx: Tx, tenantId: string, lives: Map<string, ProfileLife>, now: Date): void {
  if (lives.size === 0) return
  const rows = [...lives].map(([profileId, life]) => ({
    profileId: profileId,
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
 * Takes in what an SM-DP+ tells of an ICCID. Suppliers reuse ICCIDs: it concerns the newest eSIM with that ICCID which
 * this supplier delivered, which was not taken back, and which was there when it happened: what is late may be of an
 * earlier use. One that was deleted still has its own late and repeated notices; the one before it has none any more.
 * The look-up crosses tenants (an index on ICCID); what follows is one tenant's.
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
    values: [stripIccidPadding(iccid), suppliers, report.time, CLOCKS_APART_S],
  })
  if (row === undefined) return false
  await applyReports(deps, row.tenantId, [{ orderId: row.orderId, profileId: row.profileId, report }])
  return true
}

/** An SM-DP+ whose clock is behind by less is still understood; nobody sells an ICCID again within an hour. */
const CLOCKS_APART_S = 3_600
