import type { Db } from './postgres/db.ts'

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
  observe(databaseTimeMs: number, sentAt: number, receivedAt: number): void
}

/** How fast two clocks may part: 500 millionths is the most that NTP slews one. */
const DRIFT = 500e-6

/**
 * A round trip's answer was timed somewhere within it, so its middle errs by half of it at most. A slow one (a busy
 * loop, a lock that was waited for) says less than a quick one before it, whose error has grown by the drift since: the
 * smaller error is kept. Readings that cannot both be true mean that a clock was set: then the newer one holds.
 */
export function createDatabaseClock(clock: Clock): DatabaseClock {
  let offset = clock.now() - clock.monotonic()
  let errorMs = Number.POSITIVE_INFINITY
  let observedAt = clock.monotonic()
  return {
    now: () => Math.floor(clock.monotonic() + offset),
    observe(databaseTimeMs, sentAt, receivedAt) {
      const seen = { offset: databaseTimeMs - (sentAt + receivedAt) / 2, errorMs: (receivedAt - sentAt) / 2 }
      const knownErrorMs = errorMs + (receivedAt - observedAt) * DRIFT
      const isContradiction = Math.abs(seen.offset - offset) > seen.errorMs + knownErrorMs
      if (seen.errorMs > knownErrorMs && !isContradiction) return
      offset = seen.offset
      errorMs = seen.errorMs
      observedAt = receivedAt
    },
  }
}

/** What the database's clock said, and what another did before it was asked and after it had answered. */
export interface TimeReading {
  databaseMs: number
  sentAt: number
  receivedAt: number
}

export async function readDatabaseTime(db: Pick<Db, 'query'>, now: () => number): Promise<TimeReading> {
  const sentAt = now()
  const text = 'select extract(epoch from clock_timestamp())::float8 * 1000 as database_ms'
  const [row] = await db.query<{ databaseMs: number }>({ text, name: 'clock' })
  return { databaseMs: row!.databaseMs, sentAt, receivedAt: now() }
}

/** Sets what we know of the database's clock by one look at it. */
export async function sampleDatabaseClock(
  db: Pick<Db, 'query'>,
  clock: Clock,
  databaseClock: DatabaseClock,
): Promise<void> {
  const { databaseMs, sentAt, receivedAt } = await readDatabaseTime(db, () => clock.monotonic())
  databaseClock.observe(databaseMs, sentAt, receivedAt)
}
