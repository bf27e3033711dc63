import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { SupplierTraits } from '@dealer-esim/wholesalers/supplier.ts'
import { Counter, Histogram, type Registry } from '@platformatic/prom-client'

/**
 * Limits the calls to one supplier on this node: concurrent requests, requests per second, a fair share of the permits for each
 * tenant, and a breaker that pauses calls to a supplier that is down. The state is in memory only, so after a restart a few
 * calls may go to a supplier that is down.
 */
export interface Gate {
  /**
   * While the supplier lacks money, a purchase gets a permit only as a trial, once every 30 s. Queries are not affected.
   * @returns how many of the wanted requests may be sent now. The caller later passes each to `complete` or, if unsent, to
   * `release`.
   */
  acquire(tenantId: string, wanted: number, purpose?: 'PURCHASE' | 'QUERY'): number
  /** When to retry a request that was given no permit (ms from now). */
  retryInMs(tenantId: string): number
  /** Returns the permits of requests that ended together. `down`: the supplier as a whole appears to be down. */
  complete(tenantId: string, requests: number, tookMs: number, down: boolean): void
  release(tenantId: string, requests: number): void
  readonly state: 'closed' | 'open' | 'half-open'
  /**
   * True if orders should now go to another supplier: the breaker is open, or its single probe is in progress, or the
   * supplier lacks money and no trial purchase is due.
   */
  readonly isInterrupted: boolean
  /** The supplier is refusing purchases for lack of money. */
  lacksMoney: boolean
  /** The supplier lacks money and no trial purchase is due. */
  readonly awaitsMoney: boolean
  /** When to retry a purchase that is waiting for money (ms from now). The first caller gets the time of the next trial. */
  trialInMs(): number
}

/** The breaker opens after this many consecutive failed calls. */
const FAILURES_TO_OPEN = 5
const FIRST_OPEN_MS = 5_000
/** An order waits for a probe at most as long as for a permit, and never longer than the longest retry. */
const LONGEST_OPEN_MS = 30_000
const SHORTEST_WAIT_MS = 20
/** How often a supplier that lacks money gets a trial purchase, because its account may have been topped up. */
const TRIAL_EVERY_MS = 30_000
/**
 * How long purchases wait for money, except the purchase that makes the next trial. They become due as soon as there is
 * money.
 */
const MONEY_WAIT_MS = 60_000
/** Limits how long a recovered supplier stays idle. */
const LONGEST_WAIT_MS = 30_000
/** A tenant that was given no permit counts as waiting for this much longer than its retry time. */
const WAITING_GRACE_MS = 500
const FIRST_GUESS_MS = 100
/** Weight of the latest call in the moving average of durations. */
const LATEST = 0.2

export function createGate(traits: Pick<SupplierTraits, 'concurrency' | 'perSecond'>, clock: Clock): Gate {
  const permits = createPermits(traits.concurrency, clock)
  const breaker = createBreaker(clock)
  const bucket = createBucket(traits.perSecond, clock)
  const money = createMoney(clock)
  let meanMs = FIRST_GUESS_MS
  // When the next permit is expected to become free. Waiting requests retry one by one, at the rate at which permits become
  // free, instead of all together.
  let nextFreeAt = 0

  return {
    get state() {
      return breaker.state()
    },
    get isInterrupted() {
      const state = breaker.state()
      return state === 'open' || (state === 'half-open' && permits.used() > 0) || money.isAwaited()
    },
    get lacksMoney() {
      return money.isLacking()
    },
    set lacksMoney(isLacking) {
      money.set(isLacking)
    },
    get awaitsMoney() {
      return money.isAwaited()
    },
    trialInMs: () => money.trialInMs(),
    acquire(tenantId, wanted, purpose) {
      const state = breaker.state()
      const affordable = purpose === 'PURCHASE' ? money.limit(wanted) : wanted
      const limit = state === 'closed' ? affordable : state === 'half-open' && permits.used() === 0 ? 1 : 0
      const granted = bucket.take(Math.max(0, Math.min(limit, affordable, permits.availableTo(tenantId))))
      permits.acquire(tenantId, granted)
      if (purpose === 'PURCHASE' && granted > 0) money.beginTrial()
      return granted
    },
    retryInMs(tenantId) {
      const now = clock.monotonic()
      const paceMs = Math.max(meanMs / traits.concurrency, traits.perSecond === null ? 0 : 1000 / traits.perSecond)
      nextFreeAt = Math.min(Math.max(nextFreeAt, now) + paceMs, now + LONGEST_WAIT_MS)
      const waitMs = Math.max(nextFreeAt - now, breaker.probesInMs(), SHORTEST_WAIT_MS)
      permits.awaitedBy(tenantId, now + waitMs + WAITING_GRACE_MS)
      return waitMs
    },
    release: (tenantId, requests) => permits.release(tenantId, requests),
    complete(tenantId, requests, tookMs, down) {
      permits.release(tenantId, requests)
      meanMs += (tookMs - meanMs) * LATEST
      breaker.record(down, clock.monotonic() - tookMs)
    },
  }
}

/** Divides the permits evenly among the tenants that hold a permit or wait for one. */
function createPermits(concurrency: number, clock: Clock) {
  const held = new Map<string, number>()
  const awaitedUntil = new Map<string, number>()
  let used = 0
  return {
    used: () => used,
    availableTo(tenantId: string): number {
      const now = clock.monotonic()
      for (const [tenant, until] of awaitedUntil) if (until < now) awaitedUntil.delete(tenant)
      const tenants = new Set([...held.keys(), ...awaitedUntil.keys(), tenantId]).size
      const share = Math.max(1, Math.floor(concurrency / tenants))
      return Math.min(share - (held.get(tenantId) ?? 0), concurrency - used)
    },
    acquire(tenantId: string, requests: number): void {
      if (requests === 0) return
      used += requests
      held.set(tenantId, (held.get(tenantId) ?? 0) + requests)
      awaitedUntil.delete(tenantId)
    },
    release(tenantId: string, requests: number): void {
      used -= requests
      const left = (held.get(tenantId) ?? 0) - requests
      if (left > 0) held.set(tenantId, left)
      else held.delete(tenantId)
    },
    awaitedBy(tenantId: string, until: number): void {
      awaitedUntil.set(tenantId, Math.max(until, awaitedUntil.get(tenantId) ?? 0))
    },
  }
}

/** closed → open after consecutive failures → half-open after a pause: one probe closes it or opens it for longer. */
function createBreaker(clock: Clock) {
  let failures = 0
  let openings = 0
  let openUntil: number | undefined
  const state = () => (openUntil === undefined ? 'closed' : clock.monotonic() < openUntil ? 'open' : 'half-open')
  return {
    state,
    probesInMs: () => (openUntil === undefined ? 0 : openUntil - clock.monotonic()),
    record(down: boolean, startedAt: number): void {
      if (!down) {
        failures = 0
        openings = 0
        openUntil = undefined
        return
      }
      // A call that began before the pause ended says nothing new. Otherwise, calls that time out one after another would
      // each double the pause, although the supplier has recovered.
      if (openUntil !== undefined && startedAt < openUntil) return
      failures += 1
      if (openUntil === undefined && failures < FAILURES_TO_OPEN) return
      openUntil = clock.monotonic() + Math.min(LONGEST_OPEN_MS, FIRST_OPEN_MS * 2 ** openings)
      openings += 1
    },
  }
}

/** While the supplier lacks money, one purchase every 30 s is a trial; the others wait. */
function createMoney(clock: Clock) {
  let isLacking = false
  let nextTrialAt = 0
  /** The trial that a purchase is already waiting for. */
  let reservedTrialAt: number | undefined
  const isAwaited = () => isLacking && clock.monotonic() < nextTrialAt
  return {
    isLacking: () => isLacking,
    isAwaited,
    limit: (wanted: number) => (isAwaited() ? 0 : isLacking ? Math.min(1, wanted) : wanted),
    set(lacks: boolean): void {
      if (lacks === isLacking) return
      isLacking = lacks
      nextTrialAt = clock.monotonic() + TRIAL_EVERY_MS
    },
    beginTrial(): void {
      if (isLacking) nextTrialAt = clock.monotonic() + TRIAL_EVERY_MS
    },
    trialInMs(): number {
      if (reservedTrialAt === nextTrialAt) return MONEY_WAIT_MS
      reservedTrialAt = nextTrialAt
      return Math.max(0, nextTrialAt - clock.monotonic())
    },
  }
}

/** A token bucket that holds one second's worth of requests. */
function createBucket(perSecond: number | null, clock: Clock) {
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
  /** Counts the outcomes of one call's attempts. */
  called(supplier: string, operation: string, outcomes: readonly string[], durationMs: number): void
}

export function supplierMetrics(registry: Registry): SupplierMetrics {
  const registers = [registry]
  const attempts = new Counter({
    name: 'dealer_esim_supplier_attempts_total',
    help: 'Attempts at suppliers, one per eSIM, by operation and outcome: delivered, toppedUp, ordered, refused, retry or unknown',
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
