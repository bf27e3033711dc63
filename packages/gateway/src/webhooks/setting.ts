import {
  CALLBACK_URL_LENGTH_MAX,
  EVENT_TYPES,
  formatTime,
  type WebhookSetAnswer,
  type WebhookSetRequest,
} from '@dealer-esim/contract'
import { audit, type By } from '../audit/audit.ts'
import { ApiError } from '../lib/api-error.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { maskedUrl } from './attempt-log.ts'
import { afterHealthCheck } from './check-health.ts'
import type { WebhookDeps } from './deps.ts'
import { type Endpoint, loadEndpoint, lockEndpoint } from './endpoint.ts'

type SettingDeps = Pick<
  WebhookDeps,
  'db' | 'log' | 'ids' | 'cipher' | 'clock' | 'databaseClock' | 'outbound' | 'config' | 'wake'
>

/**
 * `webhook/set`, for the API, the console and the CLI alike. Members that are absent stay; `callbackUrl: null` removes
 * the URL; `{}` reads. A URL that is set, and one that is enabled, is checked first (check-health.ts), outside of any
 * transaction; on a failure the old setting stays. An endpoint that we disabled is enabled by setting or removing its URL,
 * unless the same request says otherwise. Changes nothing that admission looks at.
 * @throws ApiError 400101, 400102, 101007
 */
export async function setWebhook(
  deps: SettingDeps,
  tenantId: string,
  request: WebhookSetRequest,
  by: By,
): Promise<WebhookSetAnswer> {
  const known = await loadEndpoint(deps.db, tenantId)
  const { callbackUrl, eventTypes, enabled } = request
  if (callbackUrl === undefined && eventTypes === undefined && enabled === undefined) {
    return answerOf(known ?? (await neverSet(deps, tenantId)))
  }
  const url = callbackUrl ?? (callbackUrl === undefined && enabled ? known?.callbackUrl : undefined)
  const change = () => changeEndpoint(deps, tenantId, request, url ?? undefined, by)
  if (typeof url !== 'string') return change()
  if (url.length > CALLBACK_URL_LENGTH_MAX) {
    throw new ApiError('400101', { details: [{ field: 'callbackUrl', reason: 'This address is too long.' }] })
  }
  return afterHealthCheck(deps, tenantId, url, change)
}

/** @param checkedUrl the URL that has just answered */
async function changeEndpoint(
  deps: SettingDeps,
  tenantId: string,
  request: WebhookSetRequest,
  checkedUrl: string | undefined,
  by: By,
): Promise<WebhookSetAnswer> {
  const changed = await deps.db.tx(async (tx) => {
    tx.send({
      text: 'insert into webhook_endpoints (tenant_id) values ($1) on conflict do nothing',
      values: [tenantId],
    })
    const before = await lockEndpoint(tx, tenantId)
    if (!before) throw new Error('the endpoint was inserted above')
    const after = applied(before, request, checkedUrl, new Date(deps.databaseClock.now()))
    writeEndpoint(tx, tenantId, after)
    audit(tx, deps.ids, {
      tenantId,
      ...by,
      action: 'webhook.set',
      before: auditedOf(before),
      after: auditedOf(after),
    })
    return after
  })
  // What waited for an endpoint that is gone is to become UNSENT.
  deps.wake.wake('webhooks')
  return answerOf(changed)
}

function applied(
  before: Endpoint,
  { callbackUrl, eventTypes, enabled }: WebhookSetRequest,
  checkedUrl: string | undefined,
  now: Date,
): Endpoint {
  const well = checkedUrl !== undefined
  const after: Endpoint = {
    callbackUrl: callbackUrl === undefined ? before.callbackUrl : callbackUrl,
    eventTypes: eventTypes ? EVENT_TYPES.filter((type) => eventTypes.includes(type)) : before.eventTypes,
    enabled: enabled ?? (before.enabled || (before.disabledReason !== null && (well || callbackUrl === null))),
    disabledReason: before.disabledReason,
    health: well ? { failingSinceMs: null, warnedPercent: 0 } : before.health,
    updatedAt: now,
  }
  // Our own reason ends with the tenant's word.
  if (after.enabled || enabled === false) after.disabledReason = null
  return after
}

function writeEndpoint(tx: Tx, tenantId: string, endpoint: Endpoint): void {
  const { failingSinceMs, warnedPercent } = endpoint.health
  tx.send({
    text: `update webhook_endpoints
           set callback_url = $2, event_types = $3, enabled = $4, disabled_reason = $5, failing_since = $6,
               alerted_percent = $7, updated_at = $8
           where tenant_id = $1`,
    values: [
      tenantId,
      endpoint.callbackUrl,
      endpoint.eventTypes,
      endpoint.enabled,
      endpoint.disabledReason,
      failingSinceMs === null ? null : new Date(failingSinceMs),
      warnedPercent,
      endpoint.updatedAt,
    ],
  })
}

/** As webhook_endpoints has its defaults, since the tenant was made. */
async function neverSet(deps: SettingDeps, tenantId: string): Promise<Endpoint> {
  const [tenant] = await deps.db.query<{ createdAt: Date }>({
    text: 'select created_at from tenants where tenant_id = $1',
    values: [tenantId],
  })
  return {
    callbackUrl: null,
    eventTypes: [...EVENT_TYPES],
    enabled: true,
    disabledReason: null,
    health: { failingSinceMs: null, warnedPercent: 0 },
    updatedAt: tenant?.createdAt ?? new Date(deps.databaseClock.now()),
  }
}

function answerOf({ callbackUrl, eventTypes, enabled, updatedAt }: Endpoint): WebhookSetAnswer {
  return { callbackUrl, eventTypes, enabled, lastUpdateTime: formatTime(updatedAt) }
}

function auditedOf({ callbackUrl, eventTypes, enabled }: Endpoint) {
  return { callbackUrl: callbackUrl === null ? null : maskedUrl(callbackUrl), eventTypes, enabled }
}
