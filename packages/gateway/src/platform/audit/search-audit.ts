import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql, { empty, raw, type Sql } from 'sql-template-tag'

export interface AuditRow {
  auditId: string
  tenantId: string
  actor: string
  action: string
  subject: string | null
  before: unknown
  after: unknown
  address: string | null
  createdAt: Date
}

export interface AuditFilter {
  /** null: entries of all tenants and of the deployment. */
  tenantId: string | null
  actor?: string | undefined
  /** An action, or its noun: `wallet` finds `wallet.top_up`. */
  action?: string | undefined
  actions?: readonly string[] | undefined
  withoutActions?: readonly string[] | undefined
  subject?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
}

export interface AuditPage {
  limit: number
  ascending?: boolean | undefined
  /** Only entries after this id. */
  after?: string | undefined
}

/** The number of entries read for one page or count, whether or not they match. */
const READ_MAX = 100_000
const COUNTED_ENTRIES_MAX = 10_000

/**
 * Finds entries by time. Ids are ordered by time, so a time range is a range of ids. If too many other entries lie in
 * between, the page is cut short, and `searchedTo` contains the id from which the search can continue.
 */
export async function searchAudit(
  db: Pick<Db, 'query'>,
  filter: AuditFilter,
  { limit, ascending = false, after }: AuditPage,
): Promise<{ rows: AuditRow[]; searchedTo: string | null }> {
  const direction = raw(ascending ? 'asc' : 'desc')
  const beyond = after === undefined ? empty : sql`and audit_id ${raw(ascending ? '>' : '<')} ${after}`
  const range = sql`${rangeOf(filter)} ${beyond} order by audit_id ${direction}`
  const rows = await db.query<AuditRow>(sql`
    select audit_id, tenant_id, actor, action, subject, before, after, address, created_at
    from (select * from audit_log where true ${range} limit ${READ_MAX}) seen
    where true ${conditionsOf(filter)} order by audit_id ${direction} limit ${limit}`)
  if (rows.length === limit) return { rows, searchedTo: null }
  const [last] = await db.query<{ auditId: string }>(
    sql`select audit_id from audit_log where true ${range} offset ${READ_MAX - 1} limit 1`,
  )
  return { rows, searchedTo: last?.auditId ?? null }
}

/** Counts the matching entries, as far as a single call may read. */
export async function countAudit(
  db: Pick<Db, 'query'>,
  filter: AuditFilter,
): Promise<{ count: number; isComplete: boolean }> {
  const [row] = await db.query<{ read: number; matching: number }>(sql`
    select count(*)::int as read, (count(*) filter (where true ${conditionsOf(filter)}))::int as matching
    from (select * from audit_log where true ${rangeOf(filter)} order by audit_id desc limit ${READ_MAX + 1}) seen`)
  const { read, matching } = row!
  const isComplete = read <= READ_MAX && matching <= COUNTED_ENTRIES_MAX
  return { count: Math.min(matching, COUNTED_ENTRIES_MAX), isComplete }
}

function rangeOf({ tenantId, from, to }: AuditFilter): Sql {
  return sql`
    ${tenantId === null ? empty : sql`and tenant_id = ${tenantId}`}
    ${from === undefined ? empty : sql`and audit_id >= ${firstUuidAt(from.getTime())}`}
    ${to === undefined ? empty : sql`and audit_id < ${firstUuidAt(to.getTime())}`}`
}

function conditionsOf({ actor, action, actions, withoutActions, subject }: AuditFilter): Sql {
  return sql`
    ${actor === undefined ? empty : sql`and actor = ${actor}`}
    ${action === undefined ? empty : sql`and (action = ${action} or starts_with(action, ${`${action}.`}))`}
    ${actions === undefined ? empty : sql`and action = any (${actions})`}
    ${withoutActions === undefined ? empty : sql`and action <> all (${withoutActions})`}
    ${subject === undefined ? empty : sql`and subject = ${subject}`}`
}
