import { Counter, Histogram } from '@platformatic/prom-client'
import type { Metrics } from '../lib/telemetry/metrics.ts'

export interface RequestMetrics {
  observe(operation: string, code: string, durationMs: number): void
}

/** Counts requests by operation and code, and measures their duration. */
export function requestMetrics(metrics: Metrics): RequestMetrics {
  const requests = new Counter({
    name: 'dealer_esim_requests_total',
    help: 'Requests to the dealer API, by operation and code',
    labelNames: ['operation', 'code'],
    registers: [metrics],
  })
  const durations = new Histogram({
    name: 'dealer_esim_request_duration_seconds',
    help: 'Time from the headers of a request to its answer',
    labelNames: ['operation'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  })
  return {
    observe(operation, code, durationMs) {
      requests.inc({ operation, code })
      durations.observe({ operation }, durationMs / 1000)
    },
  }
}
