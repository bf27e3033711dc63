import type { Clock, DatabaseClock } from './clock.ts'
import type { Db } from './db.ts'

/** What the database's clock said, and what another did before it was asked and after it had answered. */
export interface TimeReading {
  database_ms: number
  sent_at: number
  received_at: number
}

export async function readDatabaseTime(db: Pick<Db, 'query'>, now: () => number): Promise<TimeReading> {
  const sent_at = now()
  const text = 'select extract(epoch from clock_timestamp())::float8 * 1000 as database_ms'
  const [row] = await db.query<{ database_ms: number }>({ text, name: 'clock' })
  return { database_ms: row!.database_ms, sent_at, received_at: now() }
}

/** Sets what we know of the database's clock by one look at it. */
export async function sampleDatabaseClock(
  db: Pick<Db, 'query'>,
  clock: Clock,
  databaseClock: DatabaseClock,
): Promise<void> {
  const { database_ms, sent_at, received_at } = await readDatabaseTime(db, () => clock.monotonic())
  databaseClock.observe(database_ms, sent_at, received_at)
}
