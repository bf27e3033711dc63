import type { Answer } from '../http/answer.ts'
import { orderIdOf } from '../lib/ids.ts'
import { rootSpanIdOf, type Span, traceIdOf } from '../lib/telemetry/traces.ts'

interface Request {
  requestId: string | undefined
  tenantId: string | undefined
  address: string
  operation: string
}

/**
 * Of one request. Its RT-RequestID names the trace; a request that placed an order begins the order's own trace, which
 * goes on with suppliers and events. undefined: it came without a RequestID to know it by.
 */
export function requestSpan(request: Request, answer: Answer, endedAt: number, durationMs: number): Span | undefined {
  const { requestId, tenantId, address, operation } = request
  if (requestId === undefined) return undefined
  const orderNo = operation === 'esim/order' ? /"orderNo":"([^"]+)"/.exec(answer.body)?.[1] : undefined
  const isReplay = answer.headers['Idempotent-Replayed'] !== undefined
  const orderId = orderNo === undefined || isReplay ? undefined : orderIdOf(orderNo)
  return {
    ...(orderId === undefined
      ? { traceId: traceIdOf(requestId) }
      : { traceId: traceIdOf(orderId), spanId: rootSpanIdOf(orderId) }),
    name: operation === 'none' ? 'request' : operation,
    kind: 'SERVER',
    endedAt,
    durationMs,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': answer.http,
      'client.address': address,
      'dealer_esim.code': answer.code,
      'dealer_esim.request_id': requestId,
      'dealer_esim.tenant_id': tenantId,
      'dealer_esim.order_no': orderNo,
    },
    ...(answer.http >= 500 ? { error: answer.code } : {}),
  }
}
