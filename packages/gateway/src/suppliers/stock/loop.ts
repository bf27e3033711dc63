import { type Loop, runLoop } from '../../lib/process/lifecycle.ts'
import type { Log } from '../../lib/telemetry/log.ts'
import type { LoopMetrics } from '../../lib/telemetry/metrics.ts'
import type { Suppliers } from '../registry.ts'

const POLL_MS = 60_000

/** Takes expired codes off the counters. Being late costs an early answer; an expired code is never delivered. */
export function stockLoop(deps: { suppliers: Pick<Suppliers, 'all'>; log: Log; loops?: LoopMetrics }): Loop {
  async function pass(): Promise<boolean> {
    let more = false
    for (const { supplier } of deps.suppliers.all()) {
      try {
        more = (await supplier.tidy?.()) || more
      } catch (error) {
        deps.log.error({ err: error, supplier: supplier.name }, 'its expired codes could not be taken off')
      }
    }
    return more
  }
  return runLoop({ name: 'stock', log: deps.log, loops: deps.loops, pollMs: POLL_MS, pass })
}
