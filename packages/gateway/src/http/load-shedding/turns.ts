import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import { createRate } from './caller-limits.ts'
import { REQUESTS_MAX, type RequestLimit } from './request-limit.ts'

/** Starts parts of long work one per turn of the event loop, so that other dealers' requests are served in between. */
export interface Turns {
  /**
   * @param goesOn true for a further part of work in progress: it comes before this tenant's new work, so that few
   * half-built answers are in memory
   * @returns undefined if it may start now
   * @throws ApiError 000002 if too much work of this tenant is waiting, unless it goes on
   */
  take(tenantId: string, goesOn?: boolean): Promise<void> | undefined
}

/** Half of the requests that may be in progress, so that one tenant leaves room for others. */
const WAITING_OF_TENANT_MAX = REQUESTS_MAX / 2

/** The time between two turns while other requests are in progress. A page of 500 packages has ten parts. */
const PAUSE_MS = 4

/**
 * What one tenant's lists may take: 400 parts without a pause, which are 20 000 packages, then one part in 20 ms. A tenant that
 * reads a catalogue of that size every 8 s never waits for it.
 */
const OF_TENANT = { burst: 400, everyMs: 20 }

interface TurnDeps {
  clock: Pick<Clock, 'monotonic'>
  requests: Pick<RequestLimit, 'inProgress'>
  countRefused(): void
}

export function createTurns({ clock, requests, countRefused }: TurnDeps): Turns {
  /** In the order of the tenants' turns. */
  const waiting = new Map<string, (() => void)[]>()
  const ofTenant = createRate(OF_TENANT, clock)
  let isTaken = false
  let takenAt = clock.monotonic()

  function takeNow(tenantId: string): void {
    ofTenant.spend(tenantId)
    takenAt = clock.monotonic()
    isTaken = true
    setImmediate(nextTurn)
  }

  /** True if requests are in progress other than those waiting for a turn and the one whose turn it may be. */
  function isBusy(): boolean {
    let inTurns = 1
    for (const own of waiting.values()) inTurns += own.length
    return requests.inProgress() > inTurns
  }

  function nextTurn(): void {
    isTaken = false
    if (waiting.size === 0) return
    if (isBusy() && clock.monotonic() - takenAt < PAUSE_MS) {
      waitFor(1)
      return
    }
    let soonestMs = Number.POSITIVE_INFINITY
    for (const [tenantId, own] of waiting) {
      const waitMs = ofTenant.waitMs(tenantId)
      soonestMs = Math.min(soonestMs, waitMs)
      if (waitMs > 0) continue
      const start = own.shift()!
      waiting.delete(tenantId)
      if (own.length > 0) waiting.set(tenantId, own) // moved to the end
      takeNow(tenantId)
      start()
      return
    }
    waitFor(soonestMs)
  }

  function waitFor(ms: number): void {
    isTaken = true
    setTimeout(nextTurn, ms)
  }

  return {
    take(tenantId, goesOn = false) {
      const waitMs = ofTenant.waitMs(tenantId)
      if (!isTaken && waitMs === 0) {
        takeNow(tenantId)
        return undefined
      }
      const own = waiting.get(tenantId) ?? []
      if (!goesOn && own.length >= WAITING_OF_TENANT_MAX) {
        countRefused()
        throw new ApiError('000002')
      }
      waiting.set(tenantId, own)
      if (!isTaken) waitFor(waitMs)
      return new Promise((resolve) => (goesOn ? own.unshift(resolve) : own.push(resolve)))
    },
  }
}
