import type { Db } from './postgres/db.ts'

/** Milliseconds since 1970, and monotonic milliseconds for durations. Tests pass their own. */
export interface Clock {
  now(): number
  monotonic(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** This node's estimate of the database's clock, which decides wherever time matters (contract §3). */
export interface DatabaseClock {
  now(): number
  /** Records the database's time (ms) from a response, with the monotonic readings before and after the round trip. */
  observe(databaseTimeMs: number, sentAt: number, receivedAt: number): void
}

/** Maximum drift between two clocks: NTP slews by at most 500 ppm. */
const DRIFT = 500e-6

/**
 * The database read its clock at some moment of the round trip, so an estimate at the middle is wrong by at most half its
 * duration. Keeps the reading with the smaller error: the previous one, whose error grows by the drift, or the new one. If
 * they contradict each other, a clock was changed, and the new reading is kept.
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

/** The database's time, and monotonic readings before and after the round trip. */
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

/** Reads the database's clock once and records the reading. */
export async function sampleDatabaseClock(
  db: Pick<Db, 'query'>,
  clock: Clock,
  databaseClock: DatabaseClock,
): Promise<void> {
  const { databaseMs, sentAt, receivedAt } = await readDatabaseTime(db, () => clock.monotonic())
  databaseClock.observe(databaseMs, sentAt, receivedAt)
}
