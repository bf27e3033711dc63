import type { Clock } from '../lib/clock.ts'

/** Places for requests under way: as many as can be served without keeping each other waiting. */
export interface Places {
  isFull(): boolean
  /** Whether one request is under way and no other. */
  isLone(): boolean
  take(): void
  /** Every take has its leave. @param durationMs of the request; undefined where it says nothing of our load */
  leave(durationMs: number | undefined): void
}

/** More only wait for each other, however quick the machine. Two hundred calls with one transactionId are no overload. */
export const PLACES_MAX = 512
/** Enough to fill the batches of the order path, so that a slow disk or database never costs throughput here. */
export const PLACES_MIN = 64
/** A request that takes longer has waited for others: a lone order takes a few milliseconds. */
const SLOW_MS = 20
/** How long requests are watched before the number of places is judged: a burst is over by then. */
const WATCHED_MS = 100
const ANSWERED_MIN = 8
/** Where so little is answered that nothing can be told, a lock is being waited for, and not the machine. */
const SILENCE_MS = 500
const SHRINKS_TO = 0.7
const GROWS_TO = 1.2
/** What was learnt from a crowd says nothing of the next one. */
const FORGOTTEN_MS = 2_000

/**
 * What a machine serves at its best is known only by trying, so the places follow what is measured: while they run out
 * and more than half of the answers of a moment are slow, there are fewer; otherwise there are more again. A burst that
 * finds its places is no crowd, however slow: on a busy machine two hundred calls at once come after two hundred others.
 * Answers are what counts: requests that wait for a lock are not answered, so that one dealer's locked wallet leaves the
 * others the places that they have. (Measured on two cores, 2 000 connections that never waited: with 512 places and a
 * refusal for whoever came, orders under way took seconds; docs/performance.md.)
 */
export function openPlaces(clock: Clock): Places {
  let most = PLACES_MAX
  let taken = 0
  let since = clock.monotonic()
  let answered = 0
  let slow = 0
  let ranOut = false

  function judge(now: number): void {
    const isTold = answered >= ANSWERED_MIN
    if (now - since < (isTold ? WATCHED_MS : SILENCE_MS)) return
    if (now - since > FORGOTTEN_MS) most = PLACES_MAX
    else if (ranOut && isTold && slow * 2 > answered) most = Math.max(PLACES_MIN, Math.floor(most * SHRINKS_TO))
    else most = Math.min(PLACES_MAX, Math.ceil(most * GROWS_TO))
    since = now
    answered = 0
    slow = 0
    ranOut = false
  }

  return {
    isFull() {
      if (taken < most) return false
      ranOut = true
      judge(clock.monotonic())
      return taken >= most
    },
    isLone: () => taken === 1,
    take: () => void taken++,
    leave(durationMs) {
      taken--
      if (durationMs === undefined) return
      answered++
      if (durationMs > SLOW_MS) slow++
      judge(clock.monotonic())
    },
  }
}
