import type { EventType } from '@dealer-esim/contract'
import { DecryptionFailed } from '../lib/crypto.ts'
import { LOWEST_UUID } from '../lib/ids.ts'
import { uuidArray } from '../lib/postgres/columns.ts'
import type { Db, Statement, Tx } from '../lib/postgres/db.ts'
import { loadTenant, type Tenant } from '../tenants/load.ts'
import type { Notification } from './attempt.ts'
import type { WebhookDeps } from './deps.ts'
import { type Endpoint, loadEndpoint } from './endpoint.ts'
import { LEASE_MS } from './limits.ts'
import { usePlannedIndexes } from './planner.ts'

export interface ClaimedEvent extends Notification {
  tenantId: string
  notifyType: EventType
  /** Made before, since it was recorded or last replayed. */
  attempts: number
  /** 0 until it is resent or replayed, and greater each time: what becomes of this attempt is this turn's. */
  turn: number
}

/** A place in the order in which a tenant's events come due. */
export interface Position {
  dueS: number
  notifyId: string
}

export interface Wanted {
  tenantId: string
  most: number
  /** Only what comes behind it; undefined: from the first that is due. */
  behind: Position | undefined
  /** Ids that are left out, because this node has them in hand. */
  except: readonly string[]
}

export interface Claim extends Setting {
  tenantId: string
  /** In the order in which they came due. */
  events: ClaimedEvent[]
  /** Of the last of them. */
  last: Position | undefined
  /** Until when the lane is this node's, by the database's clock; undefined: it is another one's. */
  heldUntilMs: number | undefined
}

/** Where a tenant's events go, and what signs them. */
export interface Setting {
  /** undefined: none is set. */
  endpoint: Endpoint | undefined
  signer: Tenant | undefined
}

type ClaimDeps = Pick<WebhookDeps, 'db' | 'cipher' | 'log'>

/**
 * Takes the lanes of some tenants for this node, or holds them longer, and then reads what is due there and what is needed
 * to send it; one round trip. From a lane that another node holds nothing comes. Locks lanes in ascending tenant order.
 */
export async function claimEvents(
  deps: ClaimDeps,
  nodeId: string,
  wanted: readonly Wanted[],
  nowMs: number,
): Promise<Claim[]> {
  const claims = await deps.db.tx(async (tx) => {
    usePlannedIndexes(tx)
    tx.send(NOT_WAITING_FOR_THE_DISK)
    return Promise.all(wanted.toSorted(byTenant).map((one) => claimOne(tx, deps, nodeId, one, nowMs)))
  })
  return wanted.map(({ tenantId }) => claims.find((claim) => claim.tenantId === tenantId)!)
}

/** The order in which rows of several tenants are locked. */
export function byTenant(one: { tenantId: string }, other: { tenantId: string }): number {
  return one.tenantId < other.tenantId ? -1 : 1
}

/** A lane that a crash of the database forgets is taken again: nothing is lost, and at worst something is sent twice. */
const NOT_WAITING_FOR_THE_DISK: Statement = {
  name: 'webhooks-claim-commit',
  text: 'set local synchronous_commit = off',
}

async function claimOne(
  tx: Tx,
  deps: ClaimDeps,
  nodeId: string,
  { tenantId, most, behind = BEFORE_ALL, except }: Wanted,
  nowMs: number,
): Promise<Claim> {
  const heldUntilMs = nowMs + LEASE_MS
  const [now, until] = [new Date(nowMs), new Date(heldUntilMs)]
  const [taken, rows, setting] = await Promise.all([
    tx.query({ name: 'webhooks-take', text: TAKE, values: [tenantId, nodeId, now, until] }),
    tx.query<ClaimedRow>({
      name: 'webhooks-claim',
      text: CLAIM,
      values: [tenantId, nodeId, now, until, behind.dueS, behind.notifyId, uuidArray(except), most],
    }),
    loadSetting(tx, deps, tenantId),
  ])
  const last = rows.at(-1)
  return {
    tenantId,
    events: rows.map((row) => eventOf(tenantId, row)),
    last: last && { dueS: last.dueS, notifyId: last.notifyId },
    heldUntilMs: taken.length > 0 ? heldUntilMs : undefined,
    ...setting,
  }
}

function eventOf(tenantId: string, row: ClaimedRow): ClaimedEvent {
  return {
    tenantId,
    notifyId: row.notifyId,
    notifyType: row.notifyType,
    createdAt: new Date(Math.round(row.createdAtMs)),
    content: row.content,
    attempts: row.attempts,
    turn: row.generation,
  }
}

/** A secret that cannot be read is as none: its tenant's events wait, and nobody else's. */
export async function loadSetting(
  db: Pick<Db | Tx, 'query'>,
  { cipher, log }: Pick<ClaimDeps, 'cipher' | 'log'>,
  tenantId: string,
): Promise<Setting> {
  const reading = loadTenant(db, cipher, { tenantId }).catch((error) => {
    if (!(error instanceof DecryptionFailed)) throw error
    log.error({ err: error, tenantId }, 'the secret of a tenant cannot be read: its events wait')
    return undefined
  })
  const [endpoint, signer] = await Promise.all([loadEndpoint(db, tenantId), reading])
  return { endpoint, signer }
}

interface ClaimedRow {
  notifyId: string
  notifyType: EventType
  content: string
  /** Numbers, because reading a date took a microsecond of each event. */
  createdAtMs: number
  dueS: number
  attempts: number
  generation: number
}

const BEFORE_ALL: Position = { dueS: 0, notifyId: LOWEST_UUID }

const TAKE = `
  insert into endpoint_queues as l (tenant_id, node_id, lease_until) values ($1, $2, $4)
  on conflict (tenant_id) do update set node_id = excluded.node_id, lease_until = excluded.lease_until
  where l.node_id = excluded.node_id or l.lease_until <= $3
  returning 1`

// A statement of its own, with a snapshot from after the lane was had: one from before would have what the node that left
// it has sent. Deliveries are read and not written: marking each as claimed, and finding its mark again, took two thirds of
// a claim's time. Behind the last claim, because what was acknowledged since stays in the index until it is vacuumed.
// "offset 0" keeps the planner from reading all events of the tenant and looking for the claimed ones among them.
const CLAIM = `
  select e.notify_id, e.notify_type, e.content::text as content, d.attempts, d.generation::float8 as generation,
         date_part('epoch', e.created_at) * 1000 as created_at_ms, date_part('epoch', d.due_at) as due_s
  from (select from endpoint_queues where tenant_id = $1 and node_id = $2 and lease_until = $4) lane
  cross join lateral (
    select notify_id, attempts, generation, due_at from deliveries
    where tenant_id = $1 and due_at <= $3 and (due_at, notify_id) > (to_timestamp($5), $6)
      and notify_id not in (select unnest($7::uuid[]))
    order by due_at, notify_id limit $8) d
  cross join lateral (
    select * from events where tenant_id = $1 and notify_id = d.notify_id offset 0) e`

/** A lane that nothing is in hand of, and until when it was held by the claim that was the last one then. */
export interface Hold {
  tenantId: string
  heldUntilMs: number
}

/** Leaves lanes in a transaction of their own: one that a crash forgets is left when its lease ends. */
export async function leaveLanesAlone(db: Db, nodeId: string, holds: readonly Hold[]): Promise<void> {
  await db.tx(async (tx) => {
    tx.send(NOT_WAITING_FOR_THE_DISK)
    leaveLanes(tx, nodeId, holds)
  })
}

/** Leaves lanes to whoever comes next. One that was claimed again meanwhile stays. Locks them in ascending tenant order. */
export function leaveLanes(tx: Tx, nodeId: string, holds: readonly Hold[]): void {
  for (const { tenantId, heldUntilMs } of holds.toSorted(byTenant)) {
    tx.send({ name: 'webhooks-leave', text: LEAVE, values: [tenantId, nodeId, new Date(heldUntilMs)] })
  }
}

const LEAVE = `
  update endpoint_queues set lease_until = '-infinity' where tenant_id = $1 and node_id = $2 and lease_until = $3`
