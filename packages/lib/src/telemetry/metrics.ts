import { Counter, collectDefaultMetrics, Gauge, Registry } from '@platformatic/prom-client'

export type Metrics = Registry

/** The metrics registry of this process. Each module declares its own metrics on it. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** Metrics of the background loops: passes, failures, and the time of the last success. */
export interface LoopMetrics {
  started(loop: string, pollMs: number): void
  passed(loop: string): void
  failed(loop: string, failures: number): void
}

export function createLoopMetrics(registry: Registry): LoopMetrics {
  const registers = [registry]
  const labelNames = ['loop'] as const
  const passes = new Counter({
    name: 'dealer_esim_loop_passes_total',
    help: 'Passes of a background loop, by outcome: ok or failed',
    labelNames: ['loop', 'outcome'],
    registers,
  })
  const lastPass = new Gauge({
    name: 'dealer_esim_loop_last_pass_timestamp_seconds',
    help: 'When the loop last completed a pass; before the first, when it was started',
    labelNames,
    registers,
  })
  const poll = new Gauge({
    name: 'dealer_esim_loop_poll_seconds',
    help: 'How long the loop waits between passes when it is idle',
    labelNames,
    registers,
  })
  const failures = new Gauge({
    name: 'dealer_esim_loop_failures_in_a_row',
    help: 'Failed passes since the last successful one',
    labelNames,
    registers,
  })
  return {
    started(loop, pollMs) {
      poll.set({ loop }, pollMs / 1000)
      lastPass.set({ loop }, Date.now() / 1000)
      failures.set({ loop }, 0)
    },
    passed(loop) {
      passes.inc({ loop, outcome: 'ok' })
      lastPass.set({ loop }, Date.now() / 1000)
      failures.set({ loop }, 0)
    },
    failed(loop, inARow) {
      passes.inc({ loop, outcome: 'failed' })
      failures.set({ loop }, inARow)
    },
  }
}
