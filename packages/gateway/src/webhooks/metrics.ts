import { Counter, Gauge, Histogram } from '@platformatic/prom-client'
import type { OutboundOutcome } from '../lib/outbound/outbound.ts'
import type { WebhookDeps } from './deps.ts'
import { isAcknowledged } from './retry.ts'

type MetricsDeps = Pick<WebhookDeps, 'metrics'>

/** What is measured of sending events. */
export interface WebhookMetrics {
  /** 'acknowledged', 'status 4xx', 'time-out', … */
  attempts: Counter<'outcome'>
  firstAttemptS: Histogram
  acknowledgedS: Histogram
  /** due: waits for its attempt; in_flight: under way. */
  queueAgeS: Gauge<'state'>
  flights: Gauge
  settleFailures: Counter
}

const LATENCY_BUCKETS_S = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600, 3_600, 86_400]

/** Registers them; a registry has them once. */
export function webhookMetrics({ metrics: registry }: MetricsDeps): WebhookMetrics {
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
      help: 'From the recording of an event to its first attempt',
      buckets: LATENCY_BUCKETS_S,
      registers,
    }),
    acknowledgedS: new Histogram({
      name: 'dealer_esim_webhook_acknowledged_seconds',
      help: 'From the recording of an event to its acknowledgement, replays left out',
      buckets: LATENCY_BUCKETS_S,
      registers,
    }),
    queueAgeS: new Gauge({
      name: 'dealer_esim_webhook_queue_age_seconds',
      help: 'On this node: how long the event that waits longest has been due, and the longest attempt under way',
      labelNames: ['state'],
      registers,
    }),
    flights: new Gauge({ name: 'dealer_esim_webhook_flights', help: 'Requests to endpoints under way', registers }),
    settleFailures: new Counter({
      name: 'dealer_esim_webhook_settle_failures_total',
      help: 'Batches of results that could not be written: their events are sent again',
      registers,
    }),
  }
}

/** Few enough to be a label. */
export function labelOf(outcome: OutboundOutcome): string {
  if (outcome.kind === 'failed') return outcome.phase
  return isAcknowledged(outcome) ? 'acknowledged' : `status ${Math.floor(outcome.status / 100)}xx`
}
