import type { EventType } from '@dealer-esim/contract'
import sql from 'sql-template-tag'
import type { Db } from '../lib/postgres/db.ts'
import { maskedUrl } from './attempt-log.ts'

/** A tenant's endpoint as operators see it. */
export interface EndpointView {
  tenantId: string
  clientName: string
  /** Values in its query masked. */
  callbackUrl: string | null
  eventTypes: EventType[]
  enabled: boolean
  /** Why we disabled it. */
  disabledReason: 'GONE' | 'FAILING' | null
  /** The first failure after its last success. */
  failingSince: Date | null
  /** Events that wait for an attempt; counted up to WAITING_COUNTED. */
  waiting: number
  updatedAt: Date
}

export const WAITING_COUNTED = 10_000

export interface EndpointFilter {
  tenantId?: string | undefined
  /** Failing, or disabled by us. */
  unwell?: boolean | undefined
}

/** Endpoints that were ever set, those that fail longest first. */
export async function listEndpoints(db: Db, filter: EndpointFilter, most: number): Promise<EndpointView[]> {
  const rows = await db.query<EndpointView>(sql`
    select e.tenant_id, t.tenant_name as client_name, e.callback_url,
           e.event_types, e.enabled, e.disabled_reason,
           e.failing_since, e.updated_at,
           (select count(*)::integer from (select from deliveries v where v.tenant_id = e.tenant_id and v.due_at is not null
                                           limit ${WAITING_COUNTED}) waiting) as waiting
    from webhook_endpoints e join tenants t using (tenant_id)
    where (${filter.tenantId ?? null}::uuid is null or e.tenant_id = ${filter.tenantId ?? null})
      and (not ${filter.unwell ?? false}::boolean or e.failing_since is not null or e.disabled_reason is not null)
    order by e.failing_since nulls last, t.tenant_name, e.tenant_id
    limit ${most}`)
  return rows.map((row) => ({ ...row, callbackUrl: row.callbackUrl === null ? null : maskedUrl(row.callbackUrl) }))
}
