import type { Db } from '../lib/postgres/db.ts'

/*
 * Leases and due times are written by the database's clock. If that clock was ahead and was set back, they are further in the
 * future than any time that the gateway writes, and are ignored. docs/clocks.md lists all stored times.
 */

/** The margin by which a time may exceed its longest wait: transactions read the clock when they begin. */
export const AHEAD_TOLERANCE_MS = 10_000

/** SQL: true if a job with this lease is free: it has no lease, the lease is over, or a clock that was ahead set it. */
export function isFree(leaseUntil: string, leaseMs: number, now = 'now()'): string {
  return `(${leaseUntil} is null or ${leaseUntil} < ${now} or ${isAhead(leaseUntil, String(leaseMs), now)})`
}

/** SQL: true if a time is further ahead than the wait (SQL, in ms) for which it was set. */
export function isAhead(time: string, waitMs: string, now = 'now()'): string {
  return `${time} > ${now} + (${waitMs} + ${AHEAD_TOLERANCE_MS}) * interval '1 millisecond'`
}

/** Rows of a table whose times were set by a clock that was ahead. All members are constant SQL. */
export interface TimesAhead {
  table: string
  key: readonly string[]
  /** The condition that such rows meet. */
  isAhead: string
  /** Assignments that make the row due now; undefined: a claim ignores the time. */
  repair?: string
}

const COUNTED_MAX = 1_000
/** Bounds one transaction. */
const REPAIRED_MAX = 1_000

/** Counts up to 1 000 such rows per table. Takes no lock. */
export async function countTimesAhead(
  db: Pick<Db, 'query'>,
  tables: readonly TimesAhead[],
): Promise<{ table: string; count: number }[]> {
  const counts: { table: string; count: number }[] = []
  for (const { table, isAhead: condition } of tables) {
    const text = `select count(*)::int as count from (select from ${table} where ${condition} limit ${COUNTED_MAX}) ahead`
    const [row] = await db.query<{ count: number }>({ text })
    counts.push({ table, count: row!.count })
  }
  return counts
}

/** Makes such rows due now. Each statement locks up to 1 000 rows and skips locked ones. @returns how many */
export async function repairTimesAhead(db: Pick<Db, 'query'>, tables: readonly TimesAhead[]): Promise<number> {
  let repaired = 0
  for (const { table, key, isAhead: condition, repair } of tables) {
    if (repair === undefined) continue
    const keys = key.join(', ')
    const text = `
      with ahead as (
        select ${keys} from ${table} where ${condition} limit ${REPAIRED_MAX} for no key update skip locked)
      update ${table} job set ${repair} from ahead
      where ${key.map((column) => `job.${column} = ahead.${column}`).join(' and ')}
      returning 1`
    for (let rows = REPAIRED_MAX; rows === REPAIRED_MAX; repaired += rows) rows = (await db.query({ text })).length
  }
  return repaired
}
