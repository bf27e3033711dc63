import { notify } from '../alerts/alerts.ts'
import { audit, SYSTEM } from '../audit/audit.ts'
import type { Ids } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { maskedUrl } from './attempt-log.ts'
import { FAILING_MAX_HOURS, type HealthChange } from './endpoint-health.ts'

/** A change of an endpoint's health that an attempt at `url` brought about. */
export interface EndpointChange {
  tenantId: string
  url: string
  atMs: number
  change: Exclude<HealthChange, { change: 'NONE' }> | { change: 'RECOVERED' }
}

/**
 * Each change holds only while the endpoint still is the one that was tried. What is told to the tenant is told by
 * whoever made the change, once.
 */
export async function writeEndpointChange(
  tx: Tx,
  ids: Ids,
  { tenantId, url, atMs, change }: EndpointChange,
): Promise<void> {
  switch (change.change) {
    case 'RECOVERED':
      return tx.send({
        text: `update webhook_endpoints set failing_since = null, alerted_percent = 0
               where tenant_id = $1 and callback_url = $2 and enabled and failing_since <= $3`,
        values: [tenantId, url, new Date(atMs)],
      })
    case 'FAILING':
      return tx.send({
        text: `update webhook_endpoints set failing_since = $3
               where tenant_id = $1 and callback_url = $2 and enabled and failing_since is null`,
        values: [tenantId, url, new Date(change.sinceMs)],
      })
    case 'WARN':
      return warn(tx, ids, tenantId, url, change)
    case 'DISABLE':
      return disable(tx, ids, tenantId, url, atMs, change)
    default:
      return change satisfies never
  }
}

async function warn(tx: Tx, ids: Ids, tenantId: string, url: string, change: { percent: number; sinceMs: number }) {
  const changed = await tx.query({
    text: `update webhook_endpoints set alerted_percent = $3
           where tenant_id = $1 and callback_url = $2 and enabled and alerted_percent < $3 and failing_since <= $4
           returning 1`,
    values: [tenantId, url, change.percent, new Date(change.sinceMs)],
  })
  if (changed.length === 0) return
  const since = new Date(change.sinceMs).toISOString()
  notify(tx, ids, {
    tenantId,
    kind: 'ENDPOINT_FAILING',
    audience: 'TENANT',
    message: `The callback URL has failed since ${since}. If it does not answer again, it is disabled ${FAILING_MAX_HOURS} hours after that: ${change.percent} % of them have passed. The delivery log says what goes wrong.`,
    data: { callbackUrl: maskedUrl(url), failingSince: since, percent: change.percent },
  })
}

async function disable(
  tx: Tx,
  ids: Ids,
  tenantId: string,
  url: string,
  atMs: number,
  { reason, sinceMs }: { reason: 'GONE' | 'FAILING'; sinceMs: number },
) {
  const changed = await tx.query({
    text: `update webhook_endpoints
           set enabled = false, disabled_reason = $3, failing_since = coalesce(failing_since, $4), updated_at = $5
           where tenant_id = $1 and callback_url = $2 and enabled
             and case when $3 = 'GONE' then updated_at <= $5 else failing_since <= $4 end
           returning 1`,
    values: [tenantId, url, reason, new Date(sinceMs), new Date(atMs)],
  })
  if (changed.length === 0) return
  const callbackUrl = maskedUrl(url)
  const why = reason === 'GONE' ? 'It answered 410 Gone' : `It has failed for ${FAILING_MAX_HOURS} hours`
  notify(tx, ids, {
    tenantId,
    kind: 'ENDPOINT_DISABLED',
    audience: 'TENANT',
    message: `The callback URL was disabled. ${why}. Events are still recorded: mend the receiver, enable the callback URL again, then replay what was not sent.`,
    data: { callbackUrl, reason, failingSince: new Date(sinceMs).toISOString() },
  })
  audit(tx, ids, {
    tenantId,
    ...SYSTEM,
    action: 'webhook.disable',
    subject: callbackUrl,
    before: { enabled: true },
    after: { enabled: false, reason },
  })
}
