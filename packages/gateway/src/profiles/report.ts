import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Db, Tx } from '../lib/db.ts'
import type { Ids } from '../lib/ids.ts'
import type { Wake } from '../lib/wake.ts'
import { changeOrders } from '../orders/change.ts'
import { lockOrders } from '../orders/lock.ts'
import type { ProfileReport } from '../suppliers/supplier.ts'
import { afterReport, afterTime, type ProfileLife } from './life.ts'

export interface ProfileDeps {
  db: Db
  ids: Ids
  catalogue: Catalogue
  wake: Pick<Wake, 'wake'>
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
  profile_id: string
  esim_status: EsimStatus
  smdp_status: SmdpStatus | null
  smdp_status_time: Date | null
  eid: string | null
  order_usage: bigint | null
  usage_update_time: Date | null
  total_duration: number
  install_before: Date | null
  activate_time: Date | null
  expired_time: Date | null
}

async function readLives(tx: Tx, tenantId: string, profileIds: string[]): Promise<Map<string, { life: ProfileLife }>> {
  const rows = await tx.query<LifeRow>({
    name: 'profiles-lives',
    text: `select profile_id, esim_status, smdp_status, smdp_status_time, eid, order_usage, usage_update_time,
             total_duration, install_before, activate_time, expired_time
           from profiles where tenant_id = $1 and profile_id = any ($2::uuid[])`,
    values: [tenantId, profileIds],
  })
  return new Map(rows.map((row) => [row.profile_id, { life: lifeOf(row) }]))
}

function lifeOf(row: LifeRow): ProfileLife {
  return {
    esimStatus: row.esim_status,
    smdpStatus: row.smdp_status,
    smdpStatusTime: row.smdp_status_time,
    eid: row.eid,
    orderUsage: row.order_usage,
    usageUpdateTime: row.usage_update_time,
    totalDuration: row.total_duration,
    installBefore: row.install_before,
    activateTime: row.activate_time,
    expiredTime: row.expired_time,
  }
}

function writeLives(tx: Tx, tenantId: string, lives: Map<string, ProfileLife>, now: Date): void {
  if (lives.size === 0) return
  const rows = [...lives].map(([profileId, life]) => ({
    profile_id: profileId,
    ...life,
    orderUsage: life.orderUsage === null ? null : String(life.orderUsage),
  }))
  tx.send({
    name: 'profiles-write-lives',
    text: `update profiles p set esim_status = c."esimStatus", smdp_status = c."smdpStatus",
             smdp_status_time = c."smdpStatusTime", eid = c.eid, order_usage = c."orderUsage",
             usage_update_time = c."usageUpdateTime", activate_time = c."activateTime",
             expired_time = c."expiredTime", updated_at = greatest(p.updated_at, $3::timestamptz)
           from jsonb_to_recordset($2::jsonb) as c(profile_id uuid, "esimStatus" text, "smdpStatus" text,
             "smdpStatusTime" timestamptz, eid text, "orderUsage" bigint, "usageUpdateTime" timestamptz,
             "activateTime" timestamptz, "expiredTime" timestamptz)
           where p.tenant_id = $1 and p.profile_id = c.profile_id`,
    values: [tenantId, JSON.stringify(rows), now],
  })
}
