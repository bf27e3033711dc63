import { orderNoOf } from '@dealer-esim/contract'
import { rootSpanIdOf, type Span, traceIdOf } from '../lib/telemetry/traces.ts'

/** The order to whose trace a request belongs. */
export interface OrderTrace {
  orderId: string
  /** Position of the request in that trace: it placed the order, or began an action on one of its eSIMs. */
  part: 'begins' | 'continues'
  /** Present for a request that began an action. */
  actionId?: string
}

export interface TracedRequest {
  operation: string
  /** The caller's; undefined: it sent none. */
  requestId: string | undefined
  tenantId: string | undefined
  address: string
  code: string
  httpStatus: number
  endedAt: number
  durationMs: number
  /** undefined: it placed and began nothing. Then its RequestID names the trace. */
  order: OrderTrace | undefined
  /** The order that the answer names, where that is not `order`. */
  answeredOrderNo?: string | undefined
}

/**
 * The span of one request. A request that placed an order or a top-up starts its own trace, which suppliers and events
 * continue, and so do actions on its eSIMs.
 * @returns undefined for a request that has neither a RequestID nor an order
 */
export function requestSpan(request: TracedRequest): Span | undefined {
  const { requestId, tenantId, address, operation, order, code, httpStatus, endedAt, durationMs } = request
  const trace = order === undefined ? ownTrace(requestId) : orderTrace(order)
  if (trace === undefined) return undefined
  return {
    ...trace,
    name: operation,
    kind: 'SERVER',
    endedAt,
    durationMs,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': httpStatus,
      'client.address': address,
      'dealer_esim.code': code,
      'dealer_esim.request_id': requestId,
      'dealer_esim.tenant_id': tenantId,
      'dealer_esim.order_no': order ? orderNoOf(order.orderId) : request.answeredOrderNo,
      'dealer_esim.action_no': order?.actionId && orderNoOf(order.actionId),
    },
    ...(httpStatus >= 500 ? { error: code } : {}),
  }
}

type TracePosition = Pick<Span, 'traceId' | 'spanId' | 'parentSpanId'>

function ownTrace(requestId: string | undefined): TracePosition | undefined {
  return requestId === undefined ? undefined : { traceId: traceIdOf(requestId) }
}

function orderTrace({ orderId, part }: OrderTrace): TracePosition {
  return { traceId: traceIdOf(orderId), [part === 'begins' ? 'spanId' : 'parentSpanId']: rootSpanIdOf(orderId) }
}
