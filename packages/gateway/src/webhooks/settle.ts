import { formatTime } from '@dealer-esim/contract'
import { groupBy } from '../lib/batch.ts'
import type { Ids } from '../lib/ids.ts'
import { type Columns, NULL, plainArray, unnest, uuidArray } from '../lib/postgres/columns.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { groupAlike, isAlike, LOG, type LoggedAttempt, logAttempts, logValues } from './attempt-log.ts'
import { byTenant, type Hold, leaveLanes } from './claim.ts'
import type { DeliveryState } from './delivery-state.ts'
import { type EndpointChange, writeEndpointChange } from './endpoint-change.ts'
import { usePlannedIndexes } from './planner.ts'
import type { NextStep } from './retry.ts'

/** What became of a claimed event. */
export interface Settlement {
  tenantId: string
  notifyId: string
  /** As they were claimed. */
  turn: number
  attempts: number
  /** undefined: its endpoint went away, or does not want its type, before an attempt. */
  logged: LoggedAttempt | undefined
  next: NextStep | { step: 'UNSENT' }
}

/** What is written together. */
export interface Settled {
  settlements: readonly Settlement[]
  changes: readonly EndpointChange[]
  /** Lanes that nothing is in hand of any more. */
  left: readonly Hold[]
}

/**
 * Writes results, each for the turn that it was claimed in: an event that was resent or replayed since stays due. Locks
 * deliveries of one tenant per statement, in ascending tenant order, then endpoints and lanes in that order, too.
 */
export async function settle(
  { db, ids }: { db: Db; ids: Ids },
  nodeId: string,
  { settlements, changes, left }: Settled,
): Promise<void> {
  const ofTenants = groupBy(settlements, ({ tenantId }) => tenantId)
  await db.tx(async (tx) => {
    usePlannedIndexes(tx)
    for (const tenantId of [...ofTenants.keys()].sort()) writeResults(tx, tenantId, ofTenants.get(tenantId) ?? [])
    for (const change of changes.toSorted(byTenant)) await writeEndpointChange(tx, ids, change)
    leaveLanes(tx, nodeId, left)
  })
}

function writeResults(tx: Tx, tenantId: string, settlements: readonly Settlement[]): void {
  const others: Other[] = []
  const acknowledged: Acknowledged[] = []
  for (const settlement of settlements) {
    if (isAcknowledged(settlement)) acknowledged.push(settlement)
    else others.push(settlement as Other)
  }
  if (acknowledged.length > 0) writeAcknowledged(tx, tenantId, acknowledged)
  if (others.length > 0) writeOthers(tx, tenantId, others)
}

type Acknowledged = Settlement & { logged: LoggedAttempt; next: { step: 'ACKNOWLEDGED' } }
type Other = Settlement & { next: Exclude<Settlement['next'], { step: 'ACKNOWLEDGED' }> }

function isAcknowledged(settlement: Settlement): settlement is Acknowledged {
  return settlement.next.step === 'ACKNOWLEDGED'
}

function writeAcknowledged(tx: Tx, tenantId: string, settlements: readonly Acknowledged[]): void {
  for (const alike of groupAlike(settlements, areAlike)) {
    const values = [tenantId, ...logValues(alike.map(({ logged }) => logged)), alike[0]!.turn]
    tx.send({ name: 'webhooks-settle-acknowledged', text: SETTLE_ACKNOWLEDGED, values })
  }
}

function areAlike(one: Acknowledged, other: Acknowledged): boolean {
  return one.turn === other.turn && isAlike(one.logged, other.logged)
}

// Nearly all results are of this kind: what is acknowledged is not to be delivered any more, and its row goes, whoever
// holds the lane by now. The ids come as an array, because a join with rows was planned, until the first statistics of a
// partition, to read all of the tenant's: 70 to 900 ms for 264 results.
const SETTLE_ACKNOWLEDGED = `
  with acknowledged as (
    delete from deliveries where tenant_id = $1 and notify_id = any ($6::uuid[]) and generation = $13)
  ${LOG}`

function writeOthers(tx: Tx, tenantId: string, settlements: readonly Other[]): void {
  const rows = settlements.map(resultOf)
  tx.send({
    name: 'webhooks-settle',
    text: SETTLE,
    values: [
      tenantId,
      uuidArray(settlements.map(({ notifyId }) => notifyId)),
      plainArray(settlements.map(({ turn }) => turn)),
      plainArray(settlements.map(({ attempts }) => attempts)),
      plainArray(rows.map((row) => row.state)),
      plainArray(rows.map((row) => row.due)),
    ],
  })
  const logged = settlements.flatMap((settlement) => settlement.logged ?? [])
  logAttempts(tx, tenantId, logged)
}

const RESULTS: Columns = {
  notify_id: 'uuid',
  generation: 'bigint',
  attempts: 'smallint',
  delivery_state: 'text',
  due_at: 'timestamptz',
}

// The ids twice: the array finds the rows (see above). Only of what is as it was claimed: where two nodes attempted one
// event, because the lane of the first was taken from it, the first result counts.
const SETTLE = `
  update deliveries d
  set delivery_state = r.delivery_state, due_at = r.due_at,
      attempts = d.attempts + (r.delivery_state <> 'UNSENT')::integer
  from ${unnest(2, RESULTS, 'r')}
  where d.tenant_id = $1 and d.notify_id = any ($2::uuid[])
    and d.notify_id = r.notify_id and d.generation = r.generation and d.attempts = r.attempts`

interface DeliveryResult {
  state: DeliveryState
  due: string
}

function resultOf({ next }: Other): DeliveryResult {
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
