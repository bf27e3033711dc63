import type { EventType } from '@dealer-esim/contract'
import {
  type Columns,
  jsonArray,
  NULL,
  plainArray,
  timeArray,
  unnest,
  uuidArray,
} from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'

export interface NewEvent {
  tenantId: string
  /** A UUIDv7 created now: it orders the tenant's events and identifies the event to receivers. */
  notifyId: string
  notifyType: EventType
  /** null: the event does not concern a single order. */
  orderId: string | null
  /** Matches the contract's schema for the event type. */
  content: object
  details?: EventDetails | undefined
  /** The wire format calls it eventGenerateTime. Stored as the present if it is ahead, as test times are. */
  createdAt: Date
}

/** Details that appear in the RT format but not in the dealer API's format (webhooks/notification-body.ts). */
export type EventDetails =
  /** DELIVERY_UPDATED: the status of one eSIM, the only one that changed. */
  | {
      changed: 'esimStatus' | 'smdpStatus'
      esimTranNo: string
      eid: string | null
      /** Bytes; null: unlimited. Absent if only the esimStatus was known. */
      totalVolume?: number | null
      orderUsage?: number | null
    }
  /** ESIM_EXPIRING. */
  | { totalDuration: number }

/**
 * Records events in the transaction that causes them, without an extra round trip. An event is PENDING if the tenant's
 * endpoint is set, enabled and subscribed to its type; otherwise it is UNSENT: kept and replayable. Takes no lock. After
 * the commit the caller wakes the sender (webhooks/sending/sender.ts), passing the tenants if it knows them:
 * `deps.wake.wake('webhooks', [tenantId])`.
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
      plainArray(events.map((event) => event.orderId ?? NULL)),
      jsonArray(events.map((event) => JSON.stringify(event.content))),
      jsonArray(events.map(({ details }) => (details ? JSON.stringify(details) : null))),
      timeArray(events.map((event) => event.createdAt.getTime())),
    ],
  })
}

/**
 * The two inserts of `recordEvents` as parts of a larger statement: an event and its delivery for each row of `source`,
 * which has the columns tenant_id, notify_id, notify_type, order_id, content and created_at.
 * @param details an SQL expression
 */
export function eventsOf(source: string, details = 'null'): string {
  return `
  insert into events (tenant_id, notify_id, notify_type, order_id, content, details, created_at)
  select tenant_id, notify_id, notify_type, order_id, content, ${details}::json, least(created_at, clock_timestamp()) from ${source}`
}

export function deliveriesOf(source: string): string {
  // least(): a caller's fast clock, or test time, must not delay the first attempt.
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
  details: 'json',
  created_at: 'timestamptz',
}
const RECORD = `
with event as materialized (select * from ${unnest(1, EVENTS, 'event')}
), recorded as (${eventsOf('event', 'details')}
), delivered as (${deliveriesOf('event')}
)
select where false -- a distributed schema runs the inserts only below a query`
