import { EVENT_TIMEOUT_MS } from '@dealer-esim/contract'
import { type Batcher, createBatcher, groupBy } from '../lib/batch.ts'
import type { OutboundOutcome } from '../lib/outbound/outbound.ts'
import { settlesWithin } from '../lib/process/lifecycle.ts'
import { type Attempt, attemptDelivery } from './attempt.ts'
import { loggedAttempt, wordsOf } from './attempt-log.ts'
import { attemptSpan } from './attempt-span.ts'
import {
  type Claim,
  type ClaimedEvent,
  claimEvents,
  type Hold,
  leaveLanesAlone,
  loadSetting,
  type Setting,
  type Wanted,
} from './claim.ts'
import type { WebhookDeps } from './deps.ts'
import { type DueTenant, findDueTenants } from './due.ts'
import { settingVersion } from './endpoint.ts'
import { afterFailure } from './endpoint-health.ts'
import { type Flights, flightQueue } from './flights.ts'
import { afterAttempt, giveBack, type Lane, load, newLane, nextClaim, roomOf, wantsMore } from './lane.ts'
import { HELD_MAX, STEP_MAX, TENANTS_PER_CLAIM, TENANTS_PER_PASS } from './limits.ts'
import { labelOf, type WebhookMetrics } from './metrics.ts'
import { type Result, type ResultWriter, resultWriter } from './results.ts'
import { type NextStep, nextStep } from './retry.ts'
import { unsendWaiting } from './unsend.ts'

export interface Pass {
  /** Come again at once. */
  more: boolean
  /** When the next event comes due, in ms from now; undefined: none is known. */
  nextMs: number | undefined
}

/**
 * The life of a due event on this node: a pass finds its tenant, a claim takes the tenant's lane under a lease and puts the
 * event there, it flies when the lane's turn comes, and its result is written together with others. A lane that nothing is
 * in hand of is left to whoever claims next.
 */
export class Sender {
  readonly #deps: WebhookDeps
  readonly #metrics: WebhookMetrics
  /** Holds lanes. Another one after each start: what the node before it held is another's. */
  readonly #nodeId: string
  readonly #lanes = new Map<string, Lane>()
  readonly #claims: Batcher<Wanted, Claim>
  readonly #results: ResultWriter
  readonly #flights: Flights
  /** Monotonic times at which the requests under way began. */
  readonly #begun = new Set<{ at: number }>()
  /** Events claimed, under way, or waiting for their result to be written. */
  #held = 0
  #after: string | undefined
  #stopping = false

  /** @param wake an endpoint was disabled: what waits for it is to be looked after */
  constructor(deps: WebhookDeps, metrics: WebhookMetrics, wake: () => void) {
    this.#deps = deps
    this.#metrics = metrics
    this.#nodeId = deps.ids.uuid()
    this.#claims = createBatcher({
      run: (wanted) => claimEvents(deps, this.#nodeId, wanted, deps.databaseClock.now()),
      limit: TENANTS_PER_CLAIM,
      concurrency: 2,
      queueLimit: TENANTS_PER_PASS * 2,
      queueFullError: () => new Error('too many claims wait'),
    })
    this.#results = resultWriter(deps, metrics, {
      nodeId: this.#nodeId,
      leftBy: (results) => this.#leftBy(results),
      done: (results) => {
        this.#held -= results.length
        for (const { settlement } of results) this.#lanes.get(settlement.tenantId)?.inHand.delete(settlement.notifyId)
        if (results.some(({ change }) => change?.change.change === 'DISABLE')) wake()
      },
    })
    this.#flights = flightQueue((lane) => void this.#fly(lane))
  }

  /** Nothing is claimed, under way or waiting to be written. */
  get idle(): boolean {
    return this.#held === 0
  }

  /** Looks for tenants with due events and takes them up. */
  async pass(): Promise<Pass> {
    const { databaseClock } = this.#deps
    const found = await findDueTenants(this.#deps, this.#nodeId, this.#after, TENANTS_PER_PASS)
    const cut = found.length === TENANTS_PER_PASS
    this.#after = cut ? found.at(-1)?.tenantId : undefined
    const nowMs = databaseClock.now()
    const own = found.filter((tenant) => !tenant.isElsewhere)
    const unable = own.filter((tenant) => !tenant.able)
    const due = own.filter((tenant) => tenant.able && tenant.dueMs <= nowMs)
    const later = own.filter((tenant) => tenant.able && tenant.dueMs > nowMs)
    const [unsent] = await Promise.all([
      Promise.all(unable.map((tenant) => this.#unsend(tenant.tenantId))),
      Promise.all(due.map((tenant) => this.#claim(this.#lane(tenant.tenantId)))),
      Promise.all(due.map((tenant) => this.#renew(tenant))),
    ])
    this.#observeQueue(due.map((tenant) => nowMs - tenant.dueMs))
    if (this.#lanes.size > LANES_KEPT) this.#forgetIdleLanes()
    const soonestMs = Math.min(...later.map((tenant) => tenant.dueMs))
    return {
      more: cut || unsent.some((count) => count === STEP_MAX),
      nextMs: Number.isFinite(soonestMs) ? Math.max(0, soonestMs - databaseClock.now()) : undefined,
    }
  }

  /** Takes nothing new, waits for what was begun, and leaves its lanes with the rest to others. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true
    for (const lane of this.#lanes.values()) this.#giveBack(lane)
    await settlesWithin(this.#emptied(), deadlineMs)
    const empty = [...this.#lanes.values()].filter(({ inHand }) => inHand.size === 0)
    await this.#leave(empty.map(({ tenantId, heldUntilMs }) => ({ tenantId, heldUntilMs })))
    this.#deps.wake.wake('webhooks')
  }

  /** Never rejects. */
  async #leave(holds: readonly Hold[]): Promise<void> {
    if (holds.length === 0) return
    await leaveLanesAlone(this.#deps.db, this.#nodeId, holds).catch((error) =>
      this.#deps.log.warn({ err: error }, 'lanes could not be left; their leases will end'),
    )
  }

  /** Lanes of which these results are all that is in hand. */
  #leftBy(results: readonly Result[]): Hold[] {
    const left: Hold[] = []
    for (const [tenantId, own] of groupBy(results, ({ settlement }) => settlement.tenantId)) {
      const { inHand, claiming, heldUntilMs } = this.#lane(tenantId)
      if (inHand.size === own.length && !claiming) left.push({ tenantId, heldUntilMs })
    }
    return left
  }

  async #emptied(): Promise<void> {
    while (this.#held > 0) await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS))
  }

  #lane(tenantId: string): Lane {
    const lane = this.#lanes.get(tenantId) ?? newLane(tenantId)
    this.#lanes.set(tenantId, lane)
    return lane
  }

  async #claim(lane: Lane): Promise<void> {
    const most = Math.min(roomOf(lane), HELD_MAX - this.#held)
    if (lane.claiming) lane.claimAsked = true
    if (lane.claiming || most <= 0 || this.#stopping) return
    lane.claiming = true
    const { tenantId, unsends } = lane
    this.#held += most
    let taken = 0
    try {
      const claimedAt = this.#deps.clock.monotonic()
      const claim = await this.#claims.add(nextClaim(lane, most))
      lane.more = claim.events.length === most
      taken = load(lane, claim, claimedAt)
      // Without an endpoint: the next pass sees it, and turns what waits UNSENT.
      if (this.#stopping || lane.unsends !== unsends || !take(lane, claim)) taken -= giveBack(lane)
      const { heldUntilMs } = claim
      if (lane.inHand.size === 0 && heldUntilMs !== undefined) await this.#leave([{ tenantId, heldUntilMs }])
      this.#flights.offer(lane)
    } catch (error) {
      this.#deps.log.error({ err: error, tenantId }, 'events could not be claimed')
      lane.more = false
    } finally {
      this.#held += taken - most
      lane.claiming = false
    }
    if (!lane.claimAsked) return
    lane.claimAsked = false
    void this.#claim(lane)
  }

  /** What was claimed ahead goes where the tenant's events go now, and as they are signed now. */
  async #renew({ tenantId, version }: DueTenant): Promise<void> {
    const lane = this.#lanes.get(tenantId)
    if (!lane || lane.queue.length === 0 || lane.version === version) return
    if (!take(lane, await loadSetting(this.#deps.db, this.#deps, tenantId))) this.#giveBack(lane)
  }

  async #fly(lane: Lane): Promise<void> {
    const { standing } = lane
    if (this.#deps.clock.monotonic() > lane.sendableUntil) this.#giveBack(lane)
    const event = lane.queue.shift()
    const result = event && (await this.#send(lane, event))
    this.#flights.ended(lane, standing)
    if (wantsMore(lane)) void this.#claim(lane)
    if (result) this.#results.add(result)
  }

  async #send(lane: Lane, event: ClaimedEvent): Promise<Result> {
    const { tenantId, signer } = lane
    const { url, eventTypes } = lane.endpoint
    const { notifyId, turn, attempts } = event
    if (!eventTypes.includes(event.notifyType)) {
      return { settlement: { tenantId, notifyId, turn, attempts, logged: undefined, next: { step: 'UNSENT' } } }
    }
    const begun = { at: this.#deps.clock.monotonic() }
    this.#begun.add(begun)
    let attempt: Attempt
    try {
      attempt = await attemptDelivery(this.#deps, url, signer, event, EVENT_TIMEOUT_MS)
    } catch (error) {
      attempt = this.#ownFault(event, error)
    }
    this.#begun.delete(begun)
    const endedAtMs = this.#deps.databaseClock.now()
    const next = nextStep(attempt.outcome, attempts + 1, endedAtMs, this.#chance)
    const change = this.#learn(lane, event, attempt, next, endedAtMs)
    const logged = loggedAttempt(attempt, event, attempts + 1, url, signer)
    const settlement = { tenantId, notifyId, turn, attempts, logged, next }
    return change ? { settlement, change: { tenantId, url, atMs: endedAtMs, change } } : { settlement }
  }

  readonly #chance = () => this.#deps.ids.bytes(4).readUInt32BE() / 2 ** 32

  /** A fault of ours counts as a failed attempt: it must not come back at once, for ever. */
  #ownFault({ tenantId, notifyId }: ClaimedEvent, error: unknown): Attempt {
    const { databaseClock, ids, log } = this.#deps
    log.error({ err: error, tenantId, notifyId }, 'an event could not be sent')
    const outcome: OutboundOutcome = { kind: 'failed', phase: 'url', sent: false, message: 'a fault in the gateway' }
    return { attemptId: ids.uuid(), startedAt: new Date(databaseClock.now()), durationMs: 0, outcome }
  }

  /** What an attempt says of its endpoint. */
  #learn(lane: Lane, event: ClaimedEvent, attempt: Attempt, next: NextStep, endedAtMs: number) {
    const acknowledged = next.step === 'ACKNOWLEDGED'
    afterAttempt(lane, acknowledged, attempt.durationMs)
    this.#observeAttempt(event, attempt, acknowledged, endedAtMs)
    const change = acknowledged ? recover(lane) : fail(lane, next.gone, endedAtMs)
    if (change?.change === 'DISABLE') this.#giveBack(lane)
    return change
  }

  async #unsend(tenantId: string): Promise<number> {
    const lane = this.#lane(tenantId)
    lane.unsends++
    this.#giveBack(lane)
    return unsendWaiting(this.#deps.db, tenantId, lane.inHand)
  }

  /** What was claimed and not begun waits where it is, for the next claim. */
  #giveBack(lane: Lane): void {
    this.#held -= giveBack(lane)
  }

  #forgetIdleLanes(): void {
    for (const [tenantId, lane] of this.#lanes) {
      if (lane.inHand.size === 0 && !lane.claiming) this.#lanes.delete(tenantId)
    }
  }

  #observeQueue(overdueMs: readonly number[]): void {
    const [oldest] = this.#begun // a set keeps the order in which they began
    const inFlightMs = oldest === undefined ? 0 : this.#deps.clock.monotonic() - oldest.at
    this.#metrics.queueAgeS.set({ state: 'due' }, Math.max(0, ...overdueMs) / 1000)
    this.#metrics.queueAgeS.set({ state: 'in_flight' }, inFlightMs / 1000)
    this.#metrics.flights.set(this.#flights.flying)
  }

  #observeAttempt(event: ClaimedEvent, attempt: Attempt, acknowledged: boolean, endedAtMs: number): void {
    const { tenantId, notifyId, notifyType, attempts, createdAt, turn } = event
    const { outcome, durationMs, attemptId, startedAt } = attempt
    const recordedMs = createdAt.getTime()
    // Never attempted before, nor replayed: what it took to send it is our latency.
    const fresh = attempts === 0 && turn === 0
    this.#metrics.attempts.inc({ outcome: labelOf(outcome) })
    if (fresh) this.#metrics.firstAttemptS.observe((startedAt.getTime() - recordedMs) / 1000)
    if (fresh && acknowledged) this.#metrics.acknowledgedS.observe((endedAtMs - recordedMs) / 1000)
    this.#deps.traces?.add(attemptSpan(event, attempt, acknowledged, endedAtMs))
    const { address } = outcome
    const line = { tenantId, notifyId, notifyType, attemptId, attempt: attempts + 1, durationMs, address }
    // The delivery log has every attempt. As a line each, those that went well cost a sender with a backlog a tenth.
    if (acknowledged) this.#deps.log.debug(line, 'delivery attempt')
    else this.#deps.log.info({ ...line, outcome: wordsOf(outcome) }, 'delivery attempt')
  }
}

/** @returns whether there is an endpoint to send to */
function take(lane: Lane, { endpoint, signer }: Setting): boolean {
  const url = endpoint?.enabled ? endpoint.callbackUrl : null
  if (!endpoint || url === null || !signer) return false
  lane.endpoint = { url, eventTypes: endpoint.eventTypes }
  lane.signer = signer
  lane.version = settingVersion(endpoint.updatedAt, signer.version)
  lane.health = endpoint.health
  // What this node does not know yet, another one may have found out.
  if (lane.standing === 'NEW' && endpoint.health.failingSinceMs !== null) lane.standing = 'FAILING'
  return true
}

const DRAIN_LOOK_MS = 10
/** Lanes remember how their endpoint does; beyond this the idle ones are forgotten. */
const LANES_KEPT = 5_000

/** What an attempt changes in the endpoint's health: in the lane at once, in the database with the result. */
function recover(lane: Lane) {
  if (lane.health.failingSinceMs === null) return undefined
  lane.health = { failingSinceMs: null, warnedPercent: 0 }
  return { change: 'RECOVERED' } as const
}

function fail(lane: Lane, gone: boolean, atMs: number) {
  const change = afterFailure(lane.health, atMs, gone)
  if (change.change === 'NONE') return undefined
  const warnedPercent = change.change === 'WARN' ? change.percent : lane.health.warnedPercent
  lane.health = { failingSinceMs: change.sinceMs, warnedPercent }
  return change
}
