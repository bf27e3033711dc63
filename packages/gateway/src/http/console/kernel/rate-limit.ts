import { networkKey } from '@dealer-esim/lib/address-blocks.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { type CallerLimit, type CallerLimiter, createCallerLimiter } from '#http/load-shedding/caller-limits.ts'

const MINUTE_MS = 60_000
/** Bounds memory when requests come from very many addresses. The oldest are forgotten first. */
const ADDRESSES_MAX = 50_000

/** Limits calls by route and IPv4 address or IPv6 /64, in this process. Lockout (people/) is the real protection. */
export function createRateLimiter(clock: Pick<Clock, 'monotonic'>) {
  const counts = new Map<string, { since: number; calls: number }>()
  return (name: string, perMinute: number, address: string): void => {
    const key = `${name} ${networkKey(address)}`
    const now = clock.monotonic()
    const entry = counts.get(key)
    if (!entry || now - entry.since >= MINUTE_MS) {
      counts.delete(key)
      counts.set(key, { since: now, calls: 1 })
      if (counts.size > ADDRESSES_MAX) counts.delete(counts.keys().next().value as string)
      return
    }
    entry.calls++
    if (entry.calls > perMinute)
      throw new Refusal(429, 'TOO_MANY_CALLS', 'Too many calls from your address. Wait a minute and try again.', {
        retryAfterS: Math.ceil((entry.since + MINUTE_MS - now) / 1000),
      })
  }
}

/**
 * The limits of one caller: a person on any route, or a dealer with all its people on expensive routes. docs/limits.md
 * states the same limits.
 */
const LIMITS = {
  /**
   * More than one, because a page sends several requests simultaneously; far fewer than the default 20 database
   * connections.
   */
  any: { ofCaller: 6, waiting: 64, ofNode: 512 },
  /** All people of a dealer. Lists take up time of the node and the database, which all dealers share. */
  dealer: { ofCaller: 12, waiting: 128, ofNode: 512, time: { savedMs: 4_000, share: 0.25 } },
  /** Receipts of up to 4 MB. */
  upload: { ofCaller: 2, ofNode: 8, rate: { burst: 10, everyMs: 6_000 } },
  /** Each question is an alert to the operator, which its people may get by e-mail. */
  question: { ofCaller: 1, waiting: 4, ofNode: 64, rate: { burst: 10, everyMs: 6 * MINUTE_MS } },
  /** Operators' files of up to 128 MB. */
  file: { ofCaller: 1, ofNode: 1 },
  /** Files that are written while they are being sent, and receipts. */
  download: { ofCaller: 2, waiting: 4, ofNode: 64 },
} as const satisfies Record<string, CallerLimit>

export type RouteLimit = keyof typeof LIMITS

export type RouteLimiters = Readonly<Record<RouteLimit, CallerLimiter>>

export function createRouteLimiters(clock: Pick<Clock, 'monotonic'>): RouteLimiters {
  const limiters = Object.entries(LIMITS).map(([name, limit]) => [name, createCallerLimiter(limit, clock)])
  return Object.fromEntries(limiters)
}
