import { orderIdOf } from '@dealer-esim/contract'
import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { rootSpanIdOf, type Span, traceIdOf } from '@dealer-esim/lib/telemetry/traces.ts'
import { Counter, Gauge, Histogram } from '@platformatic/prom-client'
import { outcomeMessage } from '../attempt-log.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import type { ClaimedEvent } from './claim-deliveries.ts'
import type { Attempt } from './delivery-attempt.ts'
import { isAcknowledged } from './delivery-attempt.ts'

type MetricsDeps = Pick<WebhookDeps, 'metrics'>

/** Metrics for sending events. */
export interface WebhookMetrics {
  /** 'acknowledged', 'status 4xx', 'time-out', … */
  attempts: Counter<'outcome'>
  firstAttemptS: Histogram
  acknowledgedS: Histogram
  /** due: waiting for its attempt; in_flight: request running. */
  queueAgeS: Gauge<'state'>
  inFlight: Gauge
  saveFailures: Counter
}

const LATENCY_BUCKETS_S = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600, 3_600, 86_400]

/** Creates the metrics. Call once per registry. */
export function createWebhookMetrics({ metrics: registry }: MetricsDeps): WebhookMetrics {
  const registers = [registry]
  return {
    attempts: new Counter({
      name: 'dealer_esim_webhook_attempts_total',
      help: 'Attempts to deliver an event, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    firstAttemptS: new Histogram({
      name: 'dealer_esim_webhook_first_attempt_seconds',
      help: 'Time from the recording of an event to its first attempt',
      buckets: LATENCY_BUCKETS_S,
      registers,
    }),
    acknowledgedS: new Histogram({
      name: 'dealer_esim_webhook_acknowledged_seconds',
      help: 'Time from the recording of an event to its acknowledgement, without replays',
      buckets: LATENCY_BUCKETS_S,
      registers,
    }),
    queueAgeS: new Gauge({
      name: 'dealer_esim_webhook_queue_age_seconds',
      help: 'On this node: how long the oldest due event has been waiting, and how long the oldest request has been running',
      labelNames: ['state'],
      registers,
    }),
    inFlight: new Gauge({ name: 'dealer_esim_webhook_flights', help: 'Requests to endpoints in flight', registers }),
    saveFailures: new Counter({
      name: 'dealer_esim_webhook_settle_failures_total',
      help: 'Batches of results that could not be saved; their events will be sent again',
      registers,
    }),
  }
}

/** Records an attempt in metrics, traces and the log. */
export function observeAttempt(
  { log, traces }: Pick<WebhookDeps, 'log' | 'traces'>,
  metrics: WebhookMetrics,
  event: ClaimedEvent,
  attempt: Attempt,
  endedAtMs: number,
): void {
  const { tenantId, notifyId, notifyType, attempts, createdAt, generation } = event
  const { outcome, durationMs, attemptId, startedAt } = attempt
  const acknowledged = isAcknowledged(outcome)
  const recordedMs = createdAt.getTime()
  // Retries and replays are excluded: only the first attempt shows our own latency.
  const isFirst = attempts === 0 && generation === 0
  metrics.attempts.inc({ outcome: outcomeLabel(outcome) })
  if (isFirst) metrics.firstAttemptS.observe((startedAt.getTime() - recordedMs) / 1000)
  if (isFirst && acknowledged) metrics.acknowledgedS.observe((endedAtMs - recordedMs) / 1000)
  traces?.add(attemptSpan(event, attempt, acknowledged, endedAtMs))
  const line = {
    tenantId,
    notifyId,
    notifyType,
    attemptId,
    attempt: attempts + 1,
    durationMs,
    address: outcome.address,
  }
  // The delivery log contains every attempt. A log line for each acknowledged attempt would slow a backlog down by a tenth.
  if (acknowledged) log.debug(line, 'delivery attempt')
  else log.info({ ...line, outcome: outcomeMessage(outcome) }, 'delivery attempt')
}

/** A label with few values. */
function outcomeLabel(outcome: OutboundOutcome): string {
  if (outcome.kind === 'failed') return outcome.phase
  return isAcknowledged(outcome) ? 'acknowledged' : `status ${Math.floor(outcome.status / 100)}xx`
}

/** Creates the span of an attempt, in the trace of the event's order. */
function attemptSpan(event: ClaimedEvent, attempt: Attempt, acknowledged: boolean, endedAt: number): Span {
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
    ...(acknowledged ? {} : { error: outcomeMessage(outcome) }),
  }
}
