import sql, { empty } from 'sql-template-tag'
import { firstUuidAt } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'

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
  /** null finds entries of all tenants and of the deployment. */
  tenantId: string | null
  actor?: string | undefined
  /** An action, or its noun: `wallet` finds `wallet.top_up`. */
  action?: string | undefined
  actions?: readonly string[] | undefined
  withoutActions?: readonly string[] | undefined
  subject?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Finds entries before this id. */
  before?: string | undefined
}

/** Finds entries, newest first. Ids are ordered by time, so a range of time is a range of ids. */
export function searchAudit(db: Pick<Db, 'query'>, filter: AuditFilter, limit: number): Promise<AuditRow[]> {
  const { tenantId, actor, action, actions, withoutActions, subject, from, to, before } = filter
  return db.query<AuditRow>(sql`
    select audit_id, tenant_id, actor, action, subject, before, after, address, created_at
    from audit_log
    where true
      ${tenantId === null ? empty : sql`and tenant_id = ${tenantId}`}
      ${actor === undefined ? empty : sql`and actor = ${actor}`}
      ${action === undefined ? empty : sql`and (action = ${action} or starts_with(action, ${`${action}.`}))`}
      ${actions === undefined ? empty : sql`and action = any (${actions})`}
      ${withoutActions === undefined ? empty : sql`and action <> all (${withoutActions})`}
      ${subject === undefined ? empty : sql`and subject = ${subject}`}
      ${from === undefined ? empty : sql`and audit_id >= ${firstUuidAt(from.getTime())}`}
      ${to === undefined ? empty : sql`and audit_id < ${firstUuidAt(to.getTime())}`}
      ${before === undefined ? empty : sql`and audit_id < ${before}`}
    order by audit_id desc limit ${limit}`)
}
