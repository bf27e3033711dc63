import { setTimeout as delay } from 'node:timers/promises'
import { formatTime } from '@dealer-esim/contract'
import { groupBy } from '@dealer-esim/lib/batch.ts'
import { type Columns, NULL, plainArray, unnest, uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { CommitUnknown, violatedKey } from '@dealer-esim/lib/postgres/errors.ts'
import { groupAlike, isAlike, LOG, type LoggedAttempt, logAttempts, logValues } from '../attempt-log.ts'
import type { DeliveryState } from '../delivery-state.ts'
import { type EndpointChange, saveEndpointChange } from '../endpoint/endpoint-health.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import { RESULTS_GATHER_MS, RESULTS_MAX, RESULTS_TO_GATHER } from '../webhook-limits.ts'
import type { HeldQueue } from './claim-deliveries.ts'
import { byTenant, releaseQueues, usePlanHints } from './claim-deliveries.ts'
import type { NextStep } from './delivery-attempt.ts'
import type { WebhookMetrics } from './sending-telemetry.ts'

/** The outcome of a claimed event. */
export interface EventResult {
  tenantId: string
  notifyId: string
  /** The generation that was claimed. */
  generation: number
  attempts: number
  /**
   * undefined: there was no attempt, because the endpoint is not subscribed to the event, or its format does not include
   * the event.
   */
  logged: LoggedAttempt | undefined
  next: NextStep | { step: 'UNSENT' }
  change?: EndpointChange
}

/** Saves results in batches: results that arrive during a transaction go into the next one. */
export interface ResultWriter {
  /** The caller limits how many results are waiting; `saved` reports the end of each. */
  add(result: EventResult): void
}

export interface ResultWriterOptions {
  nodeId: string
  /** Queues with no claimed events other than these, which are released in the same transaction. */
  finishedQueues(results: readonly EventResult[]): HeldQueue[]
  /** Called for results that were saved, and for results that were abandoned, whose events will be claimed and sent again. */
  saved(results: readonly EventResult[]): void
}

/** An acknowledgement must survive a short outage of the database. */
const RETRY_PAUSES_MS = [100, 500, 2_000, 5_000]

export function resultWriter(
  deps: Pick<WebhookDeps, 'db' | 'ids' | 'cipher' | 'log'>,
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
      // Fewer, larger transactions cost this process and the database a third less. A full batch does not need to wait.
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
        // These attempts are already in the log, so the transaction whose commit was not confirmed did commit.
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
      deps.log.error({ err: error, tenantId, notifyId }, 'a delivery result was lost; the event will be sent again')
    }
  }

  return {
    add(result) {
      waiting.push(result)
      if (writing) return
      writing = true
      setImmediate(writeAll) // batches all results of this event-loop turn
    },
  }
}

/**
 * Saves results and releases finished queues in one transaction. A result counts only for the generation that was claimed:
 * an event that has been resent or replayed since stays due. Locks the deliveries of one tenant per statement, in ascending
 * tenant order, then endpoints in that order, then endpoint queues in that order.
 */
export async function saveResults(
  { db, ids, cipher }: Pick<WebhookDeps, 'db' | 'ids' | 'cipher'>,
  nodeId: string,
  results: readonly EventResult[],
  finished: readonly HeldQueue[],
): Promise<void> {
  const byTenantId = groupBy(results, ({ tenantId }) => tenantId)
  const changes = results.flatMap(({ change }) => change ?? [])
  await db.tx(async (tx) => {
    usePlanHints(tx)
    for (const tenantId of [...byTenantId.keys()].sort()) writeResults(tx, tenantId, byTenantId.get(tenantId) ?? [])
    for (const change of changes.toSorted(byTenant)) await saveEndpointChange(tx, { ids, cipher }, change)
    releaseQueues(tx, nodeId, finished)
  })
}

function writeResults(tx: Tx, tenantId: string, results: readonly EventResult[]): void {
  const others: Other[] = []
  const acknowledged: Acknowledged[] = []
  for (const result of results) {
    if (isAcknowledged(result)) acknowledged.push(result)
    else others.push(result as Other)
  }
  if (acknowledged.length > 0) writeAcknowledged(tx, tenantId, acknowledged)
  if (others.length > 0) writeOthers(tx, tenantId, others)
}

type Acknowledged = EventResult & { logged: LoggedAttempt; next: { step: 'ACKNOWLEDGED' } }
type Other = EventResult & { next: Exclude<EventResult['next'], { step: 'ACKNOWLEDGED' }> }

function isAcknowledged(result: EventResult): result is Acknowledged {
  return result.next.step === 'ACKNOWLEDGED'
}

function writeAcknowledged(tx: Tx, tenantId: string, results: readonly Acknowledged[]): void {
  for (const alike of groupAlike(results, areAlike)) {
    const values = [tenantId, ...logValues(alike.map(({ logged }) => logged)), alike[0]!.generation]
    tx.send({ name: 'webhooks-acknowledge', text: ACKNOWLEDGE, values })
  }
}

function areAlike(one: Acknowledged, other: Acknowledged): boolean {
  return one.generation === other.generation && isAlike(one.logged, other.logged)
}

// Nearly all results are acknowledgements. They delete the delivery, even if another node now holds the queue. The ids are
// an array: until a partition has statistics, a join with rows was planned to read all deliveries of the tenant, which took
// 70 to 900 ms for 264 results.
const ACKNOWLEDGE = `
  with acknowledged as (
    delete from deliveries where tenant_id = $1 and notify_id = any ($6::uuid[]) and generation = $14)
  ${LOG}`

function writeOthers(tx: Tx, tenantId: string, results: readonly Other[]): void {
  const rows = results.map(newStateOf)
  tx.send({
    name: 'webhooks-save',
    text: SAVE,
    values: [
      tenantId,
      uuidArray(results.map(({ notifyId }) => notifyId)),
      plainArray(results.map(({ generation }) => generation)),
      plainArray(results.map(({ attempts }) => attempts)),
      plainArray(rows.map((row) => row.state)),
      plainArray(rows.map((row) => row.due)),
    ],
  })
  const logged = results.flatMap((result) => result.logged ?? [])
  logAttempts(tx, tenantId, logged)
}

const RESULTS: Columns = {
  notify_id: 'uuid',
  generation: 'bigint',
  attempts: 'smallint',
  delivery_state: 'text',
  due_at: 'timestamptz',
}

// The ids appear twice: the array finds the rows (see above). Only rows that are still as claimed are updated: if two nodes
// attempted an event because the first node's lease had expired, the first result counts.
const SAVE = `
  update deliveries d
  set delivery_state = r.delivery_state, due_at = r.due_at,
      attempts = d.attempts + (r.delivery_state <> 'UNSENT')::integer
  from ${unnest(2, RESULTS, 'r')}
  where d.tenant_id = $1 and d.notify_id = any ($2::uuid[])
    and d.notify_id = r.notify_id and d.generation = r.generation and d.attempts = r.attempts`

interface NewState {
  state: DeliveryState
  due: string
}

function newStateOf({ next }: Other): NewState {
  switch (next.step) {
    case 'UNSENT':
      return { state: 'UNSENT', due: NULL }
    case 'DEAD':
      return { state: 'DEAD', due: NULL }
    case 'RETRY':
      return { state: 'PENDING', due: formatTime(next.dueMs) }
    default:
      return next satisfies never
  }
}
