import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/**
 * The rate limit of a supplier account, shared by all nodes: each request reserves the next free moment in a row of the
 * database. A node that misses its moment because its machine is busy reserves another one. If it sent all its late requests at
 * once, they would exceed the limit.
 */
export interface AccountRate {
  /** Waits for this request's moment. @returns false if it would wait too long: the request must not be sent */
  turn(): Promise<boolean>
}

/** Requests are spaced this much wider than the limit allows, so that an uneven network does not exceed it. */
const MARGIN = 16 / 15
/**
 * A request may be sent this late. Even if the network then delays it by as much again, no second has more requests than
 * allowed.
 */
const LATE_MAX_MS = (1000 * (MARGIN - 1)) / 2
/** The longest wait of a request: many times the queue of all nodes at their default concurrency. */
export const TURN_WAIT_MAX_MS = 10_000

/** @param share the part of the account that this gateway may use, from 0 to 1 */
export function accountRate(
  db: Pick<Db, 'query'>,
  supplier: string,
  { perSecond, share = 1 }: { perSecond: number; share?: number | undefined },
): AccountRate {
  const everyMs = (1000 / (perSecond * share)) * MARGIN
  /** The fastest round trip to the database so far. */
  let wayMs = Number.POSITIVE_INFINITY
  return {
    async turn() {
      const startedAt = systemClock.monotonic()
      do {
        const askedAt = systemClock.monotonic()
        const [taken] = await db.query<{ waitMs: number; tookMs: number }>({
          name: 'supplier-rate',
          text: TAKE,
          values: [supplier, everyMs],
        })
        if (taken === undefined) return false
        wayMs = Math.min(wayMs, systemClock.monotonic() - askedAt - taken.tookMs)
        if (taken.waitMs > 0) await delay(taken.waitMs)
        // Lateness is measured from the query, because this node may have been slow to read the answer.
        const lateMs = systemClock.monotonic() - askedAt - wayMs - taken.tookMs - taken.waitMs
        if (lateMs <= LATE_MAX_MS) return true
      } while (systemClock.monotonic() - startedAt <= TURN_WAIT_MAX_MS)
      return false
    },
  }
}

/**
 * Locks the supplier's row until its own commit. A time further ahead than the longest wait was written by a clock that
 * was ahead, and does not count.
 */
const AHEAD = `r.next_at > clock_timestamp() + interval '${2 * TURN_WAIT_MAX_MS} milliseconds'`
const TAKE = `
  insert into supplier_rates as r (supplier, next_at) values ($1, clock_timestamp() + $2 * interval '1 millisecond')
  on conflict (supplier) do update
    set next_at = case when ${AHEAD} then clock_timestamp() else greatest(r.next_at, clock_timestamp()) end
      + $2 * interval '1 millisecond'
    where ${AHEAD} or r.next_at <= clock_timestamp() + interval '${TURN_WAIT_MAX_MS} milliseconds'
  returning greatest(0, extract(epoch from next_at - clock_timestamp()) * 1000 - $2)::float8 as wait_ms,
    (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8 as took_ms`
