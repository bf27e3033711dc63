import { Counter, Histogram, type Registry } from '@platformatic/prom-client'

export interface SupplierMetrics {
  /** Counts the outcomes of one call's attempts. */
  called(supplier: string, operation: string, outcomes: readonly string[], durationMs: number): void
}

export function supplierMetrics(registry: Registry): SupplierMetrics {
  const registers = [registry]
  const attempts = new Counter({
    name: 'dealer_esim_supplier_attempts_total',
    help: 'Attempts at suppliers, one per eSIM, by operation and outcome: delivered, refused, retry or unknown',
    labelNames: ['supplier', 'operation', 'outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'dealer_esim_supplier_call_duration_seconds',
    help: 'How long a call to a supplier took; one call may carry many attempts',
    labelNames: ['supplier', 'operation'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  })
  return {
    called(supplier, operation, outcomes, durationMs) {
      for (const outcome of outcomes) attempts.inc({ supplier, operation, outcome })
      durations.observe({ supplier, operation }, durationMs / 1000)
    },
  }
}
