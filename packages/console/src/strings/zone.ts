import { rememberedReader } from './reader.ts'

/** The zone of all times that are shown or typed: what the person chose, or the browser's. */
export const timeZone = knownZone(rememberedReader().timeZone) ?? Intl.DateTimeFormat().resolvedOptions().timeZone

/** A browser may not know a zone that the gateway knows. */
function knownZone(zone: string | null): string | undefined {
  try {
    return zone === null ? undefined : Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

const HALF_DAY_MS = 43_200_000

/**
 * The moment of a local day or time, e.g. 2026-03-01 or 2026-03-01T14:30. As in browsers: the first, if the clocks show it twice, and
 * the moment of the change if they skip it.
 */
export function momentOf(local: string, zone = timeZone): Date {
  const wallMs = Date.parse(`${local.length === 'YYYY-MM-DD'.length ? `${local}T00:00` : local}Z`)
  const clock = offsetClock(zone)
  const before = wallMs - clock(wallMs - HALF_DAY_MS)
  const after = wallMs - clock(wallMs + HALF_DAY_MS)
  const isShown = (timeMs: number) => timeMs + clock(timeMs) === wallMs
  return new Date(!isShown(before) && isShown(after) ? after : before)
}

/** What the clocks show, as an input takes it: 2026-03-01T14:30. */
export function localTime(timeMs: number, zone = timeZone): string {
  return new Date(localMs(timeMs, zone)).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length)
}

/** 2026-03-01 */
export function localDay(timeMs: number, zone = timeZone): string {
  return localTime(timeMs, zone).slice(0, 'YYYY-MM-DD'.length)
}

/** What the clocks show, as if it were UTC. */
export function localMs(timeMs: number, zone = timeZone): number {
  return timeMs + offsetClock(zone)(timeMs)
}

/** How many ms the zone's clocks are ahead of UTC at a given time. */
function offsetClock(zone: string): (timeMs: number) => number {
  const known = clocks.get(zone)
  if (known) return known
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en-US', { ...numeric, second: 'numeric', hourCycle: 'h23', timeZone: zone })
  const clock = (timeMs: number) => {
    const parts = Object.fromEntries(format.formatToParts(timeMs).map(({ type, value }) => [type, Number(value)]))
    const { year, month, day, hour, minute, second } = parts as Record<string, number>
    return Date.UTC(year!, month! - 1, day, hour, minute, second) - Math.floor(timeMs / 1000) * 1000
  }
  clocks.set(zone, clock)
  return clock
}

/** Making one takes longer than reading it, and a list asks for each of its times. */
const clocks = new Map<string, (timeMs: number) => number>()
