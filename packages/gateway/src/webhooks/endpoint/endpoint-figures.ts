import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { ACKNOWLEDGED } from '../attempt-log.ts'

/** The results of attempts to send events to an endpoint, in equal parts of a period. */
export interface EndpointFigures {
  /** True if there were more attempts; then only those of the newest events are counted. */
  isSample: boolean
  parts: FiguresPart[]
}

export interface FiguresPart {
  from: Date
  acknowledged: number
  failed: number
  /** The response times of all its attempts; null without attempts. */
  p50Ms: number | null
  p95Ms: number | null
}

/** Length of each period and of its parts, in hours. */
export const FIGURE_PERIODS = { DAY: { hours: 24, partHours: 1 }, WEEK: { hours: 168, partHours: 6 } } as const

/** Attempts are read through an index, newest events first, so a busy endpoint costs no more than this. */
export const FIGURES_ATTEMPTS_MAX = 5_000

const HOUR_MS = 3_600_000

export async function readEndpointFigures(
  { db, databaseClock }: { db: Pick<Db, 'query'>; databaseClock: Pick<DatabaseClock, 'now'> },
  tenantId: string,
  period: keyof typeof FIGURE_PERIODS,
): Promise<EndpointFigures> {
  const { hours, partHours } = FIGURE_PERIODS[period]
  const partMs = partHours * HOUR_MS
  // The last part includes the present, so it is still incomplete.
  const endMs = (Math.floor(databaseClock.now() / partMs) + 1) * partMs
  const startMs = endMs - hours * HOUR_MS
  // An attempt's id contains its time, so only the partitions of the period are read.
  const rows = await db.query<Omit<FiguresPart, 'from'> & { part: number }>(sql`
    select floor((extract(epoch from started_at) * 1000 - ${startMs}::bigint) / ${partMs}::bigint)::int as part,
           count(*) filter (where outcome = ${ACKNOWLEDGED})::int as acknowledged,
           count(*) filter (where outcome <> ${ACKNOWLEDGED})::int as failed,
           round(percentile_cont(0.5) within group (order by duration_ms))::int as p50_ms,
           round(percentile_cont(0.95) within group (order by duration_ms))::int as p95_ms
    from (
      select started_at, duration_ms, outcome from delivery_attempts
      where tenant_id = ${tenantId} and attempt_id >= ${firstUuidAt(startMs)} and attempt_id < ${firstUuidAt(endMs)}
        and notify_type <> 'CHECK_HEALTH'
      order by notify_id desc, attempt_id desc limit ${FIGURES_ATTEMPTS_MAX}) attempts
    group by part`)
  const byPart = new Map(rows.map(({ part, ...figures }) => [part, figures]))
  const none = { acknowledged: 0, failed: 0, p50Ms: null, p95Ms: null }
  return {
    isSample: rows.reduce((sum, row) => sum + row.acknowledged + row.failed, 0) === FIGURES_ATTEMPTS_MAX,
    parts: Array.from({ length: hours / partHours }, (_, part) => ({
      from: new Date(startMs + part * partMs),
      ...(byPart.get(part) ?? none),
    })),
  }
}
