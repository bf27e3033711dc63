import { timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { sendableSince } from '../sending/delivery-attempt.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import { SENDABLE_DAYS } from '../webhook-limits.ts'

/**
 * Sends an event again, with the same notifyId and all retries. An event waiting for a retry is sent now. An event that is
 * being sent is sent once more afterwards.
 * @throws Refusal if the event does not exist or is too old, or if no endpoint accepts it
 */
export async function resendEvent(
  deps: Pick<WebhookDeps, 'db' | 'ids' | 'databaseClock' | 'wake'>,
  tenantId: string,
  id: string,
  by: By,
): Promise<void> {
  const notifyId = requireUuid(id, 'event')
  const now = new Date(deps.databaseClock.now())
  await deps.db.tx(async (tx) => {
    const [event] = await tx.query<{ notifyId: string; notifyType: string }>(sql`
      select notify_id, notify_type from events where tenant_id = ${tenantId} and notify_id = ${notifyId}`)
    if (!event) throw notFound('event')
    if (timeOfUuid(event.notifyId) < sendableSince(now.getTime()).getTime()) {
      const message = `The event is older than ${SENDABLE_DAYS} days and cannot be sent again. Look up its order instead.`
      throw new Refusal(409, 'EVENT_TOO_OLD', message)
    }
    await requireEndpoint(tx, tenantId, [event.notifyType])
    await tx.query(sql`
      insert into deliveries as d (tenant_id, notify_id, delivery_state, due_at, generation)
      values (${tenantId}, ${notifyId}, 'PENDING', ${now}, ${now.getTime()})
      on conflict (tenant_id, notify_id) do update
      set delivery_state = 'PENDING', due_at = excluded.due_at, attempts = 0,
        generation = greatest(excluded.generation, d.generation + 1)`)
    audit(tx, deps.ids, { tenantId, ...by, action: 'webhook.resend', subject: notifyId })
  })
  deps.wake.wake('webhooks')
}

/**
 * @returns the types in notifyTypes to which the tenant's endpoint is subscribed
 * @throws Refusal if the tenant has no enabled endpoint that is subscribed to any of them
 */
export async function requireEndpoint<Type extends string>(
  tx: Tx,
  tenantId: string,
  notifyTypes: readonly Type[],
): Promise<Type[]> {
  const [endpoint] = await tx.query<{ enabled: boolean; eventTypes: string[] }>(sql`
    select enabled, event_types from webhook_endpoints
    where tenant_id = ${tenantId} and callback_url is not null`)
  if (!endpoint) {
    throw new Refusal(409, 'NO_ENDPOINT', 'The tenant has no callback URL. Set one, then send the events again.')
  }
  if (!endpoint.enabled) {
    throw new Refusal(409, 'ENDPOINT_DISABLED', 'The callback URL is disabled. Enable it, then send the events again.')
  }
  const subscribed = notifyTypes.filter((type) => endpoint.eventTypes.includes(type))
  if (subscribed.length === 0) {
    throw new Refusal(409, 'NOT_SUBSCRIBED', `The endpoint is not subscribed to ${notifyTypes.join(' and ')} events.`)
  }
  return subscribed
}
