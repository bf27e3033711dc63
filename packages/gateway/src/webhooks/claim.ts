import type { EventType } from '@dealer-esim/contract'
import { DecryptionFailed } from '../lib/crypto.ts'
import type { Db, Statement, Tx } from '../lib/db.ts'
import { groupBy } from '../lib/group-by.ts'
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
  /** Never attempted before, nor replayed: its first attempt measures our latency. */
  fresh: boolean
  leaseToken: string
}

export interface Claim extends Setting {
  tenantId: string
  events: ClaimedEvent[]
}

/** Where a tenant's events go, and what signs them. */
export interface Setting {
  /** undefined: none is set. */
  endpoint: Endpoint | undefined
  signer: Tenant | undefined
}

type ClaimDeps = Pick<WebhookDeps, 'db' | 'ids' | 'cipher' | 'log'>

/**
 * Claims due events of some tenants under a lease, oldest due first, and reads what is needed to send them; one round
 * trip. Rows that another node holds are skipped. Locks deliveries of one tenant per statement; nothing waits.
 */
export async function claimEvents(
  deps: ClaimDeps,
  wanted: readonly { tenantId: string; most: number }[],
  now_ms: number,
): Promise<Claim[]> {
  const leaseToken = deps.ids.uuid()
  return deps.db.tx(async (tx) => {
    usePlannedIndexes(tx)
    tx.send(NOT_WAITING_FOR_THE_DISK)
    return Promise.all(wanted.map(({ tenantId, most }) => claimOne(tx, deps, { tenantId, most, leaseToken, now_ms })))
  })
}

/** A claim that a crash of the database forgets is made again: nothing is lost but the time. */
const NOT_WAITING_FOR_THE_DISK: Statement = {
  name: 'webhooks-claim-commit',
  text: 'set local synchronous_commit = off',
}

async function claimOne(
  tx: Tx,
  deps: ClaimDeps,
  { tenantId, most, leaseToken, now_ms }: { tenantId: string; most: number; leaseToken: string; now_ms: number },
): Promise<Claim> {
  const [rows, setting] = await Promise.all([
    tx.query<ClaimedRow>({
      name: 'webhooks-claim',
      text: CLAIM,
      values: [tenantId, leaseToken, new Date(now_ms), new Date(now_ms + LEASE_MS), most],
    }),
    loadSetting(tx, deps, tenantId),
  ])
  const events = rows.map((row) => ({
    tenantId,
    notifyId: row.notify_id,
    notifyType: row.notify_type,
    createdAt: new Date(Math.round(row.created_at_ms)),
    content: row.content,
    attempts: row.attempts,
    fresh: row.fresh,
    leaseToken,
  }))
  // "update … returning" keeps no order.
  events.sort((left, right) => (left.notifyId < right.notifyId ? -1 : 1))
  return { tenantId, events, ...setting }
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
  notify_id: string
  notify_type: EventType
  content: string
  /** A number, because reading a date took a microsecond of each event. */
  created_at_ms: number
  attempts: number
  fresh: boolean
}

// Lease columns are in no index and partitions leave room in their pages, so that a claim is a HOT update. "offset 0" keeps
// the planner from reading all events of the tenant and looking for the claimed ones among them.
const CLAIM = `
  with claimed as (
    update deliveries set lease_token = $2, lease_until = $4
    where tenant_id = $1 and notify_id = any (array(
      select notify_id from deliveries
      where tenant_id = $1 and due_at <= $3 and (lease_until is null or lease_until < $3)
      order by due_at limit $5
      for update skip locked))
    returning notify_id, attempts, due_at)
  select e.notify_id, e.notify_type, e.content::text as content, c.attempts,
         date_part('epoch', e.created_at) * 1000 as created_at_ms,
         c.attempts = 0 and c.due_at <= e.created_at as fresh
  from claimed c cross join lateral (
    select * from events where tenant_id = $1 and notify_id = c.notify_id offset 0) e`

/** Gives events back that were claimed and not attempted. */
export async function releaseEvents(db: Db, events: readonly ClaimedEvent[]): Promise<void> {
  const byTenant = groupBy(events, ({ tenantId }) => tenantId)
  await db.tx(async (tx) => {
    usePlannedIndexes(tx)
    for (const tenantId of [...byTenant.keys()].sort()) {
      const own = byTenant.get(tenantId) ?? []
      tx.send({
        text: `update deliveries set lease_token = null, lease_until = null
               where tenant_id = $1 and notify_id = any ($2::uuid[]) and lease_token = any ($3::uuid[])`,
        values: [tenantId, own.map((event) => event.notifyId), [...new Set(own.map((event) => event.leaseToken))]],
      })
    }
  })
}
