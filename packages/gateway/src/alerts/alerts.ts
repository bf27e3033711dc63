import { countMatching, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { type IdPage, idPage } from '@dealer-esim/lib/postgres/id-page.ts'
import sql, { empty, type Sql } from 'sql-template-tag'

export interface AlertRow {
  alertId: string
  tenantId: string
  kind: string
  audience: 'OPERATOR' | 'TENANT'
  message: string
  data: Record<string, unknown>
  readAt: Date | null
  createdAt: Date
}

export interface AlertFilter {
  tenantId: string | null
  audience: 'OPERATOR' | 'TENANT' | null
  unread?: boolean | undefined
}

/** Lists alerts by time. */
export function listAlerts(db: Pick<Db, 'query'>, filter: AlertFilter, page: IdPage): Promise<AlertRow[]> {
  return db.query<AlertRow>(sql`
    select alert_id, tenant_id, kind, audience, message, data, read_at, created_at
    from alerts
    where true ${conditions(filter)} ${idPage('alert_id', page)}`)
}

export function countAlerts(db: Pick<Db, 'query'>, filter: AlertFilter): Promise<RowCount> {
  return countMatching(db, sql`select from alerts where true ${conditions(filter)}`)
}

function conditions({ tenantId, audience, unread }: AlertFilter): Sql {
  return sql`
    ${tenantId === null ? empty : sql`and tenant_id = ${tenantId}`}
    ${audience === null ? empty : sql`and audience = ${audience}`}
    ${unread ? sql`and read_at is null` : empty}`
}

/** Above this, counting stops and the console shows "99+". */
const UNREAD_COUNTED_MAX = 100

/** Counts unread alerts of an audience, up to 100. Probes the index `alerts_unread`. */
export async function countUnreadAlerts(
  db: Pick<Db, 'query'>,
  scope: { tenantId: string | null; audience: 'OPERATOR' | 'TENANT' },
): Promise<number> {
  const rows = await db.query(sql`
    select 1 from alerts where audience = ${scope.audience} and read_at is null
      ${scope.tenantId === null ? empty : sql`and tenant_id = ${scope.tenantId}`}
    limit ${UNREAD_COUNTED_MAX}`)
  return rows.length
}

/** Marks alerts as read. Ignores alerts that belong to a different audience or tenant than `scope`. */
export function markAlertsRead(
  tx: Tx,
  alertIds: readonly string[],
  scope: { tenantId: string | null; audience: 'OPERATOR' | 'TENANT' },
): void {
  tx.send(sql`
    update alerts set read_at = now()
    where alert_id = any(${[...alertIds]}::uuid[]) and audience = ${scope.audience} and read_at is null
      ${scope.tenantId === null ? empty : sql`and tenant_id = ${scope.tenantId}`}`)
}
