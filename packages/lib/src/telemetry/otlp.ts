import { Counter, type Registry } from '@platformatic/prom-client'
import type { Outbound } from '#outbound/outbound.ts'
import { type Loop, type Running, runLoop } from '#process/start-stop.ts'
import type { Log } from './log.ts'
import type { LoopMetrics } from './metrics.ts'
import { createSpanId, type Span, type Traces } from './traces.ts'

/*
 * Sends spans to a collector: OTLP 1.x over HTTP in JSON (`POST …/v1/traces`). Loaded only if a collector is configured.
 */

export interface OtlpOptions {
  /** The collector's URL without /v1/traces. */
  endpoint: string
  headers: Record<string, string>
  /** Percentage of traces that are sent. Either every process sends a trace or none does. */
  percent: number
  /** Attributes that all spans of this process share. */
  resource: Record<string, string>
  outbound: Outbound
  metrics: Registry
  log: Log
  loops: LoopMetrics
}

const POLL_MS = 2_000
const BATCH_MAX = 512
/** Ten seconds' worth of spans from a busy gateway. If the collector is unavailable for longer, spans are dropped. */
const WAITING_MAX = 20_000
const TIMEOUT_MS = 10_000

export function startTraces(options: OtlpOptions): Traces & Running {
  const { percent, log, loops, metrics } = options
  const spans = new Counter({
    name: 'dealer_esim_spans_total',
    help: 'Trace spans by outcome: sent, or dropped because the collector did not accept them',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  const waiting: Span[] = []

  async function sendBatch(): Promise<boolean> {
    const batch = waiting.slice(0, BATCH_MAX)
    if (batch.length === 0) return false
    const fault = await post(options, batch)
    // Spans that the collector will never accept must not block others; spans that it may accept later are kept.
    if (fault?.isTemporary) throw new Error(`traces were not sent: ${fault.message}`)
    waiting.splice(0, batch.length)
    spans.inc({ outcome: fault ? 'dropped' : 'sent' }, batch.length)
    if (fault) log.warn({ spans: batch.length, reason: fault.message }, 'the collector refused spans')
    return waiting.length >= BATCH_MAX
  }

  const loop: Loop = runLoop({ log, loops }, 'traces', POLL_MS, sendBatch)
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

/** Decided by the last 32 bits, which are random in all UUID versions that we use. */
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
    allowPrivate: true, // the operator configured it
  })
  if (outcome.kind === 'failed') return { message: outcome.message, isTemporary: true }
  if (outcome.status >= 200 && outcome.status < 300) return undefined
  return { message: `status ${outcome.status}`, isTemporary: outcome.status === 429 || outcome.status >= 500 }
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
