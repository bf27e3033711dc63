import {
  type EventFormat,
  type EventType,
  EXPIRY_NOTICE_HOURS_DEFAULT,
  USAGE_THRESHOLDS_DEFAULT,
} from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db, Statement, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { isHeld } from '#platform/held-tenants.ts'
import { maskedUrl } from '../attempt-log.ts'

/** A tenant's callback URL with its settings and failures. */
export interface Endpoint {
  callbackUrl: string | null
  eventTypes: EventType[]
  eventFormat: EventFormat
  /** Usage percentages, ascending. */
  usageThresholds: number[]
  /** Ascending. */
  expiryNoticeHours: number[]
  enabled: boolean
  /** The reason why the gateway disabled it; null: the tenant disabled it, or it is enabled. */
  disabledReason: 'GONE' | 'FAILING' | null
  failureWindow: FailureWindow
  updatedAt: Date
}

export interface FailureWindow {
  /** The first failure after the last success; null: the latest attempt succeeded. */
  failingSinceMs: number | null
  /** The highest warning sent since. */
  alertedPercent: number
}

/** Text that changes with the tenant's endpoint settings and secrets, but not with the endpoint's health. */
export function settingsVersion(endpointSetAt: Date | null, tenantVersion: bigint): string {
  return `${endpointSetAt?.getTime() ?? ''} ${tenantVersion}`
}

/** @returns undefined if the tenant has never set an endpoint */
export async function findEndpoint(
  db: Pick<Db | Tx, 'query'>,
  cipher: Pick<Cipher, 'decrypt'>,
  tenantId: string,
): Promise<Endpoint | undefined> {
  return endpointOf(await db.query<EndpointRow>(selectEndpoint(tenantId)), cipher, tenantId)
}

/** Finds the endpoint and locks its row. */
export async function lockEndpoint(
  tx: Tx,
  cipher: Pick<Cipher, 'decrypt'>,
  tenantId: string,
): Promise<Endpoint | undefined> {
  const { text, values } = selectEndpoint(tenantId)
  const rows = await tx.query<EndpointRow>({ text: `${text} for update`, values: values ?? [] })
  return endpointOf(rows, cipher, tenantId)
}

function selectEndpoint(tenantId: string): Statement {
  return {
    name: 'webhooks-endpoint',
    text: `select callback_url, event_types, event_format, usage_thresholds, expiry_notice_hours, enabled, disabled_reason,
             failing_since, alerted_percent, updated_at
           from webhook_endpoints where tenant_id = $1`,
    values: [tenantId],
  }
}

interface EndpointRow extends Omit<Endpoint, 'failureWindow' | 'callbackUrl'> {
  callbackUrl: Buffer | null
  failingSince: Date | null
  alertedPercent: number
}

function endpointOf([row]: EndpointRow[], cipher: Pick<Cipher, 'decrypt'>, tenantId: string): Endpoint | undefined {
  if (!row) return undefined
  const { failingSince, alertedPercent, ...endpoint } = row
  return {
    ...endpoint,
    callbackUrl: decryptUrl(cipher, tenantId, row.callbackUrl),
    failureWindow: { failingSinceMs: failingSince?.getTime() ?? null, alertedPercent },
  }
}

/** The usage percentages and the hours before expiry at which the tenant is notified about an eSIM. */
export type NoticeSettings = Readonly<Pick<Endpoint, 'usageThresholds' | 'expiryNoticeHours'>>

type NoticesAndFormat = NoticeSettings & Readonly<Pick<Endpoint, 'eventFormat'>>

const DEFAULT_NOTICES: NoticesAndFormat = {
  usageThresholds: [...USAGE_THRESHOLDS_DEFAULT],
  expiryNoticeHours: EXPIRY_NOTICE_HOURS_DEFAULT.toSorted((left, right) => left - right),
  eventFormat: 'DEALER',
}

/** The tenant's notice settings and event format, or the defaults if it has never set an endpoint. */
export async function findNoticeSettings(tx: Pick<Tx, 'query'>, tenantId: string): Promise<NoticesAndFormat> {
  const [row] = await tx.query<NoticesAndFormat>({
    name: 'webhooks-notice-settings',
    text: 'select usage_thresholds, expiry_notice_hours, event_format from webhook_endpoints where tenant_id = $1',
    values: [tenantId],
  })
  return row ?? DEFAULT_NOTICES
}

/** Changed expiry notice hours that have yet to be applied to eSIMs in use. */
export interface Rescan {
  tenantId: string
  /** When the hours were changed. */
  rescanFrom: Date
}

/** Lists endpoints whose expiry notice hours have changed and have not yet been applied to all eSIMs of their tenants. */
export async function endpointsToRescan(db: Pick<Db, 'query'>): Promise<Rescan[]> {
  return db.query<Rescan>({
    name: 'webhooks-to-rescan',
    text: `select tenant_id, expiry_rescan_from as rescan_from from webhook_endpoints
           where expiry_rescan_from is not null and not ${isHeld('webhook_endpoints.tenant_id')} order by tenant_id`,
  })
}

/** Ends a rescan, unless the hours have changed again since. */
export async function finishRescan(db: Pick<Db, 'query'>, tenantId: string, rescanFrom: Date): Promise<void> {
  await db.query({
    name: 'webhooks-rescanned',
    text: 'update webhook_endpoints set expiry_rescan_from = null where tenant_id = $1 and expiry_rescan_from = $2',
    values: [tenantId, rescanFrom],
  })
}

function decryptUrl(cipher: Pick<Cipher, 'decrypt'>, tenantId: string, ciphertext: Buffer | null): string | null {
  return ciphertext && cipher.decrypt(ciphertext, tenantId).toString()
}

/** An endpoint in the operator's list. */
export interface EndpointView {
  tenantId: string
  clientName: string
  /** The values in its query are masked. */
  callbackUrl: string | null
  eventTypes: EventType[]
  enabled: boolean
  /** The reason why the gateway disabled it. */
  disabledReason: 'GONE' | 'FAILING' | null
  /** The first failure after its last success. */
  failingSince: Date | null
  /** Events waiting for an attempt, counted up to WAITING_COUNTED. */
  waiting: number
  updatedAt: Date
}

export const WAITING_COUNTED = 10_000

export interface EndpointFilter {
  tenantId?: string | undefined
  /** Only endpoints that are failing, or that were disabled by the gateway. */
  unwell?: boolean | undefined
}

/** Lists endpoints that have ever been set, the longest failing first. */
export async function listEndpoints(
  { db, cipher }: { db: Db; cipher: Pick<Cipher, 'decrypt'> },
  filter: EndpointFilter,
  limit: number,
): Promise<EndpointView[]> {
  const rows = await db.query<Omit<EndpointView, 'callbackUrl'> & { callbackUrl: Buffer | null }>(sql`
    select e.tenant_id, t.tenant_name as client_name, e.callback_url,
           e.event_types, e.enabled, e.disabled_reason,
           e.failing_since, e.updated_at,
           (select count(*)::integer from (select from deliveries v where v.tenant_id = e.tenant_id and v.due_at is not null
                                           limit ${WAITING_COUNTED}) waiting) as waiting
    from webhook_endpoints e join tenants t using (tenant_id)
    where (${filter.tenantId ?? null}::uuid is null or e.tenant_id = ${filter.tenantId ?? null})
      and (not ${filter.unwell ?? false}::boolean or e.failing_since is not null or e.disabled_reason is not null)
    order by e.failing_since nulls last, t.tenant_name, e.tenant_id
    limit ${limit}`)
  return rows.map((row) => {
    const url = decryptUrl(cipher, row.tenantId, row.callbackUrl)
    return { ...row, callbackUrl: url === null ? null : maskedUrl(url) }
  })
}
