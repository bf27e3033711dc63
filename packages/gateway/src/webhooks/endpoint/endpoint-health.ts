import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { isAhead } from '@dealer-esim/lib/leases.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { audit, SYSTEM } from '#platform/audit/audit.ts'
import { maskedUrl } from '../attempt-log.ts'
import { type FailureWindow, lockEndpoint } from './endpoint.ts'

const HOUR = 3_600_000

/** An endpoint is disabled when it has failed for this long since the first failure after its last success. */
export const FAILING_MAX_HOURS = 72
export const FAILING_MAX_MS = FAILING_MAX_HOURS * HOUR
/** The tenant is warned after these percentages of the window. */
const WARNINGS_PERCENT = [90, 75, 50] as const

export type HealthChange =
  | { change: 'NONE' }
  /** The first failure after a success. */
  | { change: 'FAILING'; sinceMs: number }
  | { change: 'WARN'; percent: number; sinceMs: number }
  | { change: 'DISABLE'; reason: 'FAILING' | 'GONE'; sinceMs: number }

/**
 * Decides what a failed attempt changes. Only an attempt can disable an endpoint, so an endpoint without traffic stays
 * enabled.
 */
export function afterFailure(health: FailureWindow, failedAtMs: number, gone: boolean): HealthChange {
  const sinceMs = health.failingSinceMs ?? failedAtMs
  if (gone) return { change: 'DISABLE', reason: 'GONE', sinceMs }
  const failingMs = failedAtMs - sinceMs
  if (failingMs >= FAILING_MAX_MS) return { change: 'DISABLE', reason: 'FAILING', sinceMs }
  const percent = WARNINGS_PERCENT.find((warning) => failingMs >= (FAILING_MAX_MS * warning) / 100)
  if (percent !== undefined && percent > health.alertedPercent) return { change: 'WARN', percent, sinceMs }
  return health.failingSinceMs === null ? { change: 'FAILING', sinceMs } : { change: 'NONE' }
}

/** A change in an endpoint's health, caused by an attempt at `url`. */
export interface EndpointChange {
  tenantId: string
  url: string
  /** When the attempt that caused the change began and ended, by the database's clock. */
  startedMs: number
  endedMs: number
  change: Exclude<HealthChange, { change: 'NONE' }> | { change: 'RECOVERED' }
}

/**
 * Saves a change if the endpoint still has the URL of the attempt. The node whose update changes the row alerts the tenant,
 * so each alert is raised only once. Locks the endpoint's row.
 */
export async function saveEndpointChange(
  tx: Tx,
  { ids, cipher }: { ids: Ids; cipher: Pick<Cipher, 'decrypt'> },
  endpointChange: EndpointChange,
): Promise<void> {
  const { tenantId, url, endedMs, change } = endpointChange
  const endpoint = await lockEndpoint(tx, cipher, tenantId)
  if (endpoint?.callbackUrl !== url) return
  switch (change.change) {
    case 'RECOVERED':
      return tx.send({
        text: `update webhook_endpoints set failing_since = null, alerted_percent = 0
               where tenant_id = $1 and enabled
                 and (failing_since <= $2 or ${isAhead('failing_since', '60000', '$2::timestamptz')})`,
        values: [tenantId, new Date(endedMs)],
      })
    case 'FAILING':
      return tx.send(sql`
        update webhook_endpoints set failing_since = ${new Date(change.sinceMs)}
        where tenant_id = ${tenantId} and enabled and failing_since is null`)
    case 'WARN':
      return warn(tx, ids, tenantId, url, change)
    case 'DISABLE':
      return disable(tx, ids, endpointChange, change)
    default:
      return change satisfies never
  }
}

async function warn(tx: Tx, ids: Ids, tenantId: string, url: string, change: { percent: number; sinceMs: number }) {
  const changed = await tx.query({
    text: `update webhook_endpoints set alerted_percent = $2
           where tenant_id = $1 and enabled and alerted_percent < $2 and failing_since <= $3
           returning 1`,
    values: [tenantId, change.percent, new Date(change.sinceMs)],
  })
  if (changed.length === 0) return
  const since = new Date(change.sinceMs).toISOString()
  createAlert(tx, ids, {
    tenantId,
    kind: 'ENDPOINT_FAILING',
    message: `The callback URL has failed since ${since}. It will be disabled after ${FAILING_MAX_HOURS} hours without a success; ${change.percent} % of that time has passed. See the delivery log for the errors.`,
    data: { callbackUrl: maskedUrl(url), failingSince: since, percent: change.percent },
  })
}

async function disable(
  tx: Tx,
  ids: Ids,
  { tenantId, url, startedMs, endedMs }: EndpointChange,
  { reason, sinceMs }: { reason: 'GONE' | 'FAILING'; sinceMs: number },
) {
  const changed = await tx.query({
    text: `update webhook_endpoints
           set enabled = false, disabled_reason = $2, failing_since = coalesce(failing_since, $3), updated_at = $4
           where tenant_id = $1 and enabled
             and case when $2 = 'GONE' then updated_at <= $5 else failing_since <= $3 end
           returning 1`,
    values: [tenantId, reason, new Date(sinceMs), new Date(endedMs), new Date(startedMs)],
  })
  if (changed.length === 0) return
  const callbackUrl = maskedUrl(url)
  const why = reason === 'GONE' ? 'It answered 410 Gone' : `It has failed for ${FAILING_MAX_HOURS} hours`
  createAlert(tx, ids, {
    tenantId,
    kind: 'ENDPOINT_DISABLED',
    message: `The callback URL was disabled. ${why}. Events are still recorded: fix the receiver, enable the callback URL again, then replay the unsent events.`,
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
