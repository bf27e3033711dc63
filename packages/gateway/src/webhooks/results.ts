import { setTimeout as delay } from 'node:timers/promises'
import { CommitUnknown, violatedKey } from '../lib/postgres/errors.ts'
import type { Hold } from './claim.ts'
import type { WebhookDeps } from './deps.ts'
import type { EndpointChange } from './endpoint-change.ts'
import { RESULTS_GATHER_MS, RESULTS_MANY, RESULTS_MAX } from './limits.ts'
import type { WebhookMetrics } from './metrics.ts'
import { type Settlement, settle } from './settle.ts'

export interface Result {
  settlement: Settlement
  change?: EndpointChange
}

/** Writes results, those that come while others are being written together. */
export interface ResultWriter {
  /** Nobody waits for a single one: the caller bounds how many there are, and is told when they are written. */
  add(result: Result): void
}

/** A database that is away for a moment must not cost what receivers have acknowledged. */
const PAUSES_MS = [100, 500, 2_000, 5_000]

export interface ResultWriterOptions {
  /** Who holds the lanes. */
  nodeId: string
  /** Lanes that nothing is in hand of when these are written. */
  leftBy(results: readonly Result[]): Hold[]
  /** Told of results that are written, or given up: the events are claimed, and sent, again. */
  done(results: readonly Result[]): void
}

export function resultWriter(
  deps: Pick<WebhookDeps, 'db' | 'ids' | 'log'>,
  metrics: WebhookMetrics,
  { nodeId, leftBy, done }: ResultWriterOptions,
): ResultWriter {
  const waiting: Result[] = []
  let writing = false

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const results = waiting.splice(0, RESULTS_MAX)
      await write(results)
      done(results)
      // Fewer, larger transactions cost a third less, here and in the database. What fills one has gathered.
      if (results.length >= RESULTS_MANY && waiting.length < RESULTS_MAX) await delay(RESULTS_GATHER_MS)
    }
    writing = false
  }

  /** Never rejects. */
  async function write(results: readonly Result[]): Promise<void> {
    const settled = {
      settlements: results.map(({ settlement }) => settlement),
      changes: results.flatMap(({ change }) => change ?? []),
      left: leftBy(results),
    }
    let inDoubt = false
    for (const pauseMs of [...PAUSES_MS, undefined]) {
      try {
        return await settle(deps, nodeId, settled)
      } catch (error) {
        // The try before it was committed, though nobody said so: its attempts are in the log.
        if (inDoubt && violatedKey(error)?.constraint.startsWith('delivery_attempts')) return
        inDoubt ||= error instanceof CommitUnknown
        if (pauseMs === undefined) {
          giveUp(settled.settlements, error)
          return
        }
        const facts = { err: error, results: results.length, pauseMs }
        deps.log.warn(facts, 'results of deliveries could not be written yet')
        await delay(pauseMs)
      }
    }
  }

  function giveUp(settlements: readonly Settlement[], error: unknown): void {
    metrics.settleFailures.inc()
    for (const { tenantId, notifyId } of settlements) {
      deps.log.error({ err: error, tenantId, notifyId }, 'a result was lost: the event is sent again')
    }
  }

  return {
    add(result) {
      waiting.push(result)
      if (writing) return
      writing = true
      setImmediate(writeAll) // what the same turn of the event loop brings goes together
    },
  }
}
