/** Milliseconds since 1970, and a monotonic reading for durations. Tests bring their own. */
export interface Clock {
  now(): number
  monotonic(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** The database's clock, as this node last saw it. The database's word rules where time decides (contract §3). */
export interface DatabaseClock {
  now(): number
  /** Takes the database's time (ms) that an answer brought, with the monotonic readings around the round trip. */
  observe(databaseTime_ms: number, sent_at: number, received_at: number): void
}

/** How fast two clocks may part: 500 millionths is the most that NTP slews one. */
const DRIFT = 500e-6

/**
 * A round trip's answer was timed somewhere within it, so its middle errs by half of it at most. A slow one (a busy
 * loop, a lock that was waited for) says less than a quick one before it, whose error has grown by the drift since: the
 * smaller error is kept. Readings that cannot both be true mean that a clock was set: then the newer one holds.
 */
export function databaseClock(clock: Clock): DatabaseClock {
  let offset = clock.now() - clock.monotonic()
  let error_ms = Number.POSITIVE_INFINITY
  let observed_at = clock.monotonic()
  return {
    now: () => Math.floor(clock.monotonic() + offset),
    observe(databaseTime_ms, sent_at, received_at) {
      const seen = { offset: databaseTime_ms - (sent_at + received_at) / 2, error_ms: (received_at - sent_at) / 2 }
      const knownError_ms = error_ms + (received_at - observed_at) * DRIFT
      const isContradiction = Math.abs(seen.offset - offset) > seen.error_ms + knownError_ms
      if (seen.error_ms > knownError_ms && !isContradiction) return
      offset = seen.offset
      error_ms = seen.error_ms
      observed_at = received_at
    },
  }
}
