import {
  CALLBACK_URL_LENGTH_MAX,
  DEFAULT_EVENT_TYPES,
  EVENT_TYPES,
  type EventFormat,
  EXPIRY_NOTICE_HOURS_DEFAULT,
  formatTime,
  RT_EVENT_TYPES,
  USAGE_THRESHOLDS_DEFAULT,
  type WebhookSetAnswer,
  type WebhookSetRequest,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { tenantNow } from '#platform/test-time.ts'
import { type AcceptedRequestId, reenterRequestIds } from '#tenants/admission/admit-batch.ts'
import { maskedUrl } from '../attempt-log.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import { withHealthCheck } from './check-callback-url.ts'
import { type Endpoint, findEndpoint, lockEndpoint } from './endpoint.ts'

type SettingDeps = Pick<
  WebhookDeps,
  'db' | 'log' | 'ids' | 'linkKey' | 'cipher' | 'clock' | 'databaseClock' | 'outbound' | 'config' | 'wake'
>

/** A `webhook/set` request, with members that only other interfaces can set. */
export interface WebhookChange extends WebhookSetRequest {
  /** A new format comes with its own event types, unless the request specifies some. */
  eventFormat?: EventFormat | undefined
}

export interface SetWebhookOptions {
  /** Stored again with the change: a database that became primary during the health check may have lost it. */
  accepted?: AcceptedRequestId
  /** Another change to the tenant, made earlier in the same transaction. */
  alsoChange?(tx: Tx): Promise<unknown>
}

/**
 * `webhook/set` for the API, the console and the CLI. Absent members stay unchanged; `callbackUrl: null` removes the URL;
 * `{}` only reads. A URL that is set or enabled is checked first (check-callback-url.ts), outside any transaction; if the
 * check fails, the old setting stays. Setting or removing the URL enables an endpoint that was disabled by the gateway,
 * unless the request has `enabled: false`. Does not affect admission.
 * @throws ApiError 400101, 400102, 101007; 000108 for event types that the format does not include; whatever `alsoChange`
 * throws
 */
export async function setWebhook(
  deps: SettingDeps,
  tenantId: string,
  request: WebhookChange,
  by: By,
  options: SetWebhookOptions = {},
): Promise<WebhookSetAnswer> {
  const current = await findEndpoint(deps.db, deps.cipher, tenantId)
  const { callbackUrl, enabled } = request
  if (Object.values(request).every((value) => value === undefined)) {
    return answerOf(current ?? (await defaultEndpoint(deps, tenantId)))
  }
  const url = callbackUrl ?? (callbackUrl === undefined && enabled ? current?.callbackUrl : undefined)
  const change = () => changeEndpoint(deps, tenantId, request, url ?? undefined, by, options)
  if (typeof url !== 'string') return change()
  if (url.length > CALLBACK_URL_LENGTH_MAX) {
    throw new ApiError('400101', { details: [{ field: 'callbackUrl', reason: 'This address is too long.' }] })
  }
  const eventFormat = request.eventFormat ?? current?.eventFormat ?? 'DEALER'
  return withHealthCheck(deps, tenantId, { url, eventFormat }, change)
}

/** @param checkedUrl the URL that has just passed the health check */
async function changeEndpoint(
  deps: SettingDeps,
  tenantId: string,
  request: WebhookChange,
  checkedUrl: string | undefined,
  by: By,
  { accepted, alsoChange }: SetWebhookOptions,
): Promise<WebhookSetAnswer> {
  const changed = await deps.db.tx(async (tx) => {
    await alsoChange?.(tx)
    tx.send(sql`insert into webhook_endpoints (tenant_id) values (${tenantId}) on conflict do nothing`)
    const before = await lockEndpoint(tx, deps.cipher, tenantId)
    if (!before) throw new Error('the endpoint was inserted above')
    const after = withRequest(before, request, checkedUrl, new Date(deps.databaseClock.now()))
    writeEndpoint(tx, deps.cipher, tenantId, after)
    if (after.expiryNoticeHours.join() !== before.expiryNoticeHours.join()) startRescan(tx, tenantId)
    audit(tx, deps.ids, {
      tenantId,
      ...by,
      action: 'webhook.set',
      before: auditedOf(before),
      after: auditedOf(after),
    })
    if (accepted) reenterRequestIds(tx, [accepted], deps.databaseClock.now())
    return after
  })
  // When an endpoint is removed, the sender marks the events waiting for it UNSENT.
  deps.wake.wake('webhooks')
  return answerOf(changed)
}

function withRequest(
  before: Endpoint,
  { callbackUrl, eventTypes, usageThresholds, expiryNoticeHours, enabled, eventFormat }: WebhookChange,
  checkedUrl: string | undefined,
  now: Date,
): Endpoint {
  const isChecked = checkedUrl !== undefined
  const after: Endpoint = {
    callbackUrl: callbackUrl === undefined ? before.callbackUrl : callbackUrl,
    eventTypes: eventTypesAfter(before, eventFormat ?? before.eventFormat, eventTypes),
    eventFormat: eventFormat ?? before.eventFormat,
    usageThresholds: usageThresholds ? ascending(usageThresholds) : before.usageThresholds,
    expiryNoticeHours: expiryNoticeHours ? ascending(expiryNoticeHours) : before.expiryNoticeHours,
    enabled: enabled ?? (before.enabled || (before.disabledReason !== null && (isChecked || callbackUrl === null))),
    disabledReason: before.disabledReason,
    failureWindow: isChecked ? { failingSinceMs: null, alertedPercent: 0 } : before.failureWindow,
    updatedAt: now,
  }
  // The tenant's own setting replaces the gateway's reason.
  if (after.enabled || enabled === false) after.disabledReason = null
  return after
}

/** @throws ApiError 000108 */
function eventTypesAfter(before: Endpoint, eventFormat: EventFormat, requested: WebhookSetRequest['eventTypes']) {
  if (requested === undefined) {
    if (eventFormat === before.eventFormat) return before.eventTypes
    return eventFormat === 'RT' ? [...RT_EVENT_TYPES] : [...DEFAULT_EVENT_TYPES]
  }
  const lacking = eventFormat === 'RT' ? requested.filter((type) => !isRtType(type)) : []
  if (lacking.length > 0) {
    const reason = `The RT format does not have ${lacking.join(', ')}: leave it out, or choose the format of the dealer API.`
    throw new ApiError('000108', { details: [{ field: 'eventTypes', reason }] })
  }
  return EVENT_TYPES.filter((type) => requested.includes(type))
}

function isRtType(type: string): boolean {
  return (RT_EVENT_TYPES as readonly string[]).includes(type)
}

/** The distinct values in ascending order. */
function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((left, right) => left - right)
}

function writeEndpoint(tx: Tx, cipher: Pick<Cipher, 'encrypt'>, tenantId: string, endpoint: Endpoint): void {
  const { failingSinceMs, alertedPercent } = endpoint.failureWindow
  tx.send({
    text: `update webhook_endpoints
           set callback_url = $2, event_types = $3, enabled = $4, disabled_reason = $5, failing_since = $6,
               alerted_percent = $7, updated_at = $8, usage_thresholds = $9, expiry_notice_hours = $10, event_format = $11
           where tenant_id = $1`,
    values: [
      tenantId,
      endpoint.callbackUrl === null ? null : cipher.encrypt(endpoint.callbackUrl, tenantId),
      endpoint.eventTypes,
      endpoint.enabled,
      endpoint.disabledReason,
      failingSinceMs === null ? null : new Date(failingSinceMs),
      alertedPercent,
      endpoint.updatedAt,
      endpoint.usageThresholds,
      endpoint.expiryNoticeHours,
      endpoint.eventFormat,
    ],
  })
}

/** The loop that records ESIM_EXPIRING applies the changed hours to the tenant's eSIMs (esims/life/expiring.ts). */
function startRescan(tx: Tx, tenantId: string): void {
  tx.send({
    // In whole milliseconds, the precision of a Date.
    text: `update webhook_endpoints set expiry_rescan_from = ${tenantNow('$1', "date_trunc('milliseconds', clock_timestamp())")}
           where tenant_id = $1`,
    values: [tenantId],
  })
}

/** The endpoint of a tenant that has never set one: the defaults of webhook_endpoints, dated with the tenant's creation. */
async function defaultEndpoint(deps: SettingDeps, tenantId: string): Promise<Endpoint> {
  const [tenant] = await deps.db.query<{ createdAt: Date }>(sql`
    select created_at from tenants where tenant_id = ${tenantId}`)
  return {
    callbackUrl: null,
    eventTypes: [...DEFAULT_EVENT_TYPES],
    eventFormat: 'DEALER',
    usageThresholds: [...USAGE_THRESHOLDS_DEFAULT],
    expiryNoticeHours: ascending(EXPIRY_NOTICE_HOURS_DEFAULT),
    enabled: true,
    disabledReason: null,
    failureWindow: { failingSinceMs: null, alertedPercent: 0 },
    updatedAt: tenant?.createdAt ?? new Date(deps.databaseClock.now()),
  }
}

function answerOf(endpoint: Endpoint): WebhookSetAnswer {
  const { callbackUrl, eventTypes, enabled, usageThresholds, expiryNoticeHours, updatedAt } = endpoint
  const lastUpdateTime = formatTime(updatedAt)
  return { callbackUrl, eventTypes, enabled, usageThresholds, expiryNoticeHours, lastUpdateTime }
}

function auditedOf({ callbackUrl, eventTypes, eventFormat, enabled, usageThresholds, expiryNoticeHours }: Endpoint) {
  const url = callbackUrl === null ? null : maskedUrl(callbackUrl)
  return { callbackUrl: url, eventTypes, eventFormat, enabled, usageThresholds, expiryNoticeHours }
}
