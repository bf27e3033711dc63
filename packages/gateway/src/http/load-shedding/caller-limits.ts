import { setTimeout as delay } from 'node:timers/promises'
import { networkKey } from '@dealer-esim/lib/address-blocks.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'

/** Limits something expensive, per caller and for all callers together. Each node counts separately. */
export interface CallerLimit {
  /** Requests of one caller in progress. */
  ofCaller: number
  /** Requests of all callers in progress. */
  ofNode: number
  /** The number of one caller's requests that wait for those in progress; default: 0. */
  waiting?: number
  /** The rate of one caller's requests: a burst of `burst`, then one every `everyMs`. */
  rate?: { burst: number; everyMs: number }
  /**
   * The total time that one caller's requests may take: up to `savedMs` is saved up, and `share` of the elapsed time is
   * added. With `{ savedMs: 4_000, share: 0.25 }` a caller that never pauses gets 25 requests of 10 ms a second.
   * Its other requests wait, for at most four seconds.
   */
  time?: { savedMs: number; share: number }
}

export interface CallerLimiter {
  /**
   * Begins a request as soon as earlier ones allow it. @returns the function that ends it; calling it again does nothing
   * @throws Refusal 429 if the caller has reached its limits, 503 if all callers together have
   */
  begin(caller: string): Promise<() => void>
  /** Returns a request's share of the rate. */
  refund(caller: string): void
}

/** Bounds the memory of rates. The caller that came first is forgotten first. */
const CALLERS_MAX = 50_000
/** A request is counted as taking at most this long, because it may wait for a slow reader or for a supplier. */
const COUNTED_MAX_MS = 1_000
/**
 * A caller that has used up its time owes at most this much, so that its next request can begin soon, however slow its
 * requests are.
 */
const OWED_MAX_MS = 1_000
/** When to retry if that depends on when others' requests end. */
const BUSY_S = 2

export function createCallerLimiter(limit: CallerLimit, clock: Pick<Clock, 'monotonic'>): CallerLimiter {
  const own = new Map<string, { running: number; waiting: (() => void)[] }>()
  const rate = limit.rate && createRate(limit.rate, clock)
  const time = limit.time && createTimeShare(limit.time, clock)
  let running = 0

  function end(caller: string): void {
    running -= 1
    const callers = own.get(caller)!
    const next = callers.waiting.shift()
    if (next) next()
    else if (--callers.running === 0) own.delete(caller)
  }

  return {
    async begin(caller) {
      const { ofCaller, ofNode, waiting = 0 } = limit
      const mine = own.get(caller) ?? { running: 0, waiting: [] }
      const mustWait = mine.running >= ofCaller
      if (mustWait && mine.waiting.length >= waiting) throw tooMany(BUSY_S)
      if (!mustWait && running >= ofNode) throw busy()
      const waitMs = rate?.waitMs(caller) ?? 0
      if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000))
      rate?.spend(caller)
      own.set(caller, mine)
      if (mustWait) await new Promise<void>((resolve) => mine.waiting.push(resolve))
      else mine.running += 1
      running += 1
      await time?.wait(caller)
      const startedAt = clock.monotonic()
      let hasEnded = false
      return () => {
        if (hasEnded) return
        hasEnded = true
        time?.spend(caller, Math.min(clock.monotonic() - startedAt, COUNTED_MAX_MS))
        end(caller)
      }
    },
    refund: (caller) => rate?.refund(caller),
  }
}

/** A token bucket per caller, stored as the time at which it will be full again. */
export function createRate({ burst, everyMs }: { burst: number; everyMs: number }, clock: Pick<Clock, 'monotonic'>) {
  const fullAt = new Map<string, number>()
  function keep(caller: string, atMs: number): void {
    fullAt.delete(caller)
    fullAt.set(caller, atMs)
    if (fullAt.size > CALLERS_MAX) fullAt.delete(fullAt.keys().next().value as string)
  }
  function nextFullAt(caller: string): number {
    const now = clock.monotonic()
    return Math.max(now, fullAt.get(caller) ?? now) + everyMs
  }
  return {
    /** The time until the caller's next request is allowed; 0 if it is allowed now. */
    waitMs(caller: string): number {
      return Math.max(0, nextFullAt(caller) - clock.monotonic() - burst * everyMs)
    },
    /** Counts a request, whether it is allowed or not. */
    spend(caller: string): void {
      keep(caller, nextFullAt(caller))
    },
    refund(caller: string): void {
      const known = fullAt.get(caller)
      if (known !== undefined) keep(caller, known - everyMs)
    },
  }
}

/** What each caller has left of its time. A caller in debt waits until its share has paid it off. */
function createTimeShare({ savedMs, share }: { savedMs: number; share: number }, clock: Pick<Clock, 'monotonic'>) {
  const left = new Map<string, { ms: number; atMs: number }>()
  function leftOf(caller: string): number {
    const known = left.get(caller)
    if (known === undefined) return savedMs
    return Math.min(savedMs, known.ms + (clock.monotonic() - known.atMs) * share)
  }
  return {
    async wait(caller: string): Promise<void> {
      const ms = leftOf(caller)
      if (ms < 0) await delay(-ms / share)
    },
    spend(caller: string, ms: number): void {
      const kept = { ms: Math.max(leftOf(caller) - ms, -OWED_MAX_MS), atMs: clock.monotonic() }
      left.delete(caller)
      left.set(caller, kept)
      if (left.size > CALLERS_MAX) left.delete(left.keys().next().value as string)
    },
  }
}

/** The key of a caller that is known only by its address: a household or a server has a whole IPv6 /64. */
export function callerOfAddress(address: string | undefined): string {
  return address === undefined ? 'unknown' : networkKey(address)
}

function tooMany(retryAfterS: number): Refusal {
  const message = `You have sent too many requests of this kind. Nothing was changed. Send this request again in ${retryAfterS} s.`
  return new Refusal(429, 'TOO_MANY_CALLS', message, { retryAfterS })
}

function busy(): Refusal {
  const message = `The gateway is handling too many requests of this kind. Nothing was changed. Send this request again in ${BUSY_S} s.`
  return new Refusal(503, 'BUSY', message, { retryAfterS: BUSY_S })
}
