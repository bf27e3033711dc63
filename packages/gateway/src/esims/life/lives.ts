import { orderNoOf } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { recordset } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { changeOrders, type OrderMetrics } from '#orders/change-order.ts'
import type { LockedOrder, LockedProfile } from '#orders/lock-orders.ts'
import { type NewEvent, recordEvents } from '#platform/record-events.ts'
import { findNoticeSettings } from '#webhooks/endpoint/endpoint.ts'
import { type AddedPackage, afterTopUp, type ProfileLife } from './esim-lifecycle.ts'
import { changeLife, type EsimNotice } from './esim-notices.ts'

/** Reads the changing members of profiles. The caller locks their orders first, in the same transaction. */
export async function readLives(tx: Tx, tenantId: string, profileIds: string[]): Promise<Map<string, ProfileLife>> {
  const rows = await tx.query<ProfileLife & { profileId: string }>({
    name: 'profiles-lives',
    text: `select profile_id, esim_status, smdp_status, smdp_status_time, eid, total_volume, order_usage,
             usage_update_time, total_duration, install_before, installation_time, activate_time, expired_time, topped_up_at,
             usage_alerted, usage_sequence, expiry_sequence, expiry_alerted_hours, expiry_notice_at, poll_every_s
           from profiles where tenant_id = $1 and profile_id = any ($2::uuid[])`,
    values: [tenantId, profileIds],
  })
  return new Map(rows.map(({ profileId, ...life }) => [profileId, life]))
}

/** Writes changed profiles with one statement. Adds no round trip. */
export function writeLives(tx: Tx, tenantId: string, lives: ReadonlyMap<string, ProfileLife>, now: Date): void {
  if (lives.size === 0) return
  const rows = [...lives].map(([profileId, life]) => ({ profileId, ...life }))
  tx.send({ name: 'profiles-write-lives', text: WRITE, values: [tenantId, recordset(rows, bigintAsText), now] })
}

/** A changed polling interval counts from now. Changes that the dealer does not see do not change updated_at. */
const WRITE = `
  update profiles p set esim_status = c.esim_status, smdp_status = c.smdp_status, smdp_status_time = c.smdp_status_time,
    eid = c.eid, total_volume = c.total_volume, order_usage = c.order_usage, usage_update_time = c.usage_update_time,
    total_duration = c.total_duration, installation_time = c.installation_time, activate_time = c.activate_time, expired_time = c.expired_time,
    topped_up_at = c.topped_up_at, usage_alerted = c.usage_alerted, usage_sequence = c.usage_sequence,
    expiry_sequence = c.expiry_sequence, expiry_alerted_hours = c.expiry_alerted_hours,
    expiry_notice_at = c.expiry_notice_at, poll_every_s = c.poll_every_s,
    poll_at = case when p.poll_every_s = c.poll_every_s or p.poll_at is null then p.poll_at
      else clock_timestamp() + c.poll_every_s * interval '1 second' end,
    updated_at = case when (p.esim_status, p.smdp_status, p.smdp_status_time, p.eid, p.total_volume, p.order_usage,
        p.usage_update_time, p.total_duration, p.installation_time, p.activate_time, p.expired_time)
      is distinct from (c.esim_status, c.smdp_status, c.smdp_status_time, c.eid, c.total_volume, c.order_usage,
        c.usage_update_time, c.total_duration, c.installation_time, c.activate_time, c.expired_time)
      then greatest(p.updated_at, $3::timestamptz) else p.updated_at end
  from jsonb_to_recordset($2::jsonb) as c(profile_id uuid, esim_status text, smdp_status text,
    smdp_status_time timestamptz, eid text, total_volume bigint, order_usage bigint, usage_update_time timestamptz,
    total_duration integer, installation_time timestamptz, activate_time timestamptz, expired_time timestamptz, topped_up_at timestamptz,
    usage_alerted smallint, usage_sequence integer, expiry_sequence integer, expiry_alerted_hours smallint[],
    expiry_notice_at timestamptz, poll_every_s integer)
  where p.tenant_id = $1 and p.profile_id = c.profile_id`

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** The notices of one eSIM, with the order that delivered it. */
export interface NotedEsim {
  order: Pick<LockedOrder, 'orderId' | 'transactionId'>
  profile: Pick<LockedProfile, 'profileId' | 'iccid'>
  notices: readonly EsimNotice[]
  /** The eSIM's validity in days, which the RT format shows. */
  totalDuration: number
}

/** Records the notices of eSIMs. @returns whether there are events to send: the caller then wakes the sender */
export function recordNotices(
  tx: Tx,
  ids: Ids,
  tenantId: string,
  noted: readonly NotedEsim[],
  createdAt: Date,
): boolean {
  const events = noted.flatMap(({ order, profile, notices, totalDuration }) => {
    const { orderId, transactionId } = order
    const esim = { orderNo: orderNoOf(orderId), transactionId, esimTranNo: profile.profileId, iccid: profile.iccid }
    return notices.map(({ notifyType, content }): NewEvent => {
      const details = notifyType === 'ESIM_EXPIRING' ? { totalDuration } : undefined
      return {
        tenantId,
        notifyId: ids.uuid(),
        notifyType,
        orderId,
        content: { ...esim, ...content },
        details,
        createdAt,
      }
    })
  })
  recordEvents(tx, events)
  return events.length > 0
}

/**
 * Adds a delivered top-up to an eSIM. A changed status causes an event for the order that delivered the eSIM. The caller
 * holds the lock on that order.
 * @returns whether there are events to send: the caller then wakes the sender after the commit
 */
export async function applyTopUp(
  tx: Tx,
  deps: { ids: Ids; orderMetrics?: OrderMetrics },
  tenantId: string,
  { order, profileId, added }: { order: LockedOrder; profileId: string; added: AddedPackage },
  now: Date,
): Promise<boolean> {
  const profile = order.profiles.find((candidate) => candidate.profileId === profileId)
  const [lives, settings] = await Promise.all([readLives(tx, tenantId, [profileId]), findNoticeSettings(tx, tenantId)])
  const before = lives.get(profileId)
  if (!before || !profile) throw new Error(`order ${order.orderId} has no eSIM ${profileId} to top up`)
  const { after, notices } = changeLife(before, (life) => afterTopUp(life, added, now), { settings, now })
  writeLives(tx, tenantId, new Map([[profileId, after]]), now)
  const profilesChanged = after.esimStatus !== profile.esimStatus
  profile.esimStatus = after.esimStatus
  const changedStatuses = [{ status: 'esimStatus', profileId, eid: after.eid, usage: after } as const]
  const changes = profilesChanged ? [{ order, profilesChanged, changedStatuses }] : []
  const statusReported = changeOrders(tx, deps, tenantId, changes, now)
  const { totalDuration } = after
  const noticesReported = recordNotices(tx, deps.ids, tenantId, [{ order, profile, notices, totalDuration }], now)
  return statusReported || noticesReported
}
