/*
 * The one place that knows when a stored time is implausible: the database's clock ran fast, wrote it and was set back, so
 * it is further in the future than the gateway ever sets it. For example, a lease of 30 s that ends in an hour. Claims
 * ignore such leases. Due times are in indexes that claims read from the front, so a loop makes such jobs due instead
 * (gateway/src/operations/doctor/times-ahead.ts). docs/clocks.md lists all stored times.
 */

/** How far a time may exceed its longest wait: transactions read the clock when they begin. */
export const AHEAD_TOLERANCE_MS = 10_000

/** SQL: true if a job with this lease is free: it has no lease, the lease has expired, or a fast clock set it. */
export function isFree(leaseUntil: string, leaseMs: number, now = 'now()'): string {
  return `(${leaseUntil} is null or ${leaseUntil} < ${now} or ${isAhead(leaseUntil, String(leaseMs), now)})`
}

/** SQL: true if a time is further ahead than the wait (SQL, in ms) for which it was set. */
export function isAhead(time: string, waitMs: string, now = 'now()'): string {
  return `${time} > ${now} + (${waitMs} + ${AHEAD_TOLERANCE_MS}) * interval '1 millisecond'`
}

/** Rows of a table whose times a fast clock has set. All members are constant SQL. */
export interface TimesAhead {
  table: string
  key: readonly string[]
  /** The condition that such rows meet. */
  isAhead: string
  /** Assignments that make the row due now; undefined if a claim ignores the time. */
  repair?: string
}
