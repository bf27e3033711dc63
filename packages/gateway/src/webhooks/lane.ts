import type { Signer } from './attempt.ts'
import type { Claim, ClaimedEvent, Position, Wanted } from './claim.ts'
import type { EndpointHealth } from './endpoint-health.ts'
import {
  AHEAD,
  CLAIMS_ON_MAX,
  ENDPOINT_FLIGHTS_FIRST,
  ENDPOINT_FLIGHTS_MAX,
  ENDPOINT_FLIGHTS_MIN,
  LEASE_MARGIN_MS,
  LEASE_MS,
  PROMPT_MS,
} from './limits.ts'

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
  queue: ClaimedEvent[]
  /** Ids of what is claimed, under way, or waiting for its result to be written. */
  readonly inHand: Set<string>
  /** Of the latest claim. */
  heldUntilMs: number
  /** Monotonic: until when attempts may begin. */
  sendableUntil: number
  /** Where the next claim goes on; undefined: from the first that is due. */
  behind: Position | undefined
  /** The furthest that was claimed since nothing was in hand. */
  furthest: Position | undefined
  /** Claims since the last one that looked from the first. */
  claimsOn: number
  flying: number
  cap: number
  /** NEW: not attempted yet on this node. */
  standing: 'NEW' | 'PROVEN' | 'FAILING'
  /** How long answers take, lately. */
  meanMs: number
  /** The latest claim was full: there may be more. */
  more: boolean
  claiming: boolean
  /** A claim was asked for while one was under way, which may have looked too early. */
  claimAsked: boolean
  /** How often what waited was turned UNSENT: a claim from before that is not sent. */
  unsends: number
  /** Waits in one of the queues of lanes that may fly. */
  waiting: boolean
}

export function newLane(tenantId: string): Lane {
  return {
    tenantId,
    endpoint: { url: '', eventTypes: [] },
    signer: { appKey: '', secrets: [] },
    version: '',
    health: { failingSinceMs: null, warnedPercent: 0 },
    queue: [],
    inHand: new Set(),
    heldUntilMs: 0,
    sendableUntil: 0,
    behind: undefined,
    furthest: undefined,
    claimsOn: 0,
    flying: 0,
    cap: ENDPOINT_FLIGHTS_FIRST,
    standing: 'NEW',
    meanMs: PROMPT_MS, // not known yet: nothing ahead
    more: false,
    claiming: false,
    claimAsked: false,
    unsends: 0,
    waiting: false,
  }
}

/** What the next claim is to look for. What is in hand is named to it only where it would be found again. */
export function nextClaim(lane: Lane, most: number): Wanted {
  const { tenantId, behind, furthest, inHand } = lane
  const findsOwn = inHand.size > 0 && (!behind || !furthest || isBefore(behind, furthest))
  return { tenantId, most, behind, except: findsOwn ? [...inHand] : NONE }
}

const NONE: readonly string[] = []

/**
 * Takes over what a claim brought, but for what is in hand: it was resent meanwhile, and is found again. `claimed_at` is
 * monotonic, from before it was sent. @returns how many
 */
export function load(lane: Lane, { events, last, heldUntilMs }: Claim, claimedAt: number): number {
  if (heldUntilMs === undefined) return 0
  if (lane.inHand.size === 0) lane.furthest = undefined
  if (last && (!lane.furthest || isBefore(lane.furthest, last))) lane.furthest = last
  lane.claimsOn = lane.more ? (lane.claimsOn + 1) % CLAIMS_ON_MAX : 0
  lane.behind = lane.claimsOn === 0 ? undefined : last
  lane.heldUntilMs = heldUntilMs
  lane.sendableUntil = claimedAt + LEASE_MS - LEASE_MARGIN_MS
  const before = lane.inHand.size
  for (const event of events) {
    if (lane.inHand.has(event.notifyId)) continue
    lane.queue.push(event)
    lane.inHand.add(event.notifyId)
  }
  return lane.inHand.size - before
}

/** Lets go of what was claimed and not begun: the next claim finds it. @returns how many */
export function giveBack(lane: Lane): number {
  const events = lane.queue.splice(0)
  for (const { notifyId } of events) lane.inHand.delete(notifyId)
  lane.behind = undefined
  return events.length
}

function isBefore(left: Position, right: Position): boolean {
  return left.dueS === right.dueS ? left.notifyId < right.notifyId : left.dueS < right.dueS
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
  const prompt = lane.standing === 'PROVEN' && lane.meanMs < PROMPT_MS
  return lane.cap * (prompt ? AHEAD : 1)
}

export function afterAttempt(lane: Lane, acknowledged: boolean, durationMs: number): void {
  lane.standing = acknowledged ? 'PROVEN' : 'FAILING'
  lane.meanMs += (durationMs - lane.meanMs) / MEAN_OVER
  lane.cap = acknowledged
    ? Math.min(lane.cap + 1, ENDPOINT_FLIGHTS_MAX)
    : Math.max(Math.floor(lane.cap / 2), ENDPOINT_FLIGHTS_MIN)
}

const MEAN_OVER = 8
