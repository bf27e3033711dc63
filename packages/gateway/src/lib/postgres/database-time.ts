import type { Clock, DatabaseClock } from '../clock.ts'
import type { Db } from './db.ts'

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
