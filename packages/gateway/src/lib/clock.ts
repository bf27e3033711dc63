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

export function databaseClock(clock: Clock): DatabaseClock {
  let offset = clock.now() - clock.monotonic()
  return {
    now: () => Math.floor(clock.monotonic() + offset),
    observe(databaseTime_ms, sent_at, received_at) {
      // The answer's time was read somewhere within the round trip: its middle errs by half of it at most.
      offset = databaseTime_ms - (sent_at + received_at) / 2
    },
  }
}
