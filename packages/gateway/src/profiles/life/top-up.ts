import type { Ids } from '../../lib/ids.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { changeOrders, type OrderMetrics } from '../../orders/change.ts'
import type { LockedOrder } from '../../orders/lock.ts'
import { findNoticeSettings } from '../../webhooks/endpoint/endpoint.ts'
import type { ProfileLife } from './lifecycle.ts'
import { readLives, recordNotices, writeLives } from './lives.ts'
import { changeLife, usagePercent } from './notices.ts'

/** The volume and days that a delivered top-up adds to an eSIM. */
export interface AddedPackage {
  /** Bytes; null: unlimited, which adds nothing to a limited volume. */
  volume: bigint | null
  days: number
  /** If the supplier states it, it is used instead of the days. */
  expiredTime?: Date | undefined
}

const DAY_MS = 86_400_000

/**
 * Adds a delivered top-up to an eSIM. If a status changes, that is an event of the order that delivered the eSIM. The caller
 * holds the lock of that order.
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
  const changedStatuses = [{ status: 'esimStatus', profileId, eid: after.eid } as const]
  const changes = profilesChanged ? [{ order, profilesChanged, changedStatuses }] : []
  const statusReported = changeOrders(tx, deps, tenantId, changes, now)
  const { totalDuration } = after
  const noticesReported = recordNotices(tx, deps.ids, tenantId, [{ order, profile, notices, totalDuration }], now)
  return statusReported || noticesReported
}

/**
 * The profile after a delivered top-up. Usage thresholds above the remaining percentage, and all notices of expiry, can be
 * reported again. Pure.
 */
export function afterTopUp(profile: ProfileLife, { volume, days, expiredTime }: AddedPackage, now: Date): ProfileLife {
  const next = { ...profile, toppedUpAt: now, totalDuration: profile.totalDuration + days }
  if (next.totalVolume !== null && volume !== null) next.totalVolume += volume
  if (next.esimStatus === 'USED_UP' || next.esimStatus === 'USED_EXPIRED') next.esimStatus = 'IN_USE'
  if (expiredTime !== undefined) next.expiredTime = expiredTime
  else if (next.expiredTime !== null) {
    next.expiredTime = new Date(Math.max(next.expiredTime.getTime(), now.getTime()) + days * DAY_MS)
  }
  return { ...next, usageAlerted: usagePercent(next), expiryAlertedHours: [] }
}
