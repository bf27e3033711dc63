import type { DatabaseClock } from '../lib/clock.ts'
import { LOWEST_UUID } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { WebhookDeps } from './deps.ts'
import { settingVersion } from './endpoint.ts'
import { usePlannedIndexes } from './planner.ts'

export interface DueTenant {
  tenantId: string
  /** The earliest of its events; may lie in the future, or be claimed already. */
  dueMs: number
  /** Whether its endpoint is set and enabled. */
  able: boolean
  /** Another node sends its events. */
  isElsewhere: boolean
  /** Of its endpoint and its secrets: another one than a lane has, and they were changed. */
  version: string
}

/**
 * Tenants with an event to come, in the order of their ids behind `after`. One index descent per tenant, however many
 * events it has: a backlog of 100 000 at one of them costs the others nothing (7 µs a tenant in six partitions, with
 * 100 tenants of whom one has a backlog of 100 000). Takes no lock.
 */
export async function findDueTenants(
  { db, databaseClock, clock }: { db: Db; databaseClock: DatabaseClock } & Pick<WebhookDeps, 'clock'>,
  nodeId: string,
  after: string | undefined,
  most: number,
): Promise<DueTenant[]> {
  const sentAt = clock.monotonic()
  const now = new Date(databaseClock.now())
  const rows = await db.tx((tx) => {
    usePlannedIndexes(tx)
    return tx.query<DueRow>({ name: 'webhooks-due', text: DUE, values: [after ?? LOWEST_UUID, most, nodeId, now] })
  })
  if (rows[0]) databaseClock.observe(rows[0].now.getTime(), sentAt, clock.monotonic())
  return rows.map((row) => ({
    tenantId: row.tenantId,
    dueMs: row.dueAt.getTime(),
    able: row.setAt !== null,
    isElsewhere: row.isElsewhere,
    version: settingVersion(row.setAt, row.version),
  }))
}

interface DueRow {
  tenantId: string
  dueAt: Date
  /** Of an endpoint that is set and enabled. */
  setAt: Date | null
  version: bigint
  isElsewhere: boolean
  now: Date
}

const DUE = `
  with recursive due (tenant_id, due_at, number) as (
    (select tenant_id, due_at, 1 from deliveries
     where due_at is not null and tenant_id > $1
     order by tenant_id, due_at limit 1)
    union all
    select next.tenant_id, next.due_at, due.number + 1
    from due cross join lateral (
      select d.tenant_id, d.due_at from deliveries d
      where d.due_at is not null and d.tenant_id > due.tenant_id
      order by d.tenant_id, d.due_at limit 1) next
    where due.number < $2
  )
  select due.tenant_id, due.due_at, clock_timestamp() as now,
         (select w.updated_at from webhook_endpoints w
          where w.tenant_id = due.tenant_id and w.enabled and w.callback_url is not null) as set_at,
         (select t.version from tenants t where t.tenant_id = due.tenant_id) as version,
         coalesce((select l.node_id <> $3 and l.lease_until > $4 from endpoint_queues l
                   where l.tenant_id = due.tenant_id), false) as is_elsewhere
  from due`
