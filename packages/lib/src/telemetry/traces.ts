import { randomBytes } from 'node:crypto'

/** One timed piece of work in a trace. Never holds a secret. */
export interface Span {
  /** 32 hexadecimal digits: `traceIdOf` a RequestID or an order's id. */
  traceId: string
  /** Absent: a new id. */
  spanId?: string
  parentSpanId?: string | undefined
  name: string
  /** SERVER: an incoming call. CLIENT: an outgoing call. */
  kind: 'SERVER' | 'CLIENT'
  endedAt: number
  durationMs: number
  attributes: Record<string, string | number | undefined>
  /** The error message, if it failed. */
  error?: string | undefined
}

/** Collects spans and sends them in the background. Spans that cannot be sent are dropped and counted. */
export interface Traces {
  add(span: Span): void
}

/** Converts a UUID to a trace id. Both have the same size, so a RequestID finds its trace. */
export function traceIdOf(uuid: string): string {
  return uuid.replaceAll('-', '').toLowerCase()
}

/** The parent id of an order's other spans: the span of the request that placed the order. */
export function rootSpanIdOf(orderId: string): string {
  return traceIdOf(orderId).slice(16)
}

export function createSpanId(): string {
  return randomBytes(8).toString('hex')
}
