import { parseTime } from '@dealer-esim/contract'

/*
 * Test time: the database's time plus an offset that a test account keeps (tenants.test_offset_ms), 0 for every other account.
 * `test/clock/advance` makes the offset larger. Only the present moves: what has happened keeps its time. Example: with an offset
 * of a day, at noon on 20 November the account's eSIMs expire as at noon on the 21st.
 *
 * Times that a dealer sees are written and compared in test time, always by a function of this file. These are real:
 *
 *   expiry of restricted keys, grace periods of secrets   they protect the account, whose real time has not passed
 *   RequestIDs, the clock window, QPS, other rate limits  they protect the gateway
 *   ids, partitions, retention                            ids order rows of all accounts, and partitions exist for real days
 *   `eventGenerateTime`, what events are signed with      receivers compare them with their own clocks
 *   the 72 h after which an endpoint is disabled          its server has failed for that long only in real time
 *   prices by date, catalogue, stock                      a test account buys at the prices of the real moment
 *   leases, retries and time limits of calls to suppliers calls take real time
 *   approvals, sessions, audit log, alerts                people decide in real time
 *
 * Times of work that is due (deliveries.due_at, profiles.poll_at) are real, too: an advance makes them earlier instead.
 */

/** SQL: the offset of a tenant, an interval. It is read by the primary key. */
export const testOffset = (tenantId: string): string =>
  `coalesce((select test_offset_ms from tenants tt where tt.tenant_id = ${tenantId}), 0) * interval '1 millisecond'`

/** SQL: the present of a tenant. @param now SQL for the database's time */
export const tenantNow = (tenantId: string, now = 'now()'): string => `(${now} + ${testOffset(tenantId)})`

/** SQL: the present of a tenant when a row is written, not when its transaction began. */
export const tenantClock = (tenantId: string): string => tenantNow(tenantId, 'clock_timestamp()')

/** SQL: the present of the tenant in the row `tenants`, such as `t`. */
export const nowOfTenantRow = (tenants: string, now = 'now()'): string =>
  `(${now} + ${tenants}.test_offset_ms * interval '1 millisecond')`

/**
 * A tenant's present at a moment of the database's time.
 * @param known the tenant, as one or more requests have read it: the clock may have been advanced between them
 */
export function tenantTime(databaseNow: Date, ...known: { testOffsetMs?: number | undefined }[]): Date {
  let offsetMs = 0
  for (const { testOffsetMs = 0 } of known) offsetMs = Math.max(offsetMs, testOffsetMs)
  return offsetMs === 0 ? databaseNow : new Date(databaseNow.getTime() + offsetMs)
}

/**
 * The parameters of a filter on times, each `timestamptz`. They are parsed here because PostgreSQL rejects some times of
 * RFC 3339, such as those with a zone of +23:59.
 */
export function timeRange(filter: { startTime?: string; endTime?: string }): [from: Date | string, to: Date | string] {
  const { startTime, endTime } = filter
  return [startTime == null ? '-infinity' : parseTime(startTime), endTime == null ? 'infinity' : parseTime(endTime)]
}
