import type { ActivationPolicy } from '@dealer-esim/contract'
import type { ForeseenReports } from '@dealer-esim/wholesalers/supplier.ts'
import type { NoticeSettings } from '#webhooks/endpoint/endpoint.ts'
import { afterReport, afterTime, type ProfileLife } from '../life/esim-lifecycle.ts'
import { changeLife, type EsimNotice } from '../life/esim-notices.ts'

/** An eSIM before time passes. */
export interface PassingEsim {
  profileId: string
  life: ProfileLife
  policy: ActivationPolicy | undefined
  /** What its supplier will report; undefined: nothing. */
  foreseen: ForeseenReports | undefined
}

/** What happens to one eSIM at one moment. */
export interface LifeChange {
  profileId: string
  at: Date
  before: ProfileLife
  after: ProfileLife
  notices: EsimNotice[]
}

/**
 * Lets time pass for eSIMs: whatever a report, a notice of expiry or the end of a validity changes, each at its own moment. Suppliers
 * report at each of these, too, so it makes no difference in how many steps the same time passes. Pure.
 * @param from what happened before, but has not been applied yet, happens at this moment
 * @returns the changes in the order in which they happen, those of one moment by profileId
 */
export function passTime(
  esims: readonly PassingEsim[],
  { from, to, settings }: { from: Date; to: Date; settings: NoticeSettings },
): LifeChange[] {
  const changes = esims.flatMap((esim) => changesOf(esim, from, to, settings))
  const key = ({ at, profileId }: LifeChange) => [at.getTime(), profileId] as const
  return changes
    .map((change, place) => ({ change, place, key: key(change) }))
    .sort((left, right) => {
      if (left.key[0] !== right.key[0]) return left.key[0] - right.key[0]
      if (left.key[1] !== right.key[1]) return left.key[1] < right.key[1] ? -1 : 1
      return left.place - right.place
    })
    .map(({ change }) => change)
}

function changesOf(
  { profileId, policy, foreseen, ...esim }: PassingEsim,
  from: Date,
  to: Date,
  settings: NoticeSettings,
) {
  const changes: LifeChange[] = []
  let { life } = esim
  let atMs = from.getTime()
  const step = (dueMs: number) => {
    atMs = Math.max(atMs, dueMs)
    const now = new Date(atMs)
    const report = isPolled(life) ? foreseen?.reportAt(new Date(dueMs)) : undefined
    const change = (one: ProfileLife) => afterTime(report ? afterReport(one, report, policy) : one, now)
    const { after, notices } = changeLife(life, change, { settings, now })
    if (after === life) return false
    changes.push({ profileId, at: now, before: life, after, notices })
    life = after
    return true
  }
  const knownMs = life.usageUpdateTime?.getTime() ?? -Infinity
  const moments = (foreseen?.moments ?? []).map((moment) => moment.getTime()).filter((ms) => ms > knownMs)
  for (let dueMs = nextMsOf(life); ; dueMs = nextMsOf(life)) {
    const isMoment = moments[0] !== undefined && moments[0] <= dueMs
    if (Math.min(dueMs, moments[0] ?? Infinity) > to.getTime()) break
    if (!step(isMoment ? moments.shift()! : dueMs) && !isMoment) break // nothing is left that this time could change
  }
  step(to.getTime())
  return changes
}

/** The next moment at which time alone changes the eSIM. */
function nextMsOf({ esimStatus, expiredTime, installBefore, expiryNoticeAt }: ProfileLife): number {
  const ends = esimStatus === 'IN_USE' ? expiredTime : esimStatus === 'GOT_RESOURCE' ? installBefore : null
  return Math.min(ends?.getTime() ?? Infinity, expiryNoticeAt?.getTime() ?? Infinity)
}

/** Suppliers are asked about living eSIMs only (esims/poll-suppliers.ts). */
function isPolled({ esimStatus }: ProfileLife): boolean {
  return esimStatus === 'GOT_RESOURCE' || esimStatus === 'IN_USE'
}
