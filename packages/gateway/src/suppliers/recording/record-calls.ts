import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import type { Outbound, OutboundOutcome, OutboundRequest } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'

/*
 * Records what a supplier sends and receives. The supplier is wrapped only while a recording runs. Its connections always
 * check whether a recorded call is in progress, which takes a few nanoseconds.
 */

/** A request to a supplier with its answer, and the call of `Supplier` that caused it. Not yet redacted. */
export interface RecordedExchange {
  /** The same for all exchanges of one call. */
  callId: string
  operation: RecordedOperation
  arguments: unknown[]
  request: { method: string; path: string; contentType?: string | undefined; body?: string | undefined }
  answer?: RecordedAnswer
  /** The reason why there is no answer, e.g. `time-out`. `sent`: the supplier may have received the request. */
  failure?: { phase: string; sent: boolean }
}

export interface RecordedAnswer {
  status: number
  headers: Record<string, string>
  body: string
  /** Its long lists were shortened. */
  isShortened?: true
}

/** Where a recording is written to. */
export interface ExchangeSink {
  /** The maximum size of one answer's body in bytes. The lists in longer bodies are shortened. */
  answerMaxBytes: number
  isOver(): boolean
  /** Never rejects. */
  keep(exchange: RecordedExchange): Promise<void>
}

const OPERATIONS = [
  ...['order', 'query', 'topUp', 'cancel', 'suspend', 'unsuspend', 'revoke', 'test', 'report', 'balance'],
  ...['list', 'catalogue', 'topUpsOf'],
] as const
export type RecordedOperation = (typeof OPERATIONS)[number] | typeof RECEIVE

/** An event sent by the supplier, as a request without an answer. */
export const RECEIVE = 'receive'

/** Operations that return an AsyncIterable. */
export const LISTS: ReadonlySet<string> = new Set(['list', 'catalogue'])

interface Call {
  callId: string
  operation: RecordedOperation
  arguments: unknown[]
  sink: ExchangeSink
  writes: Promise<void>[]
}

const calls = new AsyncLocalStorage<Call>()

/**
 * Returns a version of the supplier that passes the requests of its calls, and its events, to `sink`. Requests must go
 * through `recordableOutbound`.
 * @param masked values of the account that must not enter the recording with an event
 */
export function recordCalls(
  supplier: Supplier,
  sink: ExchangeSink,
  newId: () => string,
  masked: readonly NamedValue[] = [],
): Supplier {
  const methods = supplier as unknown as Record<string, ((...input: unknown[]) => unknown) | undefined>
  const recorded: Record<string, unknown> = { ...supplier }
  for (const operation of OPERATIONS) {
    const method = methods[operation]
    if (method === undefined) continue
    recorded[operation] = (...input: unknown[]) => {
      const inner = () => method.apply(supplier, input)
      if (sink.isOver()) return inner()
      const call: Call = { callId: newId(), operation, arguments: input, sink, writes: [] }
      return LISTS.has(operation)
        ? recordList(call, inner as () => AsyncIterable<unknown>)
        : recordResult(call, inner as () => Promise<unknown>)
    }
  }
  const { receive } = supplier
  if (receive !== undefined) {
    recorded.receive = (event: Event) => {
      if (sink.isOver()) return receive(event)
      const call: Call = { callId: newId(), operation: RECEIVE, arguments: [], sink, writes: [] }
      return recordResult(call, async () => {
        const received = await receive(event)
        // Anybody can send events; those that are not authentic must not fill up the recording.
        if (received.kind !== 'refused') call.writes.push(keepEvent(call, event, masked))
        return received
      })
    }
  }
  return recorded as unknown as Supplier
}

type Event = Parameters<NonNullable<Supplier['receive']>>[0]

/** Keeps only the body: the headers contain its signature and identify its sender. */
async function keepEvent({ callId, sink }: Call, { body }: Event, masked: readonly NamedValue[]): Promise<void> {
  const request = { method: 'POST', path: '/events', contentType: 'application/json', body: body.toString() }
  const exchange: RecordedExchange = { callId, operation: RECEIVE, arguments: [], request }
  await sink.keep(JSON.parse(maskValues(JSON.stringify(exchange), masked))).catch(() => {})
}

async function recordResult(call: Call, inner: () => Promise<unknown>): Promise<unknown> {
  try {
    return await calls.run(call, inner)
  } finally {
    await settle(call)
  }
}

async function* recordList(call: Call, inner: () => AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const rows = calls.run(call, () => inner()[Symbol.asyncIterator]())
  try {
    for (;;) {
      const { done, value } = await calls.run(call, () => rows.next())
      if (done) return
      yield value
    }
  } finally {
    await calls.run(call, async () => rows.return?.())
    await settle(call)
  }
}

/** A slow database must not delay an answer. */
const WRITE_WAIT_MAX_MS = 1_000

/** Waits for the writes of a call, because a command closes the database after its last call. */
async function settle({ writes }: Call): Promise<void> {
  if (writes.length === 0) return
  const timer = new AbortController()
  const late = delay(WRITE_WAIT_MAX_MS, undefined, { signal: timer.signal }).catch(() => {})
  await Promise.race([Promise.all(writes), late])
  timer.abort()
}

/**
 * Sends through `outbound`, and records the requests of recorded calls.
 * @param masked values of the account that must not even enter the encrypted recording, such as its secrets
 */
export function recordableOutbound(outbound: Outbound, masked: readonly NamedValue[]): Outbound {
  return {
    request(request) {
      const call = calls.getStore()
      if (call === undefined || call.sink.isOver()) return outbound.request(request)
      return outbound.request(request).then((outcome) => {
        call.writes.push(keep(call, request, outcome, masked))
        return outcome
      })
    },
    close: () => outbound.close(),
  }
}

/** A recording must not affect what it records: a failure here must not reach the supplier's call. */
async function keep(
  { callId, operation, arguments: input, sink }: Call,
  request: OutboundRequest,
  outcome: OutboundOutcome,
  masked: readonly NamedValue[],
): Promise<void> {
  try {
    const { pathname, search } = new URL(request.url)
    const exchange: RecordedExchange = {
      callId,
      operation,
      arguments: input,
      request: {
        method: request.method,
        path: pathname + search,
        contentType: request.headers?.['content-type'],
        ...(request.body === undefined ? {} : { body: String(request.body) }),
      },
      ...(outcome.kind === 'answer'
        ? { answer: answerOf(outcome, sink.answerMaxBytes) }
        : { failure: { phase: outcome.phase, sent: outcome.sent } }),
    }
    await sink.keep(JSON.parse(maskValues(JSON.stringify(exchange, bigintsAsText), masked)))
  } catch {
    // A recording with a gap is better than a failed purchase.
  }
}

function bigintsAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** Other headers may identify the account, and adapters do not read them. */
const HEADERS = ['content-type', 'retry-after', 'date']

function answerOf({ status, headers, body, truncated }: OutboundOutcome & { kind: 'answer' }, maxBytes: number) {
  const kept = HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]))
  const answer: RecordedAnswer = { status, headers: Object.fromEntries(kept), body: body.toString() }
  if (body.length <= maxBytes && !truncated) return answer
  return { ...answer, body: shorten(answer.body, maxBytes), isShortened: true as const }
}

const ROWS_MAX = 20

/** Shortens the lists of a JSON text. If it is still too long, or is not JSON, it is left out. */
function shorten(text: string, maxBytes: number): string {
  try {
    const cut = JSON.stringify(
      JSON.parse(text, (_, value) => (Array.isArray(value) ? value.slice(0, ROWS_MAX) : value)),
    )
    return Buffer.byteLength(cut) <= maxBytes ? cut : ''
  } catch {
    return ''
  }
}

/** A value from an account's configuration, with the name of its member. */
export interface NamedValue {
  name: string
  value: string
}

/** Shorter values would also replace parts of other texts. They occur only in headers, which are not recorded. */
const LENGTH_MIN = 6

/** Pure: replaces the values in a JSON text, including those that are part of a URL, with e.g. `recorded-apiKey`. */
export function maskValues(json: string, values: readonly NamedValue[]): string {
  let masked = json
  for (const { name, value } of values) {
    if (value.length < LENGTH_MIN) continue
    for (const form of new Set([
      value,
      encodeURIComponent(value),
      new URLSearchParams({ value }).toString().slice(6),
    ])) {
      const inJson = JSON.stringify(form).slice(1, -1)
      masked = masked.replaceAll(inJson, maskOf(name))
      masked = masked.replaceAll(JSON.stringify(inJson).slice(1, -1), maskOf(name)) // JSON within JSON
    }
  }
  return masked
}

/** The placeholder for a member, also in the configuration that replays a recording. */
export function maskOf(name: string): string {
  return `recorded-${name}`
}
