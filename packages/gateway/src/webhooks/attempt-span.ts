import { orderIdOf } from '../lib/ids.ts'
import { rootSpanIdOf, type Span, traceIdOf } from '../lib/telemetry/traces.ts'
import type { Attempt } from './attempt.ts'
import { wordsOf } from './attempt-log.ts'
import type { ClaimedEvent } from './claim.ts'

/** Of one attempt to deliver an event, in the trace of its order. */
export function attemptSpan(event: ClaimedEvent, attempt: Attempt, acknowledged: boolean, endedAt: number): Span {
  const { notifyId, notifyType, tenantId, content } = event
  const { outcome, attemptId, durationMs } = attempt
  const orderId = orderIdOf(/"orderNo":"([^"]+)"/.exec(content)?.[1] ?? '')
  return {
    traceId: traceIdOf(orderId ?? notifyId),
    parentSpanId: orderId && rootSpanIdOf(orderId),
    name: `deliver ${notifyType}`,
    kind: 'CLIENT',
    endedAt,
    durationMs,
    attributes: {
      'dealer_esim.tenant_id': tenantId,
      'dealer_esim.notify_id': notifyId,
      'dealer_esim.request_id': attemptId,
      'dealer_esim.attempt': event.attempts + 1,
      'http.response.status_code': outcome.kind === 'answer' ? outcome.status : undefined,
      'server.address': outcome.address,
    },
    ...(acknowledged ? {} : { error: wordsOf(outcome) }),
  }
}
