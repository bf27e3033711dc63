import { Counter, Histogram, type Registry } from '@platformatic/prom-client'
import type { Clock } from '../lib/clock.ts'
import type { SupplierTraits } from './supplier.ts'

/**
 * What limits the calls to one supplier on this node: requests at once, requests a second, a fair share of the places
 * for each tenant, and a breaker that pauses a supplier which is down. All in memory: it may be wrong after a restart,
 * and costs a few calls then.
 */
export interface Gate {
  /** How many of the wanted requests may be sent now; each comes back by `done` or, unsent, by `giveBack`. */
  take(tenantId: string, wanted: number): number
  /** For one request that found no place: how long from now it should come again (ms). */
  comeAgainIn(tenantId: string): number
  /** Requests that came back together. `down`: the supplier as a whole seems away. */
  done(tenantId: string, requests: number, tookMs: number, down: boolean): void
  giveBack(tenantId: string, requests: number): void
  readonly state: 'closed' | 'open' | 'half-open'
}

/** Calls that failed one after the other until the breaker opens. */
const FAILURES_TO_OPEN = 5
const FIRST_OPEN_MS = 5_000
const LONGEST_OPEN_MS = 120_000
const SHORTEST_WAIT_MS = 20
/** Nobody is sent away for longer, so that a supplier that recovers is busy again within this time. */
const LONGEST_WAIT_MS = 30_000
/** A tenant that was turned away counts as waiting this much longer than it was told to wait. */
const WAITING_GRACE_MS = 500
const FIRST_GUESS_MS = 100
/** Weight of the latest call in the running mean of durations. */
const LATEST = 0.2

export function gate(traits: Pick<SupplierTraits, 'concurrency' | 'perSecond'>, clock: Clock): Gate {
  const places = placesOf(traits.concurrency, clock)
  const breaker = breakerOf(clock)
  const bucket = bucketOf(traits.perSecond, clock)
  let meanMs = FIRST_GUESS_MS
  // When the next of those that were turned away is expected to find a place: they come back one by one, at the rate
  // at which places become free, instead of all at once.
  let nextPlaceAt = 0

  return {
    get state() {
      return breaker.state()
    },
    take(tenantId, wanted) {
      const state = breaker.state()
      const most = state === 'closed' ? wanted : state === 'half-open' && places.taken() === 0 ? 1 : 0
      const granted = bucket.take(Math.max(0, Math.min(most, places.roomFor(tenantId))))
      places.enter(tenantId, granted)
      return granted
    },
    comeAgainIn(tenantId) {
      const now = clock.monotonic()
      const paceMs = Math.max(meanMs / traits.concurrency, traits.perSecond === null ? 0 : 1000 / traits.perSecond)
      nextPlaceAt = Math.min(Math.max(nextPlaceAt, now) + paceMs, now + LONGEST_WAIT_MS)
      const waitMs = Math.max(nextPlaceAt - now, breaker.opensAgainIn(), SHORTEST_WAIT_MS)
      places.awaitedBy(tenantId, now + waitMs + WAITING_GRACE_MS)
      return waitMs
    },
    giveBack: (tenantId, requests) => places.leave(tenantId, requests),
    done(tenantId, requests, tookMs, down) {
      places.leave(tenantId, requests)
      meanMs += (tookMs - meanMs) * LATEST
      breaker.saw(down)
    },
  }
}

/** Each tenant that uses or awaits places may have its part of them. */
function placesOf(concurrency: number, clock: Clock) {
  const held = new Map<string, number>()
  const awaitedUntil = new Map<string, number>()
  let taken = 0
  return {
    taken: () => taken,
    roomFor(tenantId: string): number {
      const now = clock.monotonic()
      for (const [tenant, until] of awaitedUntil) if (until < now) awaitedUntil.delete(tenant)
      const tenants = new Set([...held.keys(), ...awaitedUntil.keys(), tenantId]).size
      const share = Math.max(1, Math.floor(concurrency / tenants))
      return Math.min(share - (held.get(tenantId) ?? 0), concurrency - taken)
    },
    enter(tenantId: string, requests: number): void {
      if (requests === 0) return
      taken += requests
      held.set(tenantId, (held.get(tenantId) ?? 0) + requests)
      awaitedUntil.delete(tenantId)
    },
    leave(tenantId: string, requests: number): void {
      taken -= requests
      const left = (held.get(tenantId) ?? 0) - requests
      if (left > 0) held.set(tenantId, left)
      else held.delete(tenantId)
    },
    awaitedBy(tenantId: string, until: number): void {
      awaitedUntil.set(tenantId, Math.max(until, awaitedUntil.get(tenantId) ?? 0))
    },
  }
}

/** closed → open after failures in a row → half-open after a pause: one probe closes it, or opens it for longer. */
function breakerOf(clock: Clock) {
  let failures = 0
  let openings = 0
  let openUntil: number | undefined
  const state = () => (openUntil === undefined ? 'closed' : clock.monotonic() < openUntil ? 'open' : 'half-open')
  return {
    state,
    opensAgainIn: () => (openUntil === undefined ? 0 : openUntil - clock.monotonic()),
    saw(down: boolean): void {
      if (!down) {
        failures = 0
        openings = 0
        openUntil = undefined
        return
      }
      failures += 1
      if (state() === 'open') return // a call from before it opened
      if (state() === 'closed' && failures < FAILURES_TO_OPEN) return
      openUntil = clock.monotonic() + Math.min(LONGEST_OPEN_MS, FIRST_OPEN_MS * 2 ** openings)
      openings += 1
    },
  }
}

/** A token bucket of one second's worth. */
function bucketOf(perSecond: number | null, clock: Clock) {
  let tokens = perSecond ?? 0
  let refilledAt = clock.monotonic()
  return {
    take(wanted: number): number {
      if (perSecond === null) return wanted
      const now = clock.monotonic()
      tokens = Math.min(Math.max(1, perSecond), tokens + ((now - refilledAt) / 1000) * perSecond)
      refilledAt = now
      const granted = Math.min(wanted, Math.floor(tokens))
      tokens -= granted
      return granted
    },
  }
}

export interface SupplierMetrics {
  /** What came of each attempt of one call. */
  called(supplier: string, operation: string, outcomes: readonly string[], durationMs: number): void
}

export function supplierMetrics(registry: Registry): SupplierMetrics {
  const registers = [registry]
  const attempts = new Counter({
    name: 'dealer_esim_supplier_attempts_total',
    help: 'Attempts at suppliers, one per eSIM, by operation and outcome: delivered, refused, retry or unknown',
    labelNames: ['supplier', 'operation', 'outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'dealer_esim_supplier_call_duration_seconds',
    help: 'How long a call to a supplier took; one call may carry many attempts',
    labelNames: ['supplier', 'operation'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  })
  return {
    called(supplier, operation, outcomes, durationMs) {
      for (const outcome of outcomes) attempts.inc({ supplier, operation, outcome })
      durations.observe({ supplier, operation }, durationMs / 1000)
    },
  }
}
