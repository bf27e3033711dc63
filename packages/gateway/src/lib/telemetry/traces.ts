import { randomBytes } from 'node:crypto'

/** One piece of work that took time, for whoever follows it through the processes. Never holds a secret. */
export interface Span {
  /** 32 hexadecimal digits: `traceOf` a RequestID or an order's id. */
  traceId: string
  /** Absent: one of its own. */
  spanId?: string
  parentSpanId?: string | undefined
  name: string
  /** SERVER: somebody called us. CLIENT: we called somebody. */
  kind: 'SERVER' | 'CLIENT'
  endedAt: number
  durationMs: number
  attributes: Record<string, string | number | undefined>
  /** Words, where it went wrong. */
  error?: string | undefined
}

/** Takes spans in and sends them in the background; one that cannot be sent is dropped, and counted. */
export interface Traces {
  add(span: Span): void
}

/** A UUID has the size of a trace's id: what a dealer knows a request by finds its trace. */
export function traceIdOf(uuid: string): string {
  return uuid.replaceAll('-', '').toLowerCase()
}

/** The span that all others of an order hang from: the request that placed it. */
export function rootSpanIdOf(orderId: string): string {
  return traceIdOf(orderId).slice(16)
}

export function createSpanId(): string {
  return randomBytes(8).toString('hex')
}
