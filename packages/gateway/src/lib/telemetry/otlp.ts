import { Counter, type Registry } from '@platformatic/prom-client'
import type { Outbound } from '../outbound/outbound.ts'
import { type Loop, type Running, runLoop } from '../process/lifecycle.ts'
import type { Log } from './log.ts'
import type { LoopMetrics } from './metrics.ts'
import { createSpanId, type Span, type Traces } from './traces.ts'

/*
 * Sends spans to a collector: OTLP 1.x over HTTP in JSON (`POST …/v1/traces`). Loaded only where a collector is
 * configured.
 */

export interface OtlpOptions {
  /** Of the collector, without /v1/traces. */
  endpoint: string
  headers: Record<string, string>
  /** Of traces, whole: a trace is sent by every process or by none. */
  percent: number
  /** What all spans of this process have in common. */
  resource: Record<string, string>
  outbound: Outbound
  metrics: Registry
  log: Log
  loops: LoopMetrics
}

const POLL_MS = 2_000
const BATCH_MAX = 512
/** Ten seconds of a busy gateway; a collector that is away for longer costs spans and not our memory. */
const WAITING_MAX = 20_000
const TIMEOUT_MS = 10_000

export function startTraces(options: OtlpOptions): Traces & Running {
  const { percent, log, loops, metrics } = options
  const spans = new Counter({
    name: 'dealer_esim_spans_total',
    help: 'Spans of traces, by what became of them: sent, or dropped because the collector did not take them',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  const waiting: Span[] = []

  async function sendBatch(): Promise<boolean> {
    const batch = waiting.slice(0, BATCH_MAX)
    if (batch.length === 0) return false
    const fault = await post(options, batch)
    // What the collector will never take must not keep the others; what it may take later stays.
    if (fault?.mayPass) throw new Error(`traces wait: ${fault.message}`)
    waiting.splice(0, batch.length)
    spans.inc({ outcome: fault ? 'dropped' : 'sent' }, batch.length)
    if (fault) log.warn({ spans: batch.length, reason: fault.message }, 'the collector refused spans')
    return waiting.length >= BATCH_MAX
  }

  const loop: Loop = runLoop({ name: 'traces', log, loops, pollMs: POLL_MS, pass: sendBatch })
  return {
    add(span) {
      if (!isSampled(span.traceId, percent)) return
      if (waiting.length >= WAITING_MAX) {
        spans.inc({ outcome: 'dropped' })
        return
      }
      waiting.push(span)
      if (waiting.length === BATCH_MAX) loop.wake()
    },
    async stop(deadlineMs) {
      await loop.stop(deadlineMs)
      while (await sendBatch().catch(() => false));
    },
  }
}

/** By its last 32 bits, which are random in every kind of UUID that we meet. */
function isSampled(traceId: string, percent: number): boolean {
  return Number.parseInt(traceId.slice(24), 16) < (percent / 100) * 2 ** 32
}

async function post({ endpoint, headers, resource, outbound }: OtlpOptions, spans: readonly Span[]) {
  const outcome = await outbound.request({
    url: `${endpoint}/v1/traces`,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(encode(resource, spans)),
    timeoutMs: TIMEOUT_MS,
    answerSizeMaxBytes: 4_096,
    allowPrivate: true, // the operator's own
  })
  if (outcome.kind === 'failed') return { message: outcome.message, mayPass: true }
  if (outcome.status >= 200 && outcome.status < 300) return undefined
  return { message: `status ${outcome.status}`, mayPass: outcome.status === 429 || outcome.status >= 500 }
}

const KIND = { SERVER: 2, CLIENT: 3 } as const
const ERROR = 2

function encode(resource: Record<string, string>, spans: readonly Span[]) {
  const scope = { name: 'dealer-esim-gateway' }
  const scopeSpans = [{ scope, spans: spans.map(encodeSpan) }]
  return { resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans }] }
}

function encodeSpan({ traceId, spanId, parentSpanId, name, kind, endedAt, durationMs, attributes, error }: Span) {
  return {
    traceId,
    spanId: spanId ?? createSpanId(),
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: KIND[kind],
    startTimeUnixNano: nanoseconds(endedAt - durationMs),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: attributesOf(attributes),
    status: error === undefined ? {} : { code: ERROR, message: error },
  }
}

function attributesOf(attributes: Record<string, string | number | undefined>) {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return []
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }]
  })
}

function nanoseconds(timeMs: number): string {
  return String(BigInt(Math.round(timeMs * 1_000)) * 1_000n)
}
