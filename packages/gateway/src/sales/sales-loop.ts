import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { LoopMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { updateSales } from './update-sales.ts'

interface SalesLoopDeps {
  db: Db
  clock: Pick<Clock, 'monotonic'>
  log: Log
  loops?: LoopMetrics
}

const POLL_MS = 5_000
/**
 * After a pass of one second the loop rests for half a minute, so sums use at most 3 % of one connection, however much is sold.
 */
const REST_FACTOR = 30

/** Keeps the daily sales up to date. The loop runs on every node, but only one node at a time works. */
export function salesLoop(deps: SalesLoopDeps): Running {
  let restsUntilMs = 0
  return runLoop(deps, 'daily sales', POLL_MS, async (signal) => {
    const startedMs = deps.clock.monotonic()
    if (startedMs < restsUntilMs) return false
    await updateSales(deps.db, signal)
    const endedMs = deps.clock.monotonic()
    restsUntilMs = endedMs + REST_FACTOR * (endedMs - startedMs)
  })
}
