import { setTimeout as delay } from 'node:timers/promises'
import { batcher } from '../lib/batch.ts'
import type { WebhookDeps } from './deps.ts'
import { HELD_MOST, RESULTS_GATHER_MS, RESULTS_MANY, RESULTS_MOST } from './limits.ts'
import type { WebhookMetrics } from './metrics.ts'
import { type EndpointChange, type Settlement, settle } from './settle.ts'

export interface Result {
  settlement: Settlement
  change?: EndpointChange
}

/** Writes results, those that come while others are being written together. */
export interface ResultWriter {
  /** Never rejects: a result that cannot be written is lost, its lease ends, and the event is sent again. */
  add(result: Result): Promise<void>
}

/** A database that is away for a moment must not cost what receivers have acknowledged. */
const PAUSES_MS = [100, 500, 2_000, 5_000]

export function resultWriter(deps: Pick<WebhookDeps, 'db' | 'ids' | 'log'>, metrics: WebhookMetrics): ResultWriter {
  const writes = batcher<Result, void>({
    async run(results) {
      const settlements = results.map((result) => result.settlement)
      const changes = results.flatMap(({ change }) => (change ? [change] : []))
      for (const pause_ms of [...PAUSES_MS, undefined]) {
        try {
          await settle(deps, settlements, changes)
          break
        } catch (error) {
          if (pause_ms === undefined) throw error
          deps.log.warn(
            { err: error, results: results.length, pause_ms },
            'results of deliveries could not be written yet',
          )
          await delay(pause_ms)
        }
      }
      // Fewer, larger transactions cost a third less, here and in the database. Nobody waits for a result.
      if (results.length >= RESULTS_MANY) await delay(RESULTS_GATHER_MS)
      return results.map(() => undefined)
    },
    most: RESULTS_MOST,
    lanes: 1,
    mostWaiting: HELD_MOST,
    full: () => new Error('too many results wait'),
  })
  return {
    async add(result) {
      try {
        await writes.add(result)
      } catch (error) {
        metrics.settleFailures.inc()
        const { tenantId, event } = result.settlement
        deps.log.error({ err: error, tenantId, notifyId: event.notifyId }, 'a result was lost: the event is sent again')
      }
    },
  }
}
