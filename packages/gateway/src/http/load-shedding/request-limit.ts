import type { Clock } from '@dealer-esim/lib/clock.ts'

/** Limits the dealers' requests in progress to as many as can be served without slowing each other down. */
export interface RequestLimit {
  isReached(): boolean
  inProgress(): number
  begin(): void
  /** Call it once for each `begin`. @param durationMs of the request; undefined if it says nothing about our load */
  end(durationMs: number | undefined): void
}

/**
 * Above this number, requests only wait for each other, on any machine. Two hundred calls with one transactionId are not an
 * overload.
 */
export const REQUESTS_MAX = 512
/** Enough to fill the batches of orders, so that the limit does not cost throughput while the disk or database is slow. */
export const REQUESTS_MIN = 64
/** A request that takes longer has waited for others: a single order takes a few milliseconds. */
const SLOW_MS = 20
/** The time for which answers are counted before the limit is adapted. A burst is over by then. */
const COUNTED_MS = 100
const ANSWERED_MIN = 8
/** If fewer than ANSWERED_MIN requests are answered in this time, they are waiting for a lock, not for the machine. */
const FEW_ANSWERS_MS = 500
const SHRINKS_TO = 0.7
const GROWS_TO = 1.2
/** After this long without load, the limit found earlier no longer applies. */
const FORGOTTEN_MS = 2_000

/**
 * Finds by trial how many requests a machine can serve. While the limit is reached and more than half of the recent answers
 * are slow, it shrinks; otherwise it grows again. A burst below the limit changes nothing, however slow it is. Only answers
 * count: requests that wait for a lock are not answered, so a locked wallet of one dealer does not shrink the limit for
 * others.
 *
 * Measured on two cores with 2 000 connections that never wait: with a fixed limit of 512 an order took seconds
 * (docs/performance.md).
 */
export function createRequestLimit(clock: Pick<Clock, 'monotonic'>): RequestLimit {
  let limit = REQUESTS_MAX
  let inProgress = 0
  let since = clock.monotonic()
  let answered = 0
  let slow = 0
  let wasReached = false

  function adapt(now: number): void {
    const isEnough = answered >= ANSWERED_MIN
    if (now - since < (isEnough ? COUNTED_MS : FEW_ANSWERS_MS)) return
    if (now - since > FORGOTTEN_MS) limit = REQUESTS_MAX
    else if (wasReached && isEnough && slow * 2 > answered) {
      limit = Math.max(REQUESTS_MIN, Math.floor(limit * SHRINKS_TO))
    } else limit = Math.min(REQUESTS_MAX, Math.ceil(limit * GROWS_TO))
    since = now
    answered = 0
    slow = 0
    wasReached = false
  }

  return {
    isReached() {
      if (inProgress < limit) return false
      wasReached = true
      adapt(clock.monotonic())
      return inProgress >= limit
    },
    inProgress: () => inProgress,
    begin: () => void inProgress++,
    end(durationMs) {
      inProgress--
      if (durationMs === undefined) return
      answered++
      if (durationMs > SLOW_MS) slow++
      adapt(clock.monotonic())
    },
  }
}
