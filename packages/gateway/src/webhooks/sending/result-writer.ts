import { setTimeout as delay } from 'node:timers/promises'
import { CommitUnknown, violatedKey } from '../../lib/postgres/errors.ts'
import type { WebhookDeps } from '../deps.ts'
import { RESULTS_GATHER_MS, RESULTS_MAX, RESULTS_TO_GATHER } from '../limits.ts'
import type { HeldQueue } from './claim.ts'
import { type EventResult, saveResults } from './save-results.ts'
import type { WebhookMetrics } from './telemetry.ts'

/** Saves results in batches: those that arrive during a transaction go into the next one. */
export interface ResultWriter {
  /** The caller bounds how many results are waiting; `saved` reports the end of each. */
  add(result: EventResult): void
}

export interface ResultWriterOptions {
  nodeId: string
  /** Queues that have no other claimed events than these: they are released in the same transaction. */
  finishedQueues(results: readonly EventResult[]): HeldQueue[]
  /** Called for results that were saved, and for those given up, whose events are claimed and sent again. */
  saved(results: readonly EventResult[]): void
}

/** An acknowledgement must survive a short outage of the database. */
const RETRY_PAUSES_MS = [100, 500, 2_000, 5_000]

export function resultWriter(
  deps: Pick<WebhookDeps, 'db' | 'ids' | 'log'>,
  metrics: WebhookMetrics,
  { nodeId, finishedQueues, saved }: ResultWriterOptions,
): ResultWriter {
  const waiting: EventResult[] = []
  let writing = false

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const results = waiting.splice(0, RESULTS_MAX)
      await write(results)
      saved(results)
      // Fewer, larger transactions cost a third less, here and in the database. A full batch need not wait.
      if (results.length >= RESULTS_TO_GATHER && waiting.length < RESULTS_MAX) await delay(RESULTS_GATHER_MS)
    }
    writing = false
  }

  /** Never rejects. */
  async function write(results: readonly EventResult[]): Promise<void> {
    const finished = finishedQueues(results)
    let commitUnknown = false
    for (const pauseMs of [...RETRY_PAUSES_MS, undefined]) {
      try {
        return await saveResults(deps, nodeId, results, finished)
      } catch (error) {
        // The attempts are in the log already, so the try whose commit was not confirmed did commit.
        if (commitUnknown && violatedKey(error)?.constraint.startsWith('delivery_attempts')) return
        commitUnknown ||= error instanceof CommitUnknown
        if (pauseMs === undefined) {
          giveUp(results, error)
          return
        }
        deps.log.warn(
          { err: error, results: results.length, pauseMs },
          'delivery results could not be saved; trying again',
        )
        await delay(pauseMs)
      }
    }
  }

  function giveUp(results: readonly EventResult[], error: unknown): void {
    metrics.saveFailures.inc()
    for (const { tenantId, notifyId } of results) {
      deps.log.error({ err: error, tenantId, notifyId }, 'a delivery result was lost; the event is sent again')
    }
  }

  return {
    add(result) {
      waiting.push(result)
      if (writing) return
      writing = true
      setImmediate(writeAll) // batches all results of this turn of the event loop
    },
  }
}
