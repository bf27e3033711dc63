import type { EventType } from '@dealer-esim/contract'
import { DecryptionFailed } from '@dealer-esim/lib/crypto.ts'
import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import { isFree } from '@dealer-esim/lib/leases.ts'
import { uuidArray } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db, Statement, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { findTenant, type Tenant } from '#tenants/tenant.ts'
import type { Notification } from '../delivery-state.ts'
import { type Endpoint, findEndpoint } from '../endpoint/endpoint.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import { LEASE_MS } from '../webhook-limits.ts'

export interface ClaimedEvent extends Notification {
  tenantId: string
  notifyType: EventType
  /** Attempts since the event was recorded or last replayed. */
  attempts: number
  /** 0, and higher after each resend or replay. The result of an attempt counts only for this generation. */
  generation: number
  /** When this attempt was due (ms). An advance of the test time moves it back. */
  dueMs: number
}

/** A position in the order in which a tenant's events become due. */
export interface Position {
  dueS: number
  notifyId: string
}

export interface ClaimRequest {
  tenantId: string
  limit: number
  /** Only events after this position; undefined: start at the first due event. */
  after: Position | undefined
  /** Events that this node has already claimed. */
  excludedIds: readonly string[]
}

export interface Claim extends SendSettings {
  tenantId: string
  /** In due order. */
  events: ClaimedEvent[]
  /** The position of the last event. */
  last: Position | undefined
  /** When this node's lease ends, by the database's clock; undefined: another node holds the queue. */
  heldUntilMs: number | undefined
}

/** A tenant's endpoint, and the secrets that sign its events. */
export interface SendSettings {
  /** undefined: it was never set, or its URL cannot be decrypted. */
  endpoint: Endpoint | undefined
  /** undefined: its secret cannot be decrypted. */
  signer: Tenant | undefined
}

type ClaimDeps = Pick<WebhookDeps, 'db' | 'cipher' | 'log'>

/**
 * Leases the endpoint queues of some tenants to this node, or extends the leases, then reads the due events and everything
 * needed to send them: one round trip, including COMMIT. A queue held by another node yields no events. Locks queues in
 * ascending tenant order.
 */
export async function claimEvents(
  deps: ClaimDeps,
  nodeId: string,
  requests: readonly ClaimRequest[],
  nowMs: number,
): Promise<Claim[]> {
  const { claiming } = await deps.db.tx(async (tx) => {
    usePlanHints(tx)
    tx.send(ASYNCHRONOUS_COMMIT)
    const claiming = Promise.all(
      requests.toSorted(byTenant).map((request) => claimOne(tx, deps, nodeId, request, nowMs)),
    )
    claiming.catch(() => {}) // if it fails, so does the transaction
    return { claiming } // not awaited here, so that COMMIT is sent with the statements
  })
  const claims = await claiming
  return requests.map(({ tenantId }) => claims.find((claim) => claim.tenantId === tenantId)!)
}

/**
 * For this transaction, makes the planner use indexes and plan each prepared statement only once. A partition that was
 * empty at the last analyze looks cheap to scan, and a cached plan would keep scanning it while it fills. Planning over six
 * partitions takes longer than claiming 64 events.
 */
export function usePlanHints(tx: Tx): void {
  tx.send({
    name: 'webhooks-plan-hints',
    text: `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
                  set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
                  set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`,
  })
}

/** The order in which rows of several tenants are locked. */
export function byTenant(one: { tenantId: string }, other: { tenantId: string }): number {
  return one.tenantId < other.tenantId ? -1 : 1
}

/** A crash of the database may lose a lease. The queue is then leased again: at worst, an event is sent twice. */
const ASYNCHRONOUS_COMMIT: Statement = { name: 'webhooks-claim-commit', text: 'set local synchronous_commit = off' }

async function claimOne(
  tx: Tx,
  deps: ClaimDeps,
  nodeId: string,
  { tenantId, limit, after = BEFORE_ALL, excludedIds }: ClaimRequest,
  nowMs: number,
): Promise<Claim> {
  const heldUntilMs = nowMs + LEASE_MS
  const [now, until] = [new Date(nowMs), new Date(heldUntilMs)]
  const [leased, rows, settings] = await Promise.all([
    tx.query({ name: 'webhooks-lease', text: LEASE, values: [tenantId, nodeId, now, until] }),
    tx.query<ClaimedRow>({
      name: 'webhooks-claim',
      text: CLAIM,
      values: [tenantId, nodeId, now, until, after.dueS, after.notifyId, uuidArray(excludedIds), limit],
    }),
    loadSendSettings(tx, deps, tenantId),
  ])
  const last = rows.at(-1)
  return {
    tenantId,
    events: rows.map((row) => eventOf(tenantId, row)),
    last: last && { dueS: last.dueS, notifyId: last.notifyId },
    heldUntilMs: leased.length > 0 ? heldUntilMs : undefined,
    ...settings,
  }
}

function eventOf(tenantId: string, row: ClaimedRow): ClaimedEvent {
  return {
    tenantId,
    notifyId: row.notifyId,
    notifyType: row.notifyType,
    createdAt: new Date(Math.round(row.createdAtMs)),
    content: row.content,
    details: row.details,
    attempts: row.attempts,
    generation: row.generation,
    dueMs: row.dueS * 1_000,
  }
}

/**
 * Loads everything needed for sending. A secret or URL that cannot be decrypted counts as missing: only the events of its
 * tenant wait.
 */
export async function loadSendSettings(
  db: Pick<Db | Tx, 'query'>,
  { cipher, log }: Pick<ClaimDeps, 'cipher' | 'log'>,
  tenantId: string,
): Promise<SendSettings> {
  const logUndecryptable = (error: unknown): undefined => {
    if (!(error instanceof DecryptionFailed)) throw error
    log.error(
      { err: error, tenantId },
      'the secret or callback URL of a tenant cannot be decrypted; its events wait. Restore the master key or reset the secret',
    )
  }
  const [endpoint, signer] = await Promise.all([
    findEndpoint(db, cipher, tenantId).catch(logUndecryptable),
    findTenant(db, cipher, { tenantId }).catch(logUndecryptable),
  ])
  return { endpoint, signer }
}

interface ClaimedRow {
  notifyId: string
  notifyType: EventType
  content: string
  details: string | null
  /** A number, because parsing a date takes a microsecond per event. */
  createdAtMs: number
  dueS: number
  attempts: number
  generation: number
}

const BEFORE_ALL: Position = { dueS: 0, notifyId: LOWEST_UUID }

const LEASE = `
  insert into endpoint_queues as l (tenant_id, node_id, lease_until)
  select $1::uuid, $2::uuid, $4::timestamptz where not ${isHeld('$1')}
  on conflict (tenant_id) do update set node_id = excluded.node_id, lease_until = excluded.lease_until
  where l.node_id = excluded.node_id or ${isFree('l.lease_until', LEASE_MS, '$3::timestamptz')}
  returning 1`

// A separate statement, so that its snapshot is taken after the lease was granted: an earlier snapshot would still contain
// events that the previous holder has sent. Deliveries are not written: marking each as claimed took two thirds of a
// claim's time. Starts after the last claim, because acknowledged deliveries stay in the index until vacuum. "offset 0"
// prevents a plan that reads all the tenant's events.
const CLAIM = `
  select e.notify_id, e.notify_type, e.content::text as content,
         e.details::text as details, d.attempts, d.generation::float8 as generation,
         date_part('epoch', e.created_at) * 1000 as created_at_ms, date_part('epoch', d.due_at) as due_s
  from (select from endpoint_queues where tenant_id = $1 and node_id = $2 and lease_until = $4) held
  cross join lateral (
    select notify_id, attempts, generation, due_at from deliveries
    where tenant_id = $1 and due_at <= $3 and (due_at, notify_id) > (to_timestamp($5), $6)
      and notify_id not in (select unnest($7::uuid[]))
    order by due_at, notify_id limit $8) d
  cross join lateral (
    select * from events where tenant_id = $1 and notify_id = d.notify_id offset 0) e`

/** A queue without claimed events, and the end of its latest lease. */
export interface HeldQueue {
  tenantId: string
  heldUntilMs: number
}

/** Releases queues in a separate transaction. If a crash loses the release, the leases expire. */
export async function releaseQueuesAlone(db: Db, nodeId: string, queues: readonly HeldQueue[]): Promise<void> {
  await db.tx(async (tx) => {
    tx.send(ASYNCHRONOUS_COMMIT)
    releaseQueues(tx, nodeId, queues)
  })
}

/** Releases queues to other nodes, except those claimed again since. Locks them in ascending tenant order. */
export function releaseQueues(tx: Tx, nodeId: string, queues: readonly HeldQueue[]): void {
  for (const { tenantId, heldUntilMs } of queues.toSorted(byTenant)) {
    tx.send({ name: 'webhooks-release', text: RELEASE, values: [tenantId, nodeId, new Date(heldUntilMs)] })
  }
}

const RELEASE = `
  update endpoint_queues set lease_until = '-infinity' where tenant_id = $1 and node_id = $2 and lease_until = $3`
