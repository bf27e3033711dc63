import { networkKey } from '@dealer-esim/lib/address-blocks.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'

/** What one caller may take of something expensive, and all callers together. Each node counts for itself. */
export interface CallerLimit {
  /** Requests of one caller in progress. */
  ofCaller: number
  /** Requests of all callers in progress. */
  ofNode: number
  /** Requests of one caller that wait for those in progress; the default is 0. */
  waiting?: number
  /** Requests of one caller: so many together, then one whenever so much time has passed. */
  rate?: { burst: number; everyMs: number }
}

export interface CallerLimiter {
  /**
   * Begins a request, when those before it let it. @returns the function that ends it; further calls of it do nothing
   * @throws Refusal 429 if the caller has reached its limits, 503 if all callers together have
   */
  begin(caller: string): Promise<() => void>
  /** Gives back what a request took from the rate. */
  refund(caller: string): void
}

/** Bounds the memory of rates. The caller that came first is forgotten first. */
const CALLERS_MAX = 50_000
/** When to try again if the end of others' requests decides. */
const BUSY_S = 2

export function createCallerLimiter(limit: CallerLimit, clock: Pick<Clock, 'monotonic'>): CallerLimiter {
  const own = new Map<string, { running: number; waiting: (() => void)[] }>()
  const rate = limit.rate && createRate(limit.rate, clock)
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
      rate?.take(caller)
      own.set(caller, mine)
      if (mustWait) await new Promise<void>((resolve) => mine.waiting.push(resolve))
      else mine.running += 1
      running += 1
      let hasEnded = false
      return () => {
        if (hasEnded) return
        hasEnded = true
        end(caller)
      }
    },
    refund: (caller) => rate?.refund(caller),
  }
}

/** A token bucket for each caller, kept as the time at which it is full again. */
function createRate({ burst, everyMs }: { burst: number; everyMs: number }, clock: Pick<Clock, 'monotonic'>) {
  const fullAt = new Map<string, number>()
  function keep(caller: string, atMs: number): void {
    fullAt.delete(caller)
    fullAt.set(caller, atMs)
    if (fullAt.size > CALLERS_MAX) fullAt.delete(fullAt.keys().next().value as string)
  }
  return {
    take(caller: string): void {
      const now = clock.monotonic()
      const nextMs = Math.max(now, fullAt.get(caller) ?? now) + everyMs
      const waitMs = nextMs - now - burst * everyMs
      if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000))
      keep(caller, nextMs)
    },
    refund(caller: string): void {
      const known = fullAt.get(caller)
      if (known !== undefined) keep(caller, known - everyMs)
    },
  }
}

/** The key of a caller that is known by its address only: a household or a server has a whole IPv6 /64. */
export function callerOfAddress(address: string | undefined): string {
  return address === undefined ? 'unknown' : networkKey(address)
}

function tooMany(retryAfterS: number): Refusal {
  const message = `You have sent too many requests of this kind. Nothing was changed. Send it again in ${retryAfterS} s.`
  return new Refusal(429, 'TOO_MANY_CALLS', message, { retryAfterS })
}

function busy(): Refusal {
  const message = `The gateway has too many requests of this kind just now. Nothing was changed. Send it again in ${BUSY_S} s.`
  return new Refusal(503, 'BUSY', message, { retryAfterS: BUSY_S })
}
