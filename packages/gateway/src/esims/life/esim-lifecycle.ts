import type { ActivationPolicy, EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import type { ProfileReport } from '@dealer-esim/wholesalers/supplier.ts'

/** The members of a profile that change during its life. */
export interface ProfileLife {
  esimStatus: EsimStatus
  smdpStatus: SmdpStatus | null
  /** The time of the notification that set smdpStatus. */
  smdpStatusTime: Date | null
  eid: string | null
  /** Bytes; null: unlimited. */
  totalVolume: bigint | null
  orderUsage: bigint | null
  usageUpdateTime: Date | null
  totalDuration: number
  installBefore: Date | null
  /** Only if the supplier reports it. */
  installationTime: Date | null
  activateTime: Date | null
  expiredTime: Date | null
  /** When the latest top-up was delivered. */
  toppedUpAt: Date | null
  /** The highest percentage that its usage has passed (notices.ts). */
  usageAlerted: number
  usageSequence: number
  expirySequence: number
  /** The hours that have been reported by ESIM_EXPIRING since the latest top-up. */
  expiryAlertedHours: readonly number[]
  /** When ESIM_EXPIRING is due next. */
  expiryNoticeAt: Date | null
  pollEveryS: number
}

/*
 * Two independent states:
 *
 *   smdpStatus  RELEASED → DOWNLOAD → INSTALLATION → ENABLED ⇄ DISABLED → DELETED
 *   esimStatus  GOT_RESOURCE → IN_USE → USED_UP | USED_EXPIRED
 *               GOT_RESOURCE → UNUSED_EXPIRED;   CANCEL and REVOKED end it at any time
 *               USED_UP | USED_EXPIRED → IN_USE  by a top-up; a report from before it does not lead back
 *
 * Notifications arrive late, repeated and out of order. A notification is applied if its own time is later than that of
 * the one that set the status, and if it does not lead back. ENABLED and DISABLED alternate.
 */
const SMDP_RANK: Record<SmdpStatus, number> = {
  RELEASED: 0,
  DOWNLOAD: 1,
  INSTALLATION: 2,
  ENABLED: 3,
  DISABLED: 3,
  DELETED: 4,
}

const ESIM_RANK: Record<EsimStatus, number> = {
  GOT_RESOURCE: 0,
  IN_USE: 1,
  USED_UP: 2,
  USED_EXPIRED: 2,
  UNUSED_EXPIRED: 2,
  CANCEL: 3,
  REVOKED: 3,
}

/** Policies that put an eSIM into use once it is installed. With ON_PURCHASE, its validity is already running. */
const IN_USE_ONCE_INSTALLED: readonly (ActivationPolicy | undefined)[] = ['ON_INSTALL', 'ON_PURCHASE']

const DAY_MS = 86_400_000

/** Applies a report to a profile. @returns the same object if the report changes nothing. Pure. */
export function afterReport(
  profile: ProfileLife,
  report: ProfileReport,
  policy: ActivationPolicy | undefined,
): ProfileLife {
  const next = { ...profile }
  if (report.smdpStatus !== undefined && advances(profile, report.smdpStatus, report.time)) {
    next.smdpStatus = report.smdpStatus
    next.smdpStatusTime = report.time
  }
  if (report.eid !== undefined) next.eid ??= report.eid
  if (report.installationTime !== undefined) next.installationTime ??= report.installationTime
  const installed = next.smdpStatus !== null && SMDP_RANK[next.smdpStatus] >= SMDP_RANK.INSTALLATION
  if (installed && IN_USE_ONCE_INSTALLED.includes(policy) && next.esimStatus === 'GOT_RESOURCE') {
    next.esimStatus = 'IN_USE'
    next.activateTime ??= report.time
  }
  // A report from before a top-up does not end an eSIM that the top-up has put back in use.
  const isOutdated = profile.toppedUpAt !== null && report.time < profile.toppedUpAt
  const ends = report.esimStatus === 'USED_UP' || report.esimStatus === 'USED_EXPIRED'
  if (
    report.esimStatus !== undefined &&
    !(isOutdated && ends) &&
    ESIM_RANK[report.esimStatus] > ESIM_RANK[next.esimStatus]
  ) {
    next.esimStatus = report.esimStatus
    if (report.esimStatus === 'IN_USE') next.activateTime ??= report.activateTime ?? report.time
  }
  if (report.activateTime !== undefined) next.activateTime ??= report.activateTime
  if (report.expiredTime !== undefined && !isOutdated) next.expiredTime = report.expiredTime
  else if (next.activateTime !== null) {
    next.expiredTime ??= new Date(next.activateTime.getTime() + next.totalDuration * DAY_MS)
  }
  const usage = report.usage ?? raisedUsage(next, report)
  if (usage !== undefined && (next.usageUpdateTime === null || report.time > next.usageUpdateTime)) {
    next.orderUsage = usage
    next.usageUpdateTime = report.time
  }
  return sameLife(profile, next) ? profile : next
}

/** The usage that an event proves, if it exceeds the known usage: a percentage is coarse, and an event may arrive late. */
function raisedUsage({ totalVolume, orderUsage }: ProfileLife, report: ProfileReport): bigint | undefined {
  const { usageAtLeast, remainingPercent } = report
  const isShare = totalVolume !== null && remainingPercent !== undefined
  const usage = isShare ? (totalVolume * BigInt(100 - remainingPercent)) / 100n : usageAtLeast
  return usage !== undefined && usage > (orderUsage ?? -1n) ? usage : undefined
}

function advances(profile: ProfileLife, to: SmdpStatus, time: Date): boolean {
  const { smdpStatus: from, smdpStatusTime } = profile
  if (from === null) return true
  if (SMDP_RANK[to] < SMDP_RANK[from]) return false
  // A repeated ENABLED or DISABLED only updates the time, so that an older notification of the other status is ignored.
  if (from === to && SMDP_RANK[to] !== SMDP_RANK.ENABLED) return false
  // The status at delivery has no notification time, so every notification is newer.
  if (smdpStatusTime === null || time > smdpStatusTime) return true
  return time.getTime() === smdpStatusTime.getTime() && SMDP_RANK[to] > SMDP_RANK[from]
}

/** Applies the passing of time to a profile. @returns the same object if its time has not run out. Pure. */
export function afterTime(profile: ProfileLife, now: Date): ProfileLife {
  const { esimStatus, expiredTime, installBefore } = profile
  if (esimStatus === 'IN_USE' && expiredTime !== null && expiredTime <= now) {
    return { ...profile, esimStatus: 'USED_EXPIRED' }
  }
  const unused = esimStatus === 'GOT_RESOURCE' && installBefore !== null && installBefore <= now
  return unused ? { ...profile, esimStatus: 'UNUSED_EXPIRED' } : profile
}

/** The volume and days that a delivered top-up adds to an eSIM. */
export interface AddedPackage {
  /** Bytes; null: unlimited, which adds nothing to a limited volume. */
  volume: bigint | null
  days: number
  /** Replaces the days if the supplier reports it. */
  expiredTime?: Date | undefined
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

/** The percentage of the volume that is used, rounded down, at most 100; 0 if volume or usage is unknown. */
export function usagePercent({ totalVolume, orderUsage }: Pick<ProfileLife, 'totalVolume' | 'orderUsage'>): number {
  if (totalVolume === null || orderUsage === null) return 0
  if (orderUsage >= totalVolume) return 100
  return Number((orderUsage * 100n) / totalVolume)
}

/** Compares all members. */
export function sameLife(left: ProfileLife, right: ProfileLife): boolean {
  return (Object.keys(left) as (keyof ProfileLife)[]).every((member) => {
    const [a, b] = [left[member], right[member]]
    return a instanceof Date && b instanceof Date ? a.getTime() === b.getTime() : a === b
  })
}
