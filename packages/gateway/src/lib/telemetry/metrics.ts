import { Counter, collectDefaultMetrics, Gauge, Registry } from '@platformatic/prom-client'

export type Metrics = Registry

/** The registry of this process. Each room declares its own figures on it, where it measures them. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** Tells figures of every loop of this process: which passes, how often, and when it last went well. */
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
    help: 'When a pass of the loop last went well; at first, when the loop was started',
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
    help: 'Passes that have failed since the last one that went well',
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
