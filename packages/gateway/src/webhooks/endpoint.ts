import type { EventType } from '@dealer-esim/contract'
import type { Db, Statement, Tx } from '../lib/postgres/db.ts'
import type { EndpointHealth } from './endpoint-health.ts'

/** A tenant's callback URL and all that is known of it. */
export interface Endpoint {
  callbackUrl: string | null
  eventTypes: EventType[]
  enabled: boolean
  /** Why we disabled it; null: the tenant did, or it is enabled. */
  disabledReason: 'GONE' | 'FAILING' | null
  health: EndpointHealth
  updatedAt: Date
}

/** Differs whenever the tenant's endpoint or its secrets were changed, and not by what attempts say of its health. */
export function settingVersion(endpointSetAt: Date | null, tenantVersion: bigint): string {
  return `${endpointSetAt?.getTime() ?? ''} ${tenantVersion}`
}

/** undefined: never set. */
export async function loadEndpoint(db: Pick<Db | Tx, 'query'>, tenantId: string): Promise<Endpoint | undefined> {
  return endpointOf(await db.query<EndpointRow>(selectEndpoint(tenantId)))
}

/** The same under a lock on its row, for a change. */
export async function lockEndpoint(tx: Tx, tenantId: string): Promise<Endpoint | undefined> {
  const { text, values } = selectEndpoint(tenantId)
  return endpointOf(await tx.query<EndpointRow>({ text: `${text} for update`, values: values ?? [] }))
}

function selectEndpoint(tenantId: string): Statement {
  return {
    name: 'webhooks-endpoint',
    text: `select callback_url, event_types, enabled, disabled_reason, failing_since, alerted_percent, updated_at
           from webhook_endpoints where tenant_id = $1`,
    values: [tenantId],
  }
}

interface EndpointRow {
  callbackUrl: string | null
  eventTypes: EventType[]
  enabled: boolean
  disabledReason: 'GONE' | 'FAILING' | null
  failingSince: Date | null
  alertedPercent: number
  updatedAt: Date
}

function endpointOf([row]: EndpointRow[]): Endpoint | undefined {
  if (!row) return undefined
  return {
    callbackUrl: row.callbackUrl,
    eventTypes: row.eventTypes,
    enabled: row.enabled,
    disabledReason: row.disabledReason,
    health: { failingSinceMs: row.failingSince?.getTime() ?? null, warnedPercent: row.alertedPercent },
    updatedAt: row.updatedAt,
  }
}
