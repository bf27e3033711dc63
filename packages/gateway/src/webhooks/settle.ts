import { formatTime } from '@dealer-esim/contract'
import { type Columns, NULL, plainArray, unnest, uuidArray } from '../lib/columns.ts'
import type { Db, Tx } from '../lib/db.ts'
import { groupBy } from '../lib/group-by.ts'
import type { Ids } from '../lib/ids.ts'
import type { Attempt, Signer } from './attempt.ts'
import { type LoggedAttempt, logAttempts } from './attempt-log.ts'
import type { ClaimedEvent } from './claim.ts'
import type { DeliveryState } from './delivery-state.ts'
import { type EndpointChange, writeEndpointChange } from './endpoint-change.ts'
import { usePlannedIndexes } from './planner.ts'
import type { NextStep } from './retry.ts'

/** What became of a claimed event. UNSENT: its endpoint went away, or does not want its type, before an attempt. */
export type Settlement = { tenantId: string; event: ClaimedEvent } & (
  | { kind: 'UNSENT' }
  | { kind: 'ATTEMPTED'; url: string; signer: Signer; attempt: Attempt; next: NextStep; endedAt_ms: number }
)

/**
 * Writes results, each only where the lease that it was made under still holds: whoever claimed the event since will
 * write its own. Attempts are logged in any case. Locks deliveries of one tenant per statement, in ascending tenant order.
 */
export async function settle(
  { db, ids }: { db: Db; ids: Ids },
  settlements: readonly Settlement[],
  changes: readonly EndpointChange[],
): Promise<void> {
  const byTenant = groupBy(settlements, ({ tenantId }) => tenantId)
  await db.tx(async (tx) => {
    usePlannedIndexes(tx)
    for (const tenantId of [...byTenant.keys()].sort()) writeResults(tx, tenantId, byTenant.get(tenantId) ?? [])
    logAttempts(tx, settlements.flatMap(loggedOf))
    for (const change of changes) await writeEndpointChange(tx, ids, change)
  })
}

function writeResults(tx: Tx, tenantId: string, settlements: readonly Settlement[]): void {
  const acknowledged = settlements.filter(isAcknowledged)
  const others = settlements.filter((settlement): settlement is Other => !isAcknowledged(settlement))
  if (acknowledged.length > 0) writeAcknowledged(tx, tenantId, acknowledged)
  if (others.length > 0) writeOthers(tx, tenantId, others)
}

type Attempted = Extract<Settlement, { kind: 'ATTEMPTED' }>
type Acknowledged = Attempted & { next: { step: 'ACKNOWLEDGED' } }
type Other = Exclude<Settlement, Attempted> | (Attempted & { next: Exclude<NextStep, { step: 'ACKNOWLEDGED' }> })

function isAcknowledged(settlement: Settlement): settlement is Acknowledged {
  return settlement.kind === 'ATTEMPTED' && settlement.next.step === 'ACKNOWLEDGED'
}

function writeAcknowledged(tx: Tx, tenantId: string, settlements: readonly Acknowledged[]): void {
  tx.send({
    name: 'webhooks-settle-acknowledged',
    text: SETTLE_ACKNOWLEDGED,
    values: [
      tenantId,
      uuidArray(settlements.map(({ event }) => event.notifyId)),
      uuidArray([...new Set(settlements.map(({ event }) => event.leaseToken))]),
    ],
  })
}

// Nearly all results are of this kind: what is acknowledged is not to be delivered any more, and its row goes. Any of the
// tokens will do for each: under a later lease of this node, too, it was acknowledged. The ids come as an array, because a
// join with rows was planned, until the first statistics of a partition, to read all of the tenant's: 70 to 900 ms for
// 264 results.
const SETTLE_ACKNOWLEDGED = `
  delete from deliveries
  where tenant_id = $1 and notify_id = any ($2::uuid[]) and lease_token = any ($3::uuid[])`

function writeOthers(tx: Tx, tenantId: string, settlements: readonly Other[]): void {
  const rows = settlements.map(resultOf)
  tx.send({
    name: 'webhooks-settle',
    text: SETTLE,
    values: [
      tenantId,
      uuidArray(settlements.map(({ event }) => event.notifyId)),
      uuidArray(settlements.map(({ event }) => event.leaseToken)),
      plainArray(rows.map((row) => row.state)),
      plainArray(rows.map((row) => row.due)),
      plainArray(rows.map((row) => row.attempts)),
    ],
  })
}

const RESULTS: Columns = {
  notify_id: 'uuid',
  lease_token: 'uuid',
  delivery_state: 'text',
  due_at: 'timestamptz',
  attempts: 'smallint',
}

// The ids twice: the array finds the rows (see above).
const SETTLE = `
  update deliveries d
  set delivery_state = r.delivery_state, due_at = r.due_at, attempts = r.attempts,
      lease_token = null, lease_until = null
  from ${unnest(2, RESULTS, 'r')}
  where d.tenant_id = $1 and d.notify_id = any ($2::uuid[])
    and d.notify_id = r.notify_id and d.lease_token = r.lease_token`

interface DeliveryResult {
  state: DeliveryState
  due: string
  attempts: number
}

function resultOf(settlement: Other): DeliveryResult {
  const { event } = settlement
  if (settlement.kind === 'UNSENT') return { state: 'UNSENT', due: NULL, attempts: event.attempts }
  const attempts = event.attempts + 1
  const { next } = settlement
  switch (next.step) {
    case 'DEAD':
      return { state: 'DEAD', due: NULL, attempts }
    case 'RETRY':
      return { state: 'PENDING', due: formatTime(next.due_ms), attempts }
    default:
      return next satisfies never
  }
}

function loggedOf(settlement: Settlement): LoggedAttempt[] {
  if (settlement.kind === 'UNSENT') return []
  const { tenantId, event, url, attempt, signer } = settlement
  const { notifyId, notifyType } = event
  return [{ tenantId, notifyId, notifyType, attemptNo: event.attempts + 1, url, attempt, signer }]
}
