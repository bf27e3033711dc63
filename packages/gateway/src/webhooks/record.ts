import type { EventType } from '@dealer-esim/contract'
import { type Columns, jsonArray, plainArray, timeArray, unnest, uuidArray } from '../lib/postgres/columns.ts'
import type { Tx } from '../lib/postgres/db.ts'

export interface NewEvent {
  tenantId: string
  /** A UUIDv7, made now: the event's place among the tenant's events, and what receivers know it by. */
  notifyId: string
  notifyType: EventType
  orderId: string
  /** As the contract's event schemas have it. */
  content: object
  /** eventGenerateTime on the wire. */
  createdAt: Date
}

/**
 * Records events in the transaction that causes them, at no round trip of its own. An event is PENDING when the
 * tenant's endpoint is set, enabled and subscribed to its type, else UNSENT: kept, and replayable. Takes no lock.
 * After the commit the caller wakes the sender: `deps.wake.wake('webhooks')`.
 */
export function recordEvents(tx: Tx, events: readonly NewEvent[]): void {
  if (events.length === 0) return
  tx.send({
    name: 'webhooks-record',
    text: RECORD,
    values: [
      uuidArray(events.map((event) => event.tenantId)),
      uuidArray(events.map((event) => event.notifyId)),
      plainArray(events.map((event) => event.notifyType)),
      uuidArray(events.map((event) => event.orderId)),
      jsonArray(events.map((event) => JSON.stringify(event.content))),
      timeArray(events.map((event) => event.createdAt.getTime())),
    ],
  })
}

/**
 * The same as two parts of a larger statement, for a row of `source` each: the event, and its delivery. They need
 * tenant_id, notify_id, notify_type, order_id, content and created_at there.
 */
export function eventsOf(source: string): string {
  return `
  insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at)
  select tenant_id, notify_id, notify_type, order_id, content, created_at from ${source}`
}

export function deliveriesOf(source: string): string {
  // A caller's clock that runs ahead must not delay the first attempt, hence least().
  return `
  insert into deliveries (tenant_id, notify_id, delivery_state, due_at)
  select e.tenant_id, e.notify_id, case when w.tenant_id is null then 'UNSENT' else 'PENDING' end,
         case when w.tenant_id is not null then least(e.created_at, clock_timestamp()) end
  from ${source} as e
  left join webhook_endpoints w
    on w.tenant_id = e.tenant_id and w.enabled and w.callback_url is not null and e.notify_type = any (w.event_types)`
}

const EVENTS: Columns = {
  tenant_id: 'uuid',
  notify_id: 'uuid',
  notify_type: 'text',
  order_id: 'uuid',
  content: 'json',
  created_at: 'timestamptz',
}
const RECORD = `
with event as materialized (select * from ${unnest(1, EVENTS, 'event')}
), recorded as (${eventsOf('event')}
)${deliveriesOf('event')}`
