import type { NoticeSettings } from '#webhooks/endpoint/endpoint.ts'
import type { ProfileLife } from './esim-lifecycle.ts'

/** The first polling interval of an eSIM's usage, and the shortest one while no threshold is near. */
export const POLL_EVERY_S = 900
/** The interval next to a threshold. */
export const POLL_SHORTEST_S = 15
/**
 * The longest interval of an eSIM in use, up to which each poll without a change doubles the interval: the eSIM may be
 * switched on again at any time.
 */
export const POLL_IN_USE_LONGEST_S = 3_600
/** The longest interval of an eSIM that is not in use yet. */
export const POLL_UNUSED_LONGEST_S = 4 * 3_600

/**
 * The interval until the next poll: half the time until the usage reaches the next threshold, if it keeps growing as it has
 * since the previous report. Without a change it stays the same, because each poll has already doubled it. Pure.
 */
export function pollEveryS(before: ProfileLife, after: ProfileLife, { usageThresholds }: NoticeSettings): number {
  const { orderUsage, totalVolume, usageUpdateTime } = after
  const isNewStatus = after.esimStatus !== before.esimStatus || after.smdpStatus !== before.smdpStatus
  const growth = (orderUsage ?? 0n) - (before.orderUsage ?? 0n)
  if (orderUsage === null || usageUpdateTime === null || growth <= 0n) {
    return isNewStatus ? Math.min(before.pollEveryS, POLL_EVERY_S) : before.pollEveryS
  }
  if (totalVolume === null) return POLL_EVERY_S
  const next = [...usageThresholds, 100].find((threshold) => orderUsage * 100n < totalVolume * BigInt(threshold))
  if (next === undefined) return POLL_EVERY_S
  const since = before.usageUpdateTime ?? after.activateTime
  const elapsedS = since === null ? POLL_EVERY_S : Math.max(1, (usageUpdateTime.getTime() - since.getTime()) / 1000)
  const left = Number(totalVolume) * (next / 100) - Number(orderUsage)
  const expectedS = (left / Number(growth)) * elapsedS
  return Math.round(Math.min(POLL_EVERY_S, Math.max(POLL_SHORTEST_S, expectedS / 2)))
}
