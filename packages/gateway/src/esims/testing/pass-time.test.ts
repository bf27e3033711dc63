import { randomInt } from 'node:crypto'
import type { ForeseenReports } from '@dealer-esim/wholesalers/supplier.ts'
import { expect, test } from 'vitest'
import { seededRandom } from '#test/orders/seeded-random.ts'
import type { ProfileLife } from '../life/esim-lifecycle.ts'
import { type LifeChange, passTime } from './pass-time.ts'

const HOUR_MS = 3_600_000
const YEAR_HOURS = 8_784
const START = new Date('2026-11-20T00:00:00.000Z')
const GB = 1_073_741_824n
const SETTINGS = { usageThresholds: [50, 80, 100], expiryNoticeHours: [24, 72, 500] }

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const random = seededRandom(seed)
const at = (ms: number) => new Date(START.getTime() + ms)

/** An eSIM whose usage grows evenly, from its first use until all of it is used. */
interface Case {
  profileId: string
  life: ProfileLife
  /** After START; null: it never reports. */
  usedFromMs: number | null
  usedForMs: number
}

function randomCase(number: number): Case {
  const isInUse = random.between(0, 1) === 1
  const endsMs = random.between(1, 1.2 * YEAR_HOURS) * HOUR_MS + random.between(1, 1_000)
  const usedFromMs = random.between(0, 2) === 0 ? null : random.between(1, 100 * HOUR_MS)
  const life: ProfileLife = {
    ...{ esimStatus: isInUse ? 'IN_USE' : 'GOT_RESOURCE', smdpStatus: 'RELEASED', smdpStatusTime: null, eid: null },
    ...{ totalVolume: GB, orderUsage: null, usageUpdateTime: null, totalDuration: random.between(1, 90) },
    ...{ installBefore: isInUse ? null : at(endsMs), installationTime: null, activateTime: isInUse ? START : null },
    ...{ expiredTime: isInUse ? at(endsMs) : null, toppedUpAt: null, usageAlerted: 0, usageSequence: 0 },
    ...{ expirySequence: 0, expiryAlertedHours: [], expiryNoticeAt: null, pollEveryS: 900 },
  }
  const hours = [...SETTINGS.expiryNoticeHours].sort((left, right) => right - left)
  const first = hours.map((one) => endsMs - one * HOUR_MS).find((ms) => ms > 0)
  if (isInUse && first !== undefined) life.expiryNoticeAt = at(first)
  return {
    profileId: `E-${String(number).padStart(3, '0')}`,
    life,
    usedFromMs,
    usedForMs: random.between(3, 300) * HOUR_MS,
  }
}

/** How long it takes until so many percent are used, in whole bytes. */
function usedAfterMs(usedForMs: number, percent: number): number {
  const bytes = (GB * BigInt(percent) + 99n) / 100n
  return Number((bytes * BigInt(usedForMs) + GB - 1n) / GB)
}

/** Reports at each threshold, as the sandbox makes them. */
function foreseen({ usedFromMs, usedForMs }: Case): ForeseenReports | undefined {
  if (usedFromMs === null) return undefined
  return {
    moments: [0, ...SETTINGS.usageThresholds].map((percent) => at(usedFromMs + usedAfterMs(usedForMs, percent))),
    reportAt(time) {
      const usedMs = time.getTime() - START.getTime() - usedFromMs
      if (usedMs < 0) return undefined
      const usage = (GB * BigInt(Math.min(usedMs, usedForMs))) / BigInt(usedForMs)
      return { time, usage, esimStatus: usage === GB ? 'USED_UP' : 'IN_USE' }
    },
  }
}

/** What happens in these steps, and what is left of each eSIM. */
function pass(cases: readonly Case[], splits: readonly number[]) {
  const lives = new Map(cases.map(({ profileId, life }) => [profileId, life]))
  const changes: LifeChange[] = []
  let fromMs = 0
  for (const hours of splits) {
    const toMs = fromMs + hours * HOUR_MS
    const esims = cases.map((one) => {
      const life = lives.get(one.profileId)!
      return { profileId: one.profileId, life, policy: undefined, foreseen: foreseen(one) }
    })
    const step = passTime(esims, { from: at(fromMs), to: at(toMs), settings: SETTINGS })
    for (const { profileId, after } of step) lives.set(profileId, after)
    changes.push(...step)
    fromMs = toMs
  }
  return { lives: [...lives], happened: changes.flatMap(happeningsOf) }
}

type Happening = [ms: number, profileId: string, what: string]

function happeningsOf({ profileId, at: moment, before, after, notices }: LifeChange): Happening[] {
  const whats = notices.map(({ content }) =>
    'hours' in content ? `expires in ${content.hours}` : `used ${content.threshold}`,
  )
  if (after.esimStatus !== before.esimStatus) whats.push(after.esimStatus)
  return whats.map((what) => [moment.getTime() - START.getTime(), profileId, what])
}

/** The same, from the rules alone: first use, thresholds, notices, the end. */
function modelOf(cases: readonly Case[]): Happening[] {
  return cases.flatMap(({ profileId, life, usedFromMs, usedForMs }) => {
    const happened: Happening[] = []
    const untilMs = YEAR_HOURS * HOUR_MS
    let endsMs = (life.expiredTime ?? life.installBefore)!.getTime() - START.getTime()
    const isUsed = usedFromMs !== null && usedFromMs < endsMs
    if (life.esimStatus === 'GOT_RESOURCE' && !isUsed) happened.push([endsMs, profileId, 'UNUSED_EXPIRED'])
    else {
      const isFirstUse = life.esimStatus === 'GOT_RESOURCE'
      if (isFirstUse) happened.push([usedFromMs!, profileId, 'IN_USE'])
      if (isFirstUse) endsMs = usedFromMs! + life.totalDuration * 24 * HOUR_MS
      const knownMs = isFirstUse ? usedFromMs! : 0
      const usedUpMs = isUsed ? usedFromMs! + usedForMs : Infinity
      for (const threshold of SETTINGS.usageThresholds) {
        const ms = isUsed ? usedFromMs! + usedAfterMs(usedForMs, threshold) : Infinity
        if (ms < endsMs) happened.push([ms, profileId, `used ${threshold}`])
      }
      for (const hours of SETTINGS.expiryNoticeHours) {
        const ms = endsMs - hours * HOUR_MS
        if (ms > knownMs) happened.push([ms, profileId, `expires in ${hours}`])
      }
      happened.push(usedUpMs < endsMs ? [usedUpMs, profileId, 'USED_UP'] : [endsMs, profileId, 'USED_EXPIRED'])
    }
    return happened.filter(([ms]) => ms <= untilMs)
  })
}

const sorted = (happened: readonly Happening[]) => happened.map((one) => one.join(' ')).sort()
const timesOf = (happened: readonly Happening[]) => happened.map(([ms]) => ms)

test(`a year ends alike in one step, in 366 days and in a hundred random splits, as the rules say (SEED=${seed})`, () => {
  const cases = Array.from({ length: 60 }, (_, number) => randomCase(number))
  const whole = pass(cases, [YEAR_HOURS])
  expect(sorted(whole.happened)).toEqual(sorted(modelOf(cases)))
  expect(timesOf(whole.happened)).toEqual(timesOf(whole.happened).toSorted((left, right) => left - right))
  expect(
    pass(
      cases,
      Array.from({ length: 366 }, () => 24),
    ),
  ).toEqual(whole)
  for (let round = 0; round < 100; round++) {
    const splits: number[] = []
    for (let left = YEAR_HOURS; left > 0; left -= splits.at(-1)!) splits.push(Math.min(left, random.between(1, 4_000)))
    expect(pass(cases, splits), `split into ${splits}`).toEqual(whole)
  }
})
