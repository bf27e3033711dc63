import type { Db } from '../../src/lib/postgres/db.ts'

/**
 * Resolves as soon as so many statements of the database wait for a lock that another transaction holds, and began so
 * long ago.
 */
export async function untilLockIsWaitedFor(db: Db, statements = 1, ageMs = 0): Promise<void> {
  const text = `
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
      and query_start <= clock_timestamp() - interval '${ageMs} milliseconds'`
  while ((await db.query({ text })).length < statements);
}
