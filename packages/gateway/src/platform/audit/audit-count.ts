import { createHash } from 'node:crypto'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { type AuditEntry, NIL_TENANT } from './audit.ts'

const MINUTE_MS = 60_000
/**
 * The number of counted entries per minute for a tenant or the deployment. One further entry counts everything beyond that.
 */
export const COUNTED_PER_MINUTE_MAX = 30

/**
 * Records events that anybody can cause as often as they like, such as a failed sign-in: one entry per minute and `key`
 * with a count, instead of one entry each time. The id is derived from the minute and the key, so that all nodes count in
 * the same row. Beyond the limit, all keys of an action share one row, so the log grows by at most 31 rows per minute,
 * tenant and action.
 */
export async function auditCounted(
  db: Pick<Db, 'query'>,
  nowMs: number,
  key: string,
  { tenantId, actor, action, subject, after = {}, address }: AuditEntry & { after?: object },
): Promise<void> {
  const minuteMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS
  const owner = tenantId ?? NIL_TENANT
  const id = countedId(minuteMs, `${action} ${key}`)
  // Apart from rare coincidences, only counted entries have an id in the first millisecond of a minute.
  await db.query(sql`
    with counted as (
      select count(*) < ${COUNTED_PER_MINUTE_MAX} or coalesce(bool_or(audit_id = ${id}), false) as fits
      from audit_log
      where tenant_id = ${owner} and audit_id >= ${firstUuidAt(minuteMs)} and audit_id < ${firstUuidAt(minuteMs + 1)})
    insert into audit_log (tenant_id, audit_id, actor, action, subject, after, address)
    select ${owner}, case when fits then ${id}::uuid else ${countedId(minuteMs, `${action} others`)}::uuid end, ${actor},
           ${action}, case when fits then ${subject ?? null}::text end,
           case when fits then ${JSON.stringify({ ...after, count: 1 })} else '{"others": true, "count": 1}' end::jsonb,
           case when fits then ${address ?? null}::text end
    from counted
    on conflict (tenant_id, audit_id) do update
    set after = jsonb_set(audit_log.after, '{count}', to_jsonb((audit_log.after ->> 'count')::bigint + 1))`)
}

/** A UUIDv7 for this time. Its other bits are a digest of the key. */
function countedId(timeMs: number, key: string): string {
  const digest = createHash('sha256').update(key).digest('hex')
  return `${firstUuidAt(timeMs).slice(0, 14)}7${digest.slice(0, 3)}-8${digest.slice(3, 6)}-${digest.slice(6, 18)}`
}
