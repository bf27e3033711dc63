import { Refusal } from '../../../lib/refusal.ts'

/** A day as a calendar in one place of the world has it. */
export interface LocalDay {
  /** `2026-11-20` */
  day: string
  startsAt: Date
}

const DAY_MS = 86_400_000

/**
 * The last days up to now of a time zone, today the last: the same days that a browser there makes of its dates, so a
 * figure of a day and the list of that day count the same rows.
 * @throws Refusal for a time zone that nobody knows
 */
export function localDays(nowMs: number, length: number, timeZone: string): LocalDay[] {
  const clock = localClock(timeZone)
  const todayMs = Math.floor((nowMs + clock(nowMs)) / DAY_MS) * DAY_MS
  return Array.from({ length }, (_, index) => {
    const midnightMs = todayMs - (length - 1 - index) * DAY_MS
    return { day: new Date(midnightMs).toISOString().slice(0, 10), startsAt: startOf(midnightMs, clock) }
  })
}

/**
 * Midnight of the local calendar, given as if it were UTC. As browsers do: of two midnights the first, and where clocks
 * skip midnight, the moment that they do.
 */
function startOf(midnightMs: number, clock: (timeMs: number) => number): Date {
  const before = midnightMs - clock(midnightMs - DAY_MS / 2)
  const after = midnightMs - clock(midnightMs + DAY_MS / 2)
  const isMidnight = (timeMs: number) => timeMs + clock(timeMs) === midnightMs
  return new Date(!isMidnight(before) && isMidnight(after) ? after : before)
}

/** How far a zone's clocks are ahead of UTC at a moment, in ms. */
function localClock(timeZone: string): (timeMs: number) => number {
  const format = formatOf(timeZone)
  return (timeMs) => {
    const parts = Object.fromEntries(format.formatToParts(timeMs).map(({ type, value }) => [type, Number(value)]))
    const { year, month, day, hour, minute, second } = parts as Record<string, number>
    const localMs = Date.UTC(year!, month! - 1, day, hour, minute, second)
    return localMs - Math.floor(timeMs / 1000) * 1000
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
    return new Intl.DateTimeFormat('en-US', { ...numeric, second: 'numeric', hourCycle: 'h23', timeZone })
  } catch {
    throw new Refusal(422, 'TIME_ZONE_UNKNOWN', 'There is no such time zone. Name one like Europe/Vienna, or UTC.')
  }
}
