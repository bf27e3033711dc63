import type { EventFormat } from '@dealer-esim/contract'
import type { Tenant } from '#tenants/tenant.ts'
import { type FailureWindow, settingsVersion } from '../endpoint/endpoint.ts'
import { afterFailure, type EndpointChange } from '../endpoint/endpoint-health.ts'
import {
  CLAIM_AHEAD_FACTOR,
  CLAIMS_BEFORE_RESTART,
  ENDPOINT_IN_FLIGHT_FIRST,
  ENDPOINT_IN_FLIGHT_MAX,
  ENDPOINT_IN_FLIGHT_MIN,
  LEASE_MARGIN_MS,
  LEASE_MS,
  PROMPT_MS,
} from '../webhook-limits.ts'
import type { Claim, ClaimedEvent, ClaimRequest, Position, SendSettings } from './claim-deliveries.ts'
import type { NextStep, Signer } from './delivery-attempt.ts'

/** One tenant's events claimed by this node, and what it knows about the tenant's endpoint. */
export interface EndpointQueue {
  readonly tenantId: string
  /** The endpoint as of the latest claim, or of a later pass that found it changed. */
  endpoint: { url: string; eventTypes: readonly string[]; eventFormat: EventFormat }
  signer: Signer & Pick<Tenant, 'testAdvancedAtMs'>
  /** The version of endpoint and signer (settingsVersion); '' while no endpoint to send to exists or is known. */
  version: string
  failureWindow: FailureWindow
  /** Claimed events that have not been attempted yet, in sending order. */
  queue: ClaimedEvent[]
  /** Events in the queue, in flight, or waiting for their result to be saved. */
  readonly claimedIds: Set<string>
  /** When the lease of the latest claim ends. */
  heldUntilMs: number
  /** Attempts may start until this time; monotonic clock. */
  sendableUntilMs: number
  /** The next claim continues after this position; undefined: it starts with the first due event. */
  claimAfter: Position | undefined
  /** The furthest position claimed since `claimedIds` was last empty. */
  furthest: Position | undefined
  /** Claims since the last one that started with the first due event. */
  claimsSinceRestart: number
  inFlight: number
  /** Grows by one with each success and is halved on each failure. */
  inFlightMax: number
  /** The result of the latest attempt on this node; NEW: no attempt yet. */
  health: 'NEW' | 'PROVEN' | 'FAILING'
  /** Moving average. */
  meanResponseMs: number
  /** The latest claim reached its limit, so more events may be due. */
  hasMore: boolean
  claiming: boolean
  /** A claim was requested during another claim that may have looked too early. */
  claimAgain: boolean
  /** True if another node held the queue at the latest claim. */
  isElsewhere: boolean
  /** Counts how often waiting events were marked UNSENT. Events claimed before the latest time are not sent. */
  timesMarkedUnsent: number
  /** True while the queue is waiting in one of the scheduler's lists. */
  isScheduled: boolean
}

export function createEndpointQueue(tenantId: string): EndpointQueue {
  return {
    tenantId,
    endpoint: { url: '', eventTypes: [], eventFormat: 'DEALER' },
    signer: { appKey: '', secrets: [], testAdvancedAtMs: null },
    version: '',
    failureWindow: { failingSinceMs: null, alertedPercent: 0 },
    queue: [],
    claimedIds: new Set(),
    heldUntilMs: 0,
    sendableUntilMs: 0,
    claimAfter: undefined,
    furthest: undefined,
    claimsSinceRestart: 0,
    inFlight: 0,
    inFlightMax: ENDPOINT_IN_FLIGHT_FIRST,
    health: 'NEW',
    meanResponseMs: PROMPT_MS, // not measured yet, so nothing is claimed ahead
    hasMore: false,
    claiming: false,
    claimAgain: false,
    isElsewhere: false,
    timesMarkedUnsent: 0,
    isScheduled: false,
  }
}

/** The next claim. Claimed ids are excluded only if the claim would find them again. */
export function nextClaimRequest(queue: EndpointQueue, limit: number): ClaimRequest {
  const { tenantId, claimAfter, furthest, claimedIds } = queue
  const findsOwn = claimedIds.size > 0 && (!claimAfter || !furthest || isBefore(claimAfter, furthest))
  return { tenantId, limit, after: claimAfter, excludedIds: findsOwn ? [...claimedIds] : NONE }
}

const NONE: readonly string[] = []

/**
 * Appends the events of a claim, except those that are already claimed: those have been resent since, and will be found
 * again.
 * @param claimedAtMs monotonic time before the claim was sent
 * @returns how many were appended
 */
export function addClaimed(queue: EndpointQueue, { events, last, heldUntilMs }: Claim, claimedAtMs: number): number {
  queue.isElsewhere = heldUntilMs === undefined
  if (heldUntilMs === undefined) return 0
  if (queue.claimedIds.size === 0) queue.furthest = undefined
  if (last && (!queue.furthest || isBefore(queue.furthest, last))) queue.furthest = last
  queue.claimsSinceRestart = queue.hasMore ? (queue.claimsSinceRestart + 1) % CLAIMS_BEFORE_RESTART : 0
  queue.claimAfter = queue.claimsSinceRestart === 0 ? undefined : last
  queue.heldUntilMs = heldUntilMs
  queue.sendableUntilMs = claimedAtMs + LEASE_MS - LEASE_MARGIN_MS
  const before = queue.claimedIds.size
  for (const event of events) {
    if (queue.claimedIds.has(event.notifyId)) continue
    queue.queue.push(event)
    queue.claimedIds.add(event.notifyId)
  }
  return queue.claimedIds.size - before
}

/** Drops events that have not been attempted yet. The next claim will find them. @returns how many */
export function releaseEvents(queue: EndpointQueue): number {
  const events = queue.queue.splice(0)
  for (const { notifyId } of events) queue.claimedIds.delete(notifyId)
  queue.claimAfter = undefined
  return events.length
}

function isBefore(left: Position, right: Position): boolean {
  return left.dueS === right.dueS ? left.notifyId < right.notifyId : left.dueS < right.dueS
}

/** The number of events to claim: those that can be sent immediately, and some ahead if the endpoint responds promptly. */
export function claimLimit(queue: EndpointQueue): number {
  return Math.max(0, queueMax(queue) - queue.inFlight - queue.queue.length)
}

/** True if it is time to claim: room for half of the maximum justifies a round trip, during which the other half is sent. */
export function shouldClaim(queue: EndpointQueue): boolean {
  return queue.hasMore && !queue.claiming && claimLimit(queue) >= queueMax(queue) / 2
}

function queueMax(queue: EndpointQueue): number {
  const prompt = queue.health === 'PROVEN' && queue.meanResponseMs < PROMPT_MS
  return queue.inFlightMax * (prompt ? CLAIM_AHEAD_FACTOR : 1)
}

/**
 * True if its events may be claimed before a pass has listed the tenant: its endpoint is known, and no other node held the
 * queue.
 */
export function isSendable({ version, isElsewhere }: EndpointQueue): boolean {
  return version !== '' && !isElsewhere
}

/** Adopts the tenant's current endpoint and secrets. @returns false if there is no endpoint to send to */
export function applySettings(queue: EndpointQueue, { endpoint, signer }: SendSettings): boolean {
  const url = endpoint?.enabled ? endpoint.callbackUrl : null
  if (!endpoint || url === null || !signer) {
    queue.version = ''
    return false
  }
  queue.endpoint = { url, eventTypes: endpoint.eventTypes, eventFormat: endpoint.eventFormat }
  queue.signer = signer
  queue.version = settingsVersion(endpoint.updatedAt, signer.version)
  queue.failureWindow = endpoint.failureWindow
  // Another node may have seen failures that this node has not.
  if (queue.health === 'NEW' && endpoint.failureWindow.failingSinceMs !== null) queue.health = 'FAILING'
  return true
}

/** Applies the outcome of an attempt to the endpoint. @returns the change to save together with the result */
export function afterAttempt(
  queue: EndpointQueue,
  next: NextStep,
  durationMs: number,
  endedAtMs: number,
): EndpointChange['change'] | undefined {
  queue.meanResponseMs += (durationMs - queue.meanResponseMs) / MEAN_OVER_ATTEMPTS
  const { failureWindow } = queue
  if (next.step === 'ACKNOWLEDGED') {
    queue.health = 'PROVEN'
    queue.inFlightMax = Math.min(queue.inFlightMax + 1, ENDPOINT_IN_FLIGHT_MAX)
    if (failureWindow.failingSinceMs === null) return undefined
    queue.failureWindow = { failingSinceMs: null, alertedPercent: 0 }
    return { change: 'RECOVERED' }
  }
  queue.health = 'FAILING'
  queue.inFlightMax = Math.max(Math.floor(queue.inFlightMax / 2), ENDPOINT_IN_FLIGHT_MIN)
  const change = afterFailure(failureWindow, endedAtMs, next.gone)
  if (change.change === 'NONE') return undefined
  const alertedPercent = change.change === 'WARN' ? change.percent : failureWindow.alertedPercent
  queue.failureWindow = { failingSinceMs: change.sinceMs, alertedPercent }
  return change
}

const MEAN_OVER_ATTEMPTS = 8
