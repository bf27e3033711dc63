import type { EsimExpiringContent, EsimUsageContent } from '@dealer-esim/contract'
import { formatTime } from '@dealer-esim/contract'
import type { NoticeSettings } from '#webhooks/endpoint/endpoint.ts'
import { type ProfileLife, sameLife, usagePercent } from './esim-lifecycle.ts'

/*
 * The events ESIM_USAGE and ESIM_EXPIRING of one eSIM, decided from its row alone, so that each is recorded once:
 *
 *   usageAlerted        the highest percentage that the usage has passed, reported or not. It only rises, so a late, repeated
 *                       or lower report, or a changed list of thresholds, never reports again. A delivered top-up sets it
 *                       to the percentage that it leaves (lifecycle.ts).
 *   expiryNoticeAt      the next moment at which ESIM_EXPIRING is due. It is set to a moment in the future only, so what
 *                       has passed when expiredTime becomes known or moves is not reported.
 *   expiryAlertedHours  the hours reported since the latest top-up, wherever expiredTime has moved since.
 */

type EsimName = 'orderNo' | 'transactionId' | 'esimTranNo' | 'iccid'

/** An event of one eSIM, without the members that identify the eSIM. */
export type EsimNotice =
  | { notifyType: 'ESIM_USAGE'; content: Omit<EsimUsageContent, EsimName> }
  | { notifyType: 'ESIM_EXPIRING'; content: Omit<EsimExpiringContent, EsimName> }

export interface NoticeContext {
  settings: NoticeSettings
  /** The database's time. */
  now: Date
  /** The time from which the hours in `settings` count, if they may not have been applied to this eSIM yet. */
  hoursSince?: Date | undefined
}

/**
 * Applies a change to a profile and decides which events it causes: first the notices that were due before the change, then
 * the thresholds that the usage has passed. Pure.
 * @returns the same object if nothing changes
 */
export function changeLife(
  before: ProfileLife,
  change: (life: ProfileLife) => ProfileLife,
  context: NoticeContext,
): { after: ProfileLife; notices: EsimNotice[] } {
  const notices: EsimNotice[] = []
  const expiring = reportExpiry(before, context, notices)
  const used = reportUsage(change(expiring), context, notices)
  const after = { ...used, expiryNoticeAt: nextNotice(used, context) }
  return { after: sameLife(before, after) ? before : after, notices }
}

function reportUsage(life: ProfileLife, { settings }: NoticeContext, notices: EsimNotice[]): ProfileLife {
  const { totalVolume, orderUsage, usageUpdateTime, usageAlerted } = life
  const percent = usagePercent(life)
  if (totalVolume === null || orderUsage === null || usageUpdateTime === null || percent <= usageAlerted) return life
  const passed = settings.usageThresholds.filter((threshold) => threshold > usageAlerted && threshold <= percent)
  for (const [index, threshold] of passed.entries()) {
    notices.push({
      notifyType: 'ESIM_USAGE',
      content: {
        totalVolume: Number(totalVolume),
        orderUsage: Number(orderUsage),
        remaining: orderUsage > totalVolume ? 0 : Number(totalVolume - orderUsage),
        threshold,
        usageUpdateTime: formatTime(usageUpdateTime),
        sequence: life.usageSequence + index + 1,
      },
    })
  }
  return { ...life, usageAlerted: percent, usageSequence: life.usageSequence + passed.length }
}

const HOUR_MS = 3_600_000

function reportExpiry(life: ProfileLife, context: NoticeContext, notices: EsimNotice[]): ProfileLife {
  const { now, hoursSince } = context
  const dueMs = Math.min(life.expiryNoticeAt?.getTime() ?? Infinity, hoursSince?.getTime() ?? Infinity)
  // Nothing is reported after the expiry, for example after an outage of the gateway.
  if (life.expiredTime === null || life.expiredTime <= now) return life
  const passed = momentsAhead(life, context).filter(({ atMs }) => atMs >= dueMs && atMs <= now.getTime())
  if (passed.length === 0) return life
  for (const [index, { hours }] of passed.entries()) {
    const sequence = life.expirySequence + index + 1
    const expiredTime = formatTime(life.expiredTime)
    notices.push({ notifyType: 'ESIM_EXPIRING', content: { expiredTime, hours, sequence } })
  }
  return {
    ...life,
    expirySequence: life.expirySequence + passed.length,
    expiryAlertedHours: [...life.expiryAlertedHours, ...passed.map(({ hours }) => hours)],
  }
}

function nextNotice(life: ProfileLife, context: NoticeContext): Date | null {
  const next = momentsAhead(life, context).find(({ atMs }) => atMs > context.now.getTime())
  return next ? new Date(next.atMs) : null
}

/** The moments that have not been reported yet, the earliest first. An eSIM that is not in use has no such moments. */
function momentsAhead(life: ProfileLife, { settings }: NoticeContext): { hours: number; atMs: number }[] {
  const { esimStatus, expiredTime, expiryAlertedHours } = life
  if (expiredTime === null || (esimStatus !== 'IN_USE' && esimStatus !== 'USED_UP')) return []
  return settings.expiryNoticeHours
    .filter((hours) => !expiryAlertedHours.includes(hours))
    .map((hours) => ({ hours, atMs: expiredTime.getTime() - hours * HOUR_MS }))
    .sort((left, right) => left.atMs - right.atMs)
}
