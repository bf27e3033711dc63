import { setTimeout as delay } from 'node:timers/promises'
import { EVENT_TIMEOUT_MS } from '@dealer-esim/contract'
import { type Batcher, createBatcher, groupBy } from '@dealer-esim/lib/batch.ts'
import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { createWokenKeys } from '@dealer-esim/lib/postgres/wakeups.ts'
import { type Running, runLoop, settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import { loggedAttempt } from '../attempt-log.ts'
import { bodyOf } from '../notification-body.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import {
  CLAIMED_MAX,
  ENDPOINT_IN_FLIGHT_MAX,
  PASS_GAP_MS,
  POLL_MS,
  STEP_MAX,
  TENANTS_PER_CLAIM,
  TENANTS_PER_PASS,
} from '../webhook-limits.ts'
import {
  type Claim,
  type ClaimedEvent,
  type ClaimRequest,
  claimEvents,
  type HeldQueue,
  loadSendSettings,
  releaseQueuesAlone,
} from './claim-deliveries.ts'
import { type Attempt, attemptDelivery, attemptedAtMs, nextStep } from './delivery-attempt.ts'
import { type DueTenant, listDueTenants, markUnsent } from './due-tenants.ts'
import {
  addClaimed,
  afterAttempt,
  applySettings,
  claimLimit,
  createEndpointQueue,
  type EndpointQueue,
  isSendable,
  nextClaimRequest,
  releaseEvents,
  shouldClaim,
} from './endpoint-queue.ts'
import type { EventResult } from './save-results.ts'
import { type ResultWriter, resultWriter } from './save-results.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'
import { createWebhookMetrics, observeAttempt, type WebhookMetrics } from './sending-telemetry.ts'

/** Sends events. A pass starts when a commit has recorded some, when a retry becomes due, and at every poll. */
export function webhooksLoop(deps: WebhookDeps): Running & { readonly idle: boolean } {
  const { clock } = deps
  const wokenTenants = createWokenKeys(clock, POLL_MS)
  const wake = (tenantIds?: readonly string[]) => {
    wokenTenants.add(tenantIds)
    loop.wake()
  }
  const sender = new Sender(deps, createWebhookMetrics(deps), () => wake())
  let timer: NodeJS.Timeout | undefined
  let passedAt = Number.NEGATIVE_INFINITY
  const loop = runLoop(deps, 'webhooks', POLL_MS, async () => {
    // The first wakeup after a pause starts a pass immediately; under load many wakeups share one.
    const gapMs = PASS_GAP_MS - (clock.monotonic() - passedAt)
    if (gapMs > 0) await delay(gapMs)
    passedAt = clock.monotonic()
    const tenantIds = wokenTenants.take()
    if (tenantIds !== undefined && (await sender.claimFor(tenantIds))) return false
    const { more, nextMs } = await sender.pass()
    clearTimeout(timer)
    if (nextMs !== undefined && nextMs < POLL_MS) timer = setTimeout(() => wake(), nextMs + 1)
    if (more) wokenTenants.add()
    return more
  })
  // Applies a changed setting to the next event.
  const unsubscribe = [deps.wake.on('webhooks', wake), deps.wake.on('settings', () => wake())]
  return {
    get idle() {
      return sender.idle
    },
    async stop(deadlineMs) {
      const began = clock.monotonic()
      for (const stop of unsubscribe) stop()
      await loop.stop(deadlineMs)
      clearTimeout(timer)
      await sender.stop(Math.max(0, deadlineMs - (clock.monotonic() - began)))
    },
  }
}

interface Pass {
  /** More tenants may have due events: pass again immediately. */
  more: boolean
  /** When the next event becomes due, in ms from now; undefined: none is known. */
  nextMs: number | undefined
}

/**
 * Sends events on this node. The steps of an event, in the order of the methods below:
 *
 *     pass         finds the tenants with due events; claimFor handles those whose events were just recorded here
 *     claim        leases a tenant's endpoint queue for this node and reads its due events
 *     sendNext     takes the first event of a queue, when the scheduler has capacity
 *     send         posts it and decides what follows from the response
 *     saved        the result is in the database; a queue without claimed events is released to the other nodes
 */
export class Sender {
  readonly #deps: WebhookDeps
  readonly #metrics: WebhookMetrics
  /**
   * Identifies this process as lease holder. It is new at each start, because an earlier process's leases are not this
   * one's.
   */
  readonly #nodeId: string
  readonly #queues = new Map<string, EndpointQueue>()
  readonly #claims: Batcher<ClaimRequest, Claim>
  readonly #scheduler: Scheduler
  readonly #results: ResultWriter
  /** Monotonic start times of the requests in flight. */
  readonly #started = new Set<{ at: number }>()
  /** Events that are claimed, in flight, or waiting for their result to be saved. */
  #claimed = 0
  /** The last tenant of a pass that reached its limit. */
  #after: string | undefined
  #stopping = false

  /** @param wake requests a pass: an endpoint was disabled, and its waiting events must be marked UNSENT */
  constructor(deps: WebhookDeps, metrics: WebhookMetrics, wake: () => void) {
    this.#deps = deps
    this.#metrics = metrics
    this.#nodeId = deps.ids.uuid()
    this.#claims = createBatcher({
      run: (requests) => claimEvents(deps, this.#nodeId, requests, deps.databaseClock.now()),
      limit: TENANTS_PER_CLAIM,
      concurrency: 2,
      queueLimit: TENANTS_PER_PASS * 2,
      queueFullError: () => new Error('too many claims are waiting'),
    })
    this.#scheduler = createScheduler((queue) => void this.#sendNext(queue))
    this.#results = resultWriter(deps, metrics, {
      nodeId: this.#nodeId,
      finishedQueues: (results) => this.#finishedQueues(results),
      saved: (results) => {
        this.#saved(results)
        if (results.some(({ change }) => change?.change.change === 'DISABLE')) wake()
      },
    })
  }

  /** True if nothing is claimed, in flight or waiting to be saved. */
  get idle(): boolean {
    return this.#claimed === 0
  }

  /**
   * Claims for tenants whose events this node has just recorded, without listing the others.
   * @returns false, without claiming anything, if a pass has to find out what is due: there is no room for that many claims,
   * or this node does not know the endpoint of one of the tenants
   */
  async claimFor(tenantIds: readonly string[]): Promise<boolean> {
    const queues = tenantIds.flatMap((tenantId) => this.#queues.get(tenantId) ?? [])
    if (queues.length < tenantIds.length || !queues.every(isSendable)) return false
    if (queues.length > (CLAIMED_MAX - this.#claimed) / ENDPOINT_IN_FLIGHT_MAX) return false
    await Promise.all(queues.map((queue) => this.#claim(queue, ENDPOINT_IN_FLIGHT_MAX)))
    return true
  }

  /** Finds tenants with due events and claims for them. */
  async pass(): Promise<Pass> {
    const { databaseClock } = this.#deps
    const found = await listDueTenants(this.#deps, this.#nodeId, this.#after, TENANTS_PER_PASS)
    const limited = found.length === TENANTS_PER_PASS
    this.#after = limited ? found.at(-1)?.tenantId : undefined
    const nowMs = databaseClock.now()
    const own = found.filter((tenant) => !tenant.isHeldElsewhere)
    const withoutEndpoint = own.filter((tenant) => !tenant.canReceive)
    const due = own.filter((tenant) => tenant.canReceive && tenant.dueMs <= nowMs)
    const later = own.filter((tenant) => tenant.canReceive && tenant.dueMs > nowMs)
    const [unsent] = await Promise.all([
      Promise.all(withoutEndpoint.map((tenant) => this.#markUnsent(tenant.tenantId))),
      Promise.all(due.map((tenant) => this.#claim(this.#queueOf(tenant.tenantId)))),
      Promise.all(due.map((tenant) => this.#refreshSettings(tenant))),
    ])
    this.#observeQueues(due.map((tenant) => nowMs - tenant.dueMs))
    if (this.#queues.size > QUEUES_KEPT_MAX) this.#forgetIdleQueues()
    const soonestMs = Math.min(...later.map((tenant) => tenant.dueMs))
    return {
      more: limited || unsent.some((count) => count === STEP_MAX),
      nextMs: Number.isFinite(soonestMs) ? Math.max(0, soonestMs - databaseClock.now()) : undefined,
    }
  }

  /**
   * @param max fewer than the queue has room for, so that many queues can be claimed together; the rest is claimed while
   * sending
   */
  async #claim(queue: EndpointQueue, max = CLAIMED_MAX): Promise<void> {
    const limit = Math.min(claimLimit(queue), CLAIMED_MAX - this.#claimed, max)
    if (queue.claiming) queue.claimAgain = true
    if (queue.claiming || limit <= 0 || this.#stopping) return
    queue.claiming = true
    const { tenantId, timesMarkedUnsent } = queue
    this.#claimed += limit
    let added = 0
    try {
      const claimedAtMs = this.#deps.clock.monotonic()
      const claim = await this.#claims.add(nextClaimRequest(queue, limit))
      queue.hasMore = claim.events.length === limit
      added = addClaimed(queue, claim, claimedAtMs)
      // Without an endpoint, nothing is sent: the next pass marks the events UNSENT.
      const isOutdated = this.#stopping || queue.timesMarkedUnsent !== timesMarkedUnsent
      if (isOutdated || !applySettings(queue, claim)) added -= releaseEvents(queue)
      const { heldUntilMs } = claim
      if (queue.claimedIds.size === 0 && heldUntilMs !== undefined)
        await this.#releaseQueues([{ tenantId, heldUntilMs }])
      this.#scheduler.schedule(queue)
    } catch (error) {
      this.#deps.log.error({ err: error, tenantId }, 'events could not be claimed; a later pass tries again')
      queue.hasMore = false
    } finally {
      this.#claimed += added - limit
      queue.claiming = false
    }
    if (!queue.claimAgain) return
    queue.claimAgain = false
    void this.#claim(queue)
  }

  async #sendNext(queue: EndpointQueue): Promise<void> {
    const { health } = queue
    if (this.#deps.clock.monotonic() > queue.sendableUntilMs) this.#releaseEvents(queue)
    const event = queue.queue.shift()
    const result = event && (await this.#send(queue, event))
    this.#scheduler.finished(queue, health)
    if (shouldClaim(queue)) void this.#claim(queue)
    if (result) this.#results.add(result)
  }

  async #send(queue: EndpointQueue, event: ClaimedEvent): Promise<EventResult> {
    const { tenantId, signer } = queue
    const { url } = queue.endpoint
    const { notifyId, generation, attempts } = event
    const text = this.#bodyOf(queue, event)
    if (text === undefined) {
      return { tenantId, notifyId, generation, attempts, logged: undefined, next: { step: 'UNSENT' } }
    }
    const attempt = await this.#attempt(queue, event, text)
    const endedAtMs = this.#deps.databaseClock.now()
    const next = nextStep(attempt.outcome, attempts + 1, attemptedAtMs(event, signer, endedAtMs), this.#chance)
    observeAttempt(this.#deps, this.#metrics, event, attempt, endedAtMs)
    const change = afterAttempt(queue, next, attempt.durationMs, endedAtMs)
    if (change?.change === 'DISABLE') this.#releaseEvents(queue)
    const logged = loggedAttempt(attempt, event, attempts + 1, url, signer)
    const result = { tenantId, notifyId, generation, attempts, logged, next }
    if (!change) return result
    const startedMs = attempt.startedAt.getTime()
    return { ...result, change: { tenantId, url, startedMs, endedMs: endedAtMs, change } }
  }

  /**
   * @returns undefined if the endpoint does not accept the event. An event that cannot be converted does not block those
   * behind it.
   */
  #bodyOf({ tenantId, endpoint }: EndpointQueue, event: ClaimedEvent): string | undefined {
    if (!endpoint.eventTypes.includes(event.notifyType)) return undefined
    try {
      return bodyOf(endpoint.eventFormat, event, this.#deps.config.mode)
    } catch (error) {
      const { notifyId } = event
      this.#deps.log.error(
        { err: error, tenantId, notifyId },
        'an event could not be converted to the format of its tenant',
      )
      return undefined
    }
  }

  async #attempt({ endpoint, signer }: EndpointQueue, event: ClaimedEvent, text: string): Promise<Attempt> {
    const { clock, databaseClock, ids, log } = this.#deps
    const started = { at: clock.monotonic() }
    this.#started.add(started)
    try {
      return await attemptDelivery(this.#deps, endpoint, signer, event, text, EVENT_TIMEOUT_MS)
    } catch (error) {
      // Counts as a failed attempt; otherwise the event would be retried immediately and forever.
      const { tenantId, notifyId } = event
      log.error({ err: error, tenantId, notifyId }, 'an event could not be sent because of an internal error')
      const outcome: OutboundOutcome = {
        kind: 'failed',
        phase: 'url',
        sent: false,
        message: 'an internal error of the gateway',
      }
      return { attemptId: ids.uuid(), startedAt: new Date(databaseClock.now()), durationMs: 0, outcome }
    } finally {
      this.#started.delete(started)
    }
  }

  readonly #chance = () => this.#deps.ids.bytes(4).readUInt32BE() / 2 ** 32

  /** Finds the queues that have no other claimed events than these. */
  #finishedQueues(results: readonly EventResult[]): HeldQueue[] {
    const finished: HeldQueue[] = []
    for (const [tenantId, own] of groupBy(results, (result) => result.tenantId)) {
      const { claimedIds, claiming, heldUntilMs } = this.#queueOf(tenantId)
      if (claimedIds.size === own.length && !claiming) finished.push({ tenantId, heldUntilMs })
    }
    return finished
  }

  #saved(results: readonly EventResult[]): void {
    this.#claimed -= results.length
    for (const { tenantId, notifyId } of results) this.#queues.get(tenantId)?.claimedIds.delete(notifyId)
  }

  /** Stops claiming, waits for requests in flight, and releases the remaining events to other nodes. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true
    for (const queue of this.#queues.values()) this.#releaseEvents(queue)
    await settlesWithin(this.#untilIdle(), deadlineMs)
    const empty = [...this.#queues.values()].filter(({ claimedIds }) => claimedIds.size === 0)
    await this.#releaseQueues(empty.map(({ tenantId, heldUntilMs }) => ({ tenantId, heldUntilMs })))
    this.#deps.wake.wake('webhooks')
  }

  async #untilIdle(): Promise<void> {
    while (this.#claimed > 0) await new Promise((resolve) => setTimeout(resolve, IDLE_POLL_MS))
  }

  /** Never rejects. */
  async #releaseQueues(queues: readonly HeldQueue[]): Promise<void> {
    if (queues.length === 0) return
    await releaseQueuesAlone(this.#deps.db, this.#nodeId, queues).catch((error) =>
      this.#deps.log.warn({ err: error }, 'endpoint queues could not be released; their leases will expire'),
    )
  }

  #releaseEvents(queue: EndpointQueue): void {
    this.#claimed -= releaseEvents(queue)
  }

  async #markUnsent(tenantId: string): Promise<number> {
    const queue = this.#queueOf(tenantId)
    queue.timesMarkedUnsent++
    this.#releaseEvents(queue)
    return markUnsent(this.#deps.db, tenantId, queue.claimedIds)
  }

  /** Events claimed before the endpoint or the secrets changed are sent with the new settings. */
  async #refreshSettings({ tenantId, version }: DueTenant): Promise<void> {
    const queue = this.#queues.get(tenantId)
    if (!queue || queue.queue.length === 0 || queue.version === version) return
    const settings = await loadSendSettings(this.#deps.db, this.#deps, tenantId)
    if (!applySettings(queue, settings)) this.#releaseEvents(queue)
  }

  #queueOf(tenantId: string): EndpointQueue {
    const queue = this.#queues.get(tenantId) ?? createEndpointQueue(tenantId)
    this.#queues.set(tenantId, queue)
    return queue
  }

  #forgetIdleQueues(): void {
    for (const [tenantId, queue] of this.#queues) {
      if (queue.claimedIds.size === 0 && !queue.claiming) this.#queues.delete(tenantId)
    }
  }

  #observeQueues(overdueMs: readonly number[]): void {
    const [oldest] = this.#started // a set iterates in insertion order
    const inFlightMs = oldest === undefined ? 0 : this.#deps.clock.monotonic() - oldest.at
    this.#metrics.queueAgeS.set({ state: 'due' }, Math.max(0, ...overdueMs) / 1000)
    this.#metrics.queueAgeS.set({ state: 'in_flight' }, inFlightMs / 1000)
    this.#metrics.inFlight.set(this.#scheduler.inFlight)
  }
}

const IDLE_POLL_MS = 10
/** Queues remember their endpoint's health; idle queues beyond this number are forgotten. */
const QUEUES_KEPT_MAX = 5_000
