import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'

/*
 * Ages are measured by the database's clock. A machine that starts with a wrong date may be weeks ahead, and data deleted
 * in that state stays lost when the clock is corrected. Each pass of the retention loop therefore stores the time. If the
 * next pass finds that the clock was set back, or is further ahead than a gateway may have been stopped, the clock has
 * jumped: nothing is deleted until it has run steadily for a day. A day is long enough for people to notice, because if a
 * clock is five minutes off, every request of every dealer is refused (101001). The newest rows cannot be used to detect a
 * jump: once an order is placed, they are as wrong as the clock, and a pause of two months may simply be a dealer who
 * rarely sells.
 */

/**
 * A weekend during which the gateway was stopped is not a jump. This is well below the shortest retention of data, 30 days.
 */
const STOPPED_MAX = `interval '3 days'`
/** The clock of a standby that becomes primary may be slightly behind. */
const BEHIND_MAX = `interval '1 minute'`
const STEADY_FOR = `interval '1 day'`
/**
 * The confirmed clock runs faster by this factor until it has caught up, because no process counts the time before its
 * first pass.
 */
const CATCH_UP = 1.25

export interface ClockReading {
  /** Data is deleted by the database's clock only while this is true. RequestIDs have separate ages (request-id-slots.ts). */
  isSteady: boolean
  /** The stored time, if the clock has jumped away from it; undefined: the clock has run normally, or no time was stored. */
  jumpedFrom: Date | undefined
  /**
   * Time since the previous pass: the smaller of the times measured by the database's clock and by this process's monotonic
   * clock.
   */
  elapsedMs: number
}

/**
 * Returns a function that reads the database's clock and stores the result. It locks the single row of retention_clock, so
 * nodes do this one after the other. The first call in a process counts no time as elapsed.
 */
export function createClockReader(clock: Pick<Clock, 'monotonic'>): (tx: Tx) => Promise<ClockReading> {
  let previousMs: number | undefined
  return async (tx) => {
    const nowMs = clock.monotonic()
    const monotonicMs = previousMs === undefined ? 0 : nowMs - previousMs
    const earlier = tx.query<{ seenAt: Date }>({ text: LOCK_CLOCK })
    const [row] = await tx.query<{ steady: boolean; jumped: boolean; elapsedMs: number }>({
      text: READ_CLOCK,
      values: [monotonicMs],
    })
    const [before] = await earlier
    previousMs = nowMs
    const { steady, jumped, elapsedMs } = row!
    return { isSteady: steady, jumpedFrom: jumped ? before?.seenAt : undefined, elapsedMs }
  }
}

/**
 * SQL: elapsed time. $1: ms since this process's previous pass. Another process may have made a pass since, as seen_at
 * shows.
 */
const ELAPSED_MS = 'greatest(0, least($1::float8, extract(epoch from now() - c.seen_at)::float8 * 1000))'

const LOCK_CLOCK = 'select seen_at from retention_clock for no key update'
const READ_CLOCK = `
  insert into retention_clock as c (seen_at, steady_since, elapsed_ms, confirmed_at) values (now(), now(), 0, now())
  on conflict (singleton) do update set
    seen_at = now(),
    steady_since = case
      when now() between c.seen_at - ${BEHIND_MAX} and c.seen_at + ${STOPPED_MAX} then c.steady_since else now() end,
    elapsed_ms = ${ELAPSED_MS},
    confirmed_at = least(now(), c.confirmed_at + ${CATCH_UP} * ${ELAPSED_MS} * interval '1 millisecond')
  returning steady_since <= now() - ${STEADY_FOR} as steady, steady_since = now() as jumped, elapsed_ms`
