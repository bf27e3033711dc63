import sql, { empty } from 'sql-template-tag'
import { NIL_TENANT } from '../audit/audit.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'

export interface Notice {
  /** null: concerns the deployment. */
  tenantId: string | null
  /** UPPER_SNAKE, such as LOW_BALANCE. */
  kind: string
  audience: 'OPERATOR' | 'TENANT'
  /** A sentence that says what happened and what to do. */
  message: string
  data?: Record<string, unknown>
}

/** Tells operators, or a tenant's people, in the transaction that caused it. The console shows it, e-mail may carry it. */
export function notify(tx: Tx, ids: Ids, notice: Notice): void {
  tx.send({
    text: `insert into alerts (tenant_id, alert_id, kind, audience, message, data) values ($1, $2, $3, $4, $5, $6)`,
    values: [
      notice.tenantId ?? NIL_TENANT,
      ids.uuid(),
      notice.kind,
      notice.audience,
      notice.message,
      JSON.stringify(notice.data ?? {}),
    ],
  })
}

export interface NoticeRow {
  noticeId: string
  tenantId: string
  kind: string
  audience: 'OPERATOR' | 'TENANT'
  message: string
  data: Record<string, unknown>
  readAt: Date | null
  createdAt: Date
}

export interface NoticeFilter {
  tenantId: string | null
  audience: 'OPERATOR' | 'TENANT' | null
  unread?: boolean | undefined
  before?: string | undefined
}

/** Notices, newest first. */
export function listNotices(db: Pick<Db, 'query'>, filter: NoticeFilter, limit: number): Promise<NoticeRow[]> {
  const { tenantId, audience, unread, before } = filter
  return db.query<NoticeRow>(sql`
    select alert_id as notice_id, tenant_id, kind, audience, message, data, read_at,
           created_at
    from alerts
    where true
      ${tenantId === null ? empty : sql`and tenant_id = ${tenantId}`}
      ${audience === null ? empty : sql`and audience = ${audience}`}
      ${unread ? sql`and read_at is null` : empty}
      ${before === undefined ? empty : sql`and alert_id < ${before}`}
    order by alert_id desc limit ${limit}`)
}

/** Marks notices as read; those of other audiences or tenants than one's own stay as they are. */
export function readNotices(
  tx: Tx,
  noticeIds: readonly string[],
  only: { tenantId: string | null; audience: 'OPERATOR' | 'TENANT' },
): void {
  tx.send(sql`
    update alerts set read_at = now()
    where alert_id = any(${[...noticeIds]}::uuid[]) and audience = ${only.audience} and read_at is null
      ${only.tenantId === null ? empty : sql`and tenant_id = ${only.tenantId}`}`)
}
