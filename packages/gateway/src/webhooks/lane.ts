import type { Signer } from './attempt.ts'
import type { ClaimedEvent } from './claim.ts'
import type { EndpointHealth } from './endpoint-health.ts'
import { AHEAD, ENDPOINT_FLIGHTS_FIRST, ENDPOINT_FLIGHTS_MAX, ENDPOINT_FLIGHTS_MIN, PROMPT_MS } from './limits.ts'

/**
 * One tenant's events on their way through this node. Its cap follows how the endpoint does: one more request at once
 * with each success, half as many after each failure.
 */
export interface Lane {
  readonly tenantId: string
  /** As the latest claim found it, or a pass that saw it changed. */
  endpoint: { url: string; eventTypes: readonly string[] }
  signer: Signer
  /** Of the two above (settingVersion). */
  version: string
  health: EndpointHealth
  /** Claimed, in the order in which they go. */
  queue: { event: ClaimedEvent; claimed_at: number }[]
  flying: number
  cap: number
  /** NEW: not attempted yet on this node. */
  standing: 'NEW' | 'PROVEN' | 'FAILING'
  /** How long answers take, lately. */
  mean_ms: number
  /** The latest claim was full: there may be more. */
  more: boolean
  claiming: boolean
  /** Waits in one of the queues of lanes that may fly. */
  waiting: boolean
}

export function newLane(tenantId: string): Lane {
  return {
    tenantId,
    endpoint: { url: '', eventTypes: [] },
    signer: { appKey: '', secrets: [] },
    version: '',
    health: { failingSince_ms: null, warnedPercent: 0 },
    queue: [],
    flying: 0,
    cap: ENDPOINT_FLIGHTS_FIRST,
    standing: 'NEW',
    mean_ms: PROMPT_MS, // not known yet: nothing ahead
    more: false,
    claiming: false,
    waiting: false,
  }
}

/** How many more events this lane takes: what it can send at once, and some ahead where answers come promptly. */
export function roomOf(lane: Lane): number {
  return Math.max(0, mostOf(lane) - lane.flying - lane.queue.length)
}

/** Half of what the lane may hold is a claim worth its round trip, and the other half lasts while it is under way. */
export function wantsMore(lane: Lane): boolean {
  return lane.more && !lane.claiming && roomOf(lane) >= mostOf(lane) / 2
}

function mostOf(lane: Lane): number {
  const prompt = lane.standing === 'PROVEN' && lane.mean_ms < PROMPT_MS
  return lane.cap * (prompt ? AHEAD : 1)
}

export function afterAttempt(lane: Lane, acknowledged: boolean, duration_ms: number): void {
  lane.standing = acknowledged ? 'PROVEN' : 'FAILING'
  lane.mean_ms += (duration_ms - lane.mean_ms) / MEAN_OVER
  lane.cap = acknowledged
    ? Math.min(lane.cap + 1, ENDPOINT_FLIGHTS_MAX)
    : Math.max(Math.floor(lane.cap / 2), ENDPOINT_FLIGHTS_MIN)
}

const MEAN_OVER = 8
