import { isDay } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { checkTimeZone } from '#people/account/locale.ts'

/** A calendar day in one time zone. */
export interface LocalDay {
  /** `2026-11-20` */
  day: string
  startsAt: Date
}

const DAY_MS = 86_400_000

/**
 * The last days of a time zone, ending with today. A browser in that zone computes the same days, so a day's figure and
 * that day's list count the same rows.
 * @throws Refusal TIME_ZONE_UNKNOWN
 */
export function localDays(nowMs: number, length: number, timeZone: string): LocalDay[] {
  const clock = offsetClock(timeZone)
  const todayMs = Math.floor((nowMs + clock(nowMs)) / DAY_MS) * DAY_MS
  return daysUpTo(todayMs, length, clock)
}

/**
 * The days from one (`2026-11-20`) to another, plus the following day, at whose start they end. The length is checked
 * first: ten thousand years would occupy the process for minutes.
 * @throws Refusal PERIOD_EMPTY, PERIOD_TOO_LONG, TIME_ZONE_UNKNOWN
 */
export function localDaysBetween(
  from: string,
  to: string,
  timeZone: string,
  daysMax: number,
): { days: LocalDay[]; end: LocalDay } {
  const [firstMs, lastMs] = [Date.parse(`${from}T00:00:00Z`), Date.parse(`${to}T00:00:00Z`)]
  if (!isDay(from) || !isDay(to) || firstMs > lastMs) {
    throw new Refusal(
      422,
      'PERIOD_EMPTY',
      'This is not a valid period. Use two valid dates, the first no later than the last.',
    )
  }
  const length = (lastMs - firstMs) / DAY_MS + 1
  if (length > daysMax) {
    throw new Refusal(422, 'PERIOD_TOO_LONG', `A period can have at most ${daysMax} days. Choose a shorter one.`)
  }
  const days = daysUpTo(lastMs + DAY_MS, length + 1, offsetClock(timeZone))
  const end = days.pop()!
  return { days, end }
}

/** @param lastMs the last day's midnight as if it were UTC */
function daysUpTo(lastMs: number, length: number, clock: (timeMs: number) => number): LocalDay[] {
  return Array.from({ length }, (_, index) => {
    const midnightMs = lastMs - (length - 1 - index) * DAY_MS
    return { day: new Date(midnightMs).toISOString().slice(0, 10), startsAt: startOf(midnightMs, clock) }
  })
}

/**
 * When a local day starts, given its midnight as if it were UTC. As in browsers: the first of two midnights, or the moment
 * of the change if the clocks skip midnight.
 */
function startOf(midnightMs: number, clock: (timeMs: number) => number): Date {
  const before = midnightMs - clock(midnightMs - DAY_MS / 2)
  const after = midnightMs - clock(midnightMs + DAY_MS / 2)
  const isMidnight = (timeMs: number) => timeMs + clock(timeMs) === midnightMs
  return new Date(!isMidnight(before) && isMidnight(after) ? after : before)
}

/** Returns a function that says how many ms the zone's clocks are ahead of UTC at a given time. */
function offsetClock(timeZone: string): (timeMs: number) => number {
  const format = formatOf(timeZone)
  return (timeMs) => {
    const parts = Object.fromEntries(format.formatToParts(timeMs).map(({ type, value }) => [type, Number(value)]))
    const { year, month, day, hour, minute, second } = parts as Record<string, number>
    const localMs = Date.UTC(year!, month! - 1, day, hour, minute, second)
    return localMs - Math.floor(timeMs / 1000) * 1000
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  checkTimeZone(timeZone)
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  return new Intl.DateTimeFormat('en-US', { ...numeric, second: 'numeric', hourCycle: 'h23', timeZone })
}
