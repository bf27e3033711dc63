import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../lib/api-error.ts'
import type { Clock } from '../lib/clock.ts'
import { type Log, rateLimitedLog } from '../lib/telemetry/log.ts'
import { failureAnswer } from './answer.ts'

/*
 * Keeps a process responsive under more load than it can serve (docs/decisions/0011-load-shedding.md):
 *
 *   requests   an adaptive limit of dealers' requests in progress; `shed` answers 000002 to requests beyond it
 *   pages      a queue that starts a few requests for pages per turn of the event loop, so that dealers do not wait for them
 *   turns      a queue that starts a few pages of the catalogue per turn of the event loop, tenant by tenant
 *   bodies,    budgets in bytes for bodies that have not arrived whole, and for answers that their callers do not read;
 *   unread     beyond a budget the connection that holds most of it loses what it holds; unread answers also have a budget
 *              per connection and per tenant
 *
 * Requests that the limit and the two queues refuse are counted in one log line per second.
 */
export interface LoadShedder {
  requests: RequestLimit
  shed(refusal: Refusal): void
  pages: PageQueue
  turns: Turns
  bodies: ByteBudget<BodyHolder>
  unread: UnreadAnswers
}

/** Real bodies are a thousandth of this size, so only floods reach it. */
const BODIES_MAX_BYTES = 64 * 1024 * 1024
/** A page of the catalogue has half a MiB, so this holds one page for each of more than a hundred slow readers. */
const UNREAD_MAX_BYTES = 64 * 1024 * 1024
/** More than a dealer requests before reading the answers: about sixteen pages on one connection, and thirty-two on all. */
const UNREAD_OF_CONNECTION_MAX_BYTES = 8 * 1024 * 1024
const UNREAD_OF_TENANT_MAX_BYTES = 16 * 1024 * 1024

export function createLoadShedder({ clock, log }: { clock: Clock; log: Pick<Log, 'warn'> }): LoadShedder {
  const countRefused = rateLimitedLog((refused) => log.warn({ refused }, 'overloaded: requests were refused'))
  return {
    requests: createRequestLimit(clock),
    shed: createShed(clock, countRefused),
    pages: createPageQueue(countRefused),
    turns: createTurns(countRefused),
    bodies: createBodyBudget(BODIES_MAX_BYTES),
    unread: createUnreadAnswers(),
  }
}

/** Limits the dealers' requests in progress to as many as can be served without slowing each other down. */
export interface RequestLimit {
  isReached(): boolean
  /** True if exactly one request is in progress. */
  isAlone(): boolean
  begin(): void
  /** Call it once for each `begin`. @param durationMs of the request; undefined if it says nothing about our load */
  end(durationMs: number | undefined): void
}

/**
 * With more requests they only wait for each other, on any machine. Two hundred calls with one transactionId are not an
 * overload.
 */
export const REQUESTS_MAX = 512
/** Enough to fill the batches of orders, so that the limit does not cost throughput while the disk or database is slow. */
export const REQUESTS_MIN = 64
/** A request that takes longer has waited for others: a lone order takes a few milliseconds. */
const SLOW_MS = 20
/** The time for which answers are counted before the limit is adapted. A burst is over by then. */
const COUNTED_MS = 100
const ANSWERED_MIN = 8
/** If fewer than ANSWERED_MIN requests are answered in this time, requests wait for a lock and not for the machine. */
const FEW_ANSWERS_MS = 500
const SHRINKS_TO = 0.7
const GROWS_TO = 1.2
/** After this long without load, the limit that was found no longer applies. */
const FORGOTTEN_MS = 2_000

/**
 * Finds by trial how many requests a machine can serve. While the limit is reached and more than half of the recent answers
 * are slow, it shrinks; otherwise it grows again. A burst below the limit changes nothing, however slow it is. Only answers
 * count: requests that wait for a lock are not answered, so a locked wallet of one dealer does not shrink the limit for
 * others.
 *
 * Measured on two cores with 2 000 connections that never wait: with a fixed limit of 512 an order took seconds
 * (docs/performance.md).
 */
export function createRequestLimit(clock: Pick<Clock, 'monotonic'>): RequestLimit {
  let limit = REQUESTS_MAX
  let inProgress = 0
  let since = clock.monotonic()
  let answered = 0
  let slow = 0
  let wasReached = false

  function adapt(now: number): void {
    const isEnough = answered >= ANSWERED_MIN
    if (now - since < (isEnough ? COUNTED_MS : FEW_ANSWERS_MS)) return
    if (now - since > FORGOTTEN_MS) limit = REQUESTS_MAX
    else if (wasReached && isEnough && slow * 2 > answered) {
      limit = Math.max(REQUESTS_MIN, Math.floor(limit * SHRINKS_TO))
    } else limit = Math.min(REQUESTS_MAX, Math.ceil(limit * GROWS_TO))
    since = now
    answered = 0
    slow = 0
    wasReached = false
  }

  return {
    isReached() {
      if (inProgress < limit) return false
      wasReached = true
      adapt(clock.monotonic())
      return inProgress >= limit
    },
    isAlone: () => inProgress === 1,
    begin: () => void inProgress++,
    end(durationMs) {
      inProgress--
      if (durationMs === undefined) return
      answered++
      if (durationMs > SLOW_MS) slow++
      adapt(clock.monotonic())
    },
  }
}

interface Refusal {
  response: ServerResponse
  /** The caller's, if it is well formed. */
  requestId: string | undefined
  /** True if the connection ends with the answer. */
  closes: boolean
}

/** The share of the thread's time for writing refusals. Reading the refused requests costs as much again. */
const REFUSALS_SHARE = 0.2
/** The time that is saved up while nobody is refused, so that a burst is answered at once. */
const SAVED_MAX_MS = 20
const BETWEEN_TURNS_MS = 2

/**
 * Answers 000002. Refusing a flood of callers that never wait would take all of the thread's time, so refusals have a share
 * of that time and wait for it in order. Until a caller is answered, it sends nothing more. No caller waits long: a
 * connection has one refusal at a time, and thousands are written per second.
 */
function createShed(clock: Clock, countRefused: () => void): (refusal: Refusal) => void {
  let waiting: Refusal[] = []
  let savedMs = SAVED_MAX_MS
  let countedAt = clock.monotonic()
  let isScheduled = false

  function writeSome(): void {
    isScheduled = false
    let now = clock.monotonic()
    savedMs = Math.min(SAVED_MAX_MS, savedMs + (now - countedAt) * REFUSALS_SHARE)
    countedAt = now
    let written = 0
    while (written < waiting.length && savedMs > 0) {
      writeRefusal(waiting[written++] as Refusal)
      const after = clock.monotonic()
      savedMs -= after - now
      now = after
    }
    waiting = written === waiting.length ? [] : waiting.slice(written)
    if (waiting.length === 0) return
    isScheduled = true
    setTimeout(writeSome, BETWEEN_TURNS_MS)
  }

  return (refusal) => {
    countRefused()
    waiting.push(refusal)
    if (!isScheduled) writeSome()
  }
}

const PLACEHOLDER = '00000000-0000-4000-8000-000000000000'
const { http, headers, body } = failureAnswer(PLACEHOLDER, new ApiError('000002'))
const [BEFORE_ID, AFTER_ID] = body.split(PLACEHOLDER) as [string, string]
const BODY_BYTES = Buffer.byteLength(body)
const { 'rt-requestid': _, ...FIXED_HEADERS } = headers

/** Writes a refusal. All refusals are equal except for one id of fixed length, so the answer is built beforehand. */
function writeRefusal({ response, requestId, closes }: Refusal): void {
  if (response.destroyed) return
  response.writeHead(http, {
    ...FIXED_HEADERS,
    'content-length': BODY_BYTES,
    ...(requestId === undefined ? {} : { 'rt-requestid': requestId }),
    ...(closes ? { connection: 'close' } : {}),
  })
  response.end(BEFORE_ID + (requestId ?? randomUUID()) + AFTER_ID)
}

/** Starts requests a few at a time, in the order in which they arrived. */
export interface PageQueue {
  /**
   * Calls `start` at once, or in a later turn of the event loop, unless the caller has gone away by then.
   * @returns false if too many requests are waiting
   */
  enter(socket: Socket, start: () => void): boolean
}

/** A page of the console takes about 150 µs, so pages take less than a millisecond of each turn. */
export const STARTED_PER_TURN = 4
/** A few hundred milliseconds' work. With more waiting, a prompt refusal is better than a longer wait. */
export const WAITING_MAX = 1_000
/** Per connection. Browsers and proxies send the next request after the answer; a client that pipelines more is cut off. */
export const PIPELINED_MAX = 16

/**
 * Queues requests for pages. One turn of the event loop brings one request of each connection, and a dealer's call needs
 * several turns. With two hundred connections that keep asking for pages, each of those turns would last as long as two
 * hundred pages. If only pages are asked for, the queue costs nothing, because the next turn follows at once.
 */
export function createPageQueue(countRefused: () => void): PageQueue {
  const waiting: { socket: Socket; start(): void }[] = []
  const waitingOf = new Map<Socket, number>()
  let startedInTurn = 0

  function startNow(start: () => void): void {
    if (startedInTurn++ === 0) setImmediate(nextTurn)
    start()
  }

  function nextTurn(): void {
    startedInTurn = 0
    while (startedInTurn < STARTED_PER_TURN && waiting.length > 0) {
      const { socket, start } = waiting.shift()!
      const others = waitingOf.get(socket)! - 1
      if (others > 0) waitingOf.set(socket, others)
      else waitingOf.delete(socket)
      if (!socket.destroyed) startNow(start)
    }
  }

  return {
    enter(socket, start) {
      if (startedInTurn < STARTED_PER_TURN) {
        startNow(start)
        return true
      }
      const own = (waitingOf.get(socket) ?? 0) + 1
      if (own > PIPELINED_MAX) socket.destroy()
      if (socket.destroyed) return true
      if (waiting.length >= WAITING_MAX) {
        countRefused()
        return false
      }
      waitingOf.set(socket, own)
      waiting.push({ socket, start })
      return true
    },
  }
}

/** Memory that several holders share. If the budget is exceeded, the largest holder loses its memory. */
export interface ByteBudget<Holder> {
  hold(holder: Holder, bytes: number): void
  /** Releases all bytes of the holder unless `bytes` is given. Does nothing for a holder that has lost its memory. */
  release(holder: Holder, bytes?: number): void
}

/** @param dropLargest frees the holder's memory; called after the holder has lost its share */
export function createByteBudget<Holder>(maxBytes: number, dropLargest: (holder: Holder) => void): ByteBudget<Holder> {
  const held = new Map<Holder, number>()
  let heldBytes = 0

  function release(holder: Holder, bytes?: number): void {
    const own = held.get(holder)
    if (own === undefined) return
    const released = bytes ?? own
    heldBytes -= released
    if (released === own) held.delete(holder)
    else held.set(holder, own - released)
  }

  function largestHolder(): Holder {
    let [largest, most] = held.entries().next().value!
    for (const [holder, bytes] of held) if (bytes > most) [largest, most] = [holder, bytes]
    return largest
  }

  return {
    hold(holder, bytes) {
      held.set(holder, (held.get(holder) ?? 0) + bytes)
      heldBytes += bytes
      while (heldBytes > maxBytes && held.size > 0) {
        const largest = largestHolder()
        release(largest)
        dropLargest(largest)
      }
    },
    release,
  }
}

/** A body that is arriving. */
export interface BodyHolder {
  giveUp(error: ApiError): void
}

/** Keeps slow or large bodies from using up the memory of others: the largest unfinished body is refused with 000002. */
export function createBodyBudget(maxBytes: number): ByteBudget<BodyHolder> {
  return createByteBudget(maxBytes, (body) => body.giveUp(new ApiError('000002')))
}

export interface UnreadAnswers {
  /** Called for each answer after it was handed to the connection. */
  watch(response: ServerResponse, sizeBytes: number, tenantId: string | undefined): void
}

/**
 * Limits the answers that callers do not read, which stay in our memory. Beyond a budget the connection that holds most is
 * closed: a slow reader has one answer in progress, an attacker has many.
 */
function createUnreadAnswers(): UnreadAnswers {
  const createBudget = (maxBytes: number) => createByteBudget<Socket>(maxBytes, (socket) => socket.destroy())
  const all = createBudget(UNREAD_MAX_BYTES)
  const ofTenant = new Map<string, ByteBudget<Socket>>()
  const ofConnection = new WeakMap<Socket, ByteBudget<Socket>[]>()

  function budgetsOf(socket: Socket, tenantId: string): ByteBudget<Socket>[] {
    const known = ofConnection.get(socket)
    if (known) return known
    const own = ofTenant.get(tenantId) ?? createBudget(UNREAD_OF_TENANT_MAX_BYTES)
    ofTenant.set(tenantId, own)
    const budgets = [createBudget(UNREAD_OF_CONNECTION_MAX_BYTES), own, all]
    ofConnection.set(socket, budgets)
    socket.once('close', () => {
      for (const budget of budgets) budget.release(socket)
    })
    return budgets
  }

  return {
    watch(response, sizeBytes, tenantId = '') {
      if (response.writableLength === 0) return // nearly always: the operating system took it at once
      const { socket } = response.req
      if (socket.destroyed) return
      // A connection counts for the tenant of its first unread answer: nearly all have one tenant.
      const budgets = budgetsOf(socket, tenantId)
      response.once('finish', () => {
        for (const budget of budgets) budget.release(socket, sizeBytes)
      })
      for (const budget of budgets) budget.hold(socket, sizeBytes)
    },
  }
}

/** Starts work that takes milliseconds a little at a time, so that other dealers' requests are served in between. */
export interface Turns {
  /** @returns undefined if it may start now. @throws ApiError 000002 if too much work of this tenant is waiting */
  take(tenantId: string): Promise<void> | undefined
}

/** A page of the catalogue takes up to a few milliseconds. */
const TAKEN_PER_TURN = 4
/** Half of the requests that may be in progress, so that one tenant leaves room for the others. */
const WAITING_OF_TENANT_MAX = REQUESTS_MAX / 2

export function createTurns(countRefused: () => void): Turns {
  /** In the order in which the tenants' turns come. */
  const waiting = new Map<string, (() => void)[]>()
  let takenInTurn = 0

  function takeNow(): void {
    if (takenInTurn++ === 0) setImmediate(nextTurn)
  }

  function nextTurn(): void {
    takenInTurn = 0
    for (const [tenantId, own] of waiting) {
      if (takenInTurn === TAKEN_PER_TURN) return
      const start = own.shift()!
      waiting.delete(tenantId)
      if (own.length > 0) waiting.set(tenantId, own) // moved to the end, where this loop reaches it again
      takeNow()
      start()
    }
  }

  return {
    take(tenantId) {
      if (takenInTurn < TAKEN_PER_TURN && waiting.size === 0) {
        takeNow()
        return undefined
      }
      const own = waiting.get(tenantId) ?? []
      if (own.length >= WAITING_OF_TENANT_MAX) {
        countRefused()
        throw new ApiError('000002')
      }
      waiting.set(tenantId, own)
      return new Promise((resolve) => own.push(resolve))
    },
  }
}
