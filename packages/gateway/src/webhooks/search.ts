import type { EventType } from '@dealer-esim/contract'
import sql, { empty } from 'sql-template-tag'
import type { Db } from '../lib/db.ts'
import { firstUuidAt } from '../lib/ids.ts'

export type DeliveryState = 'PENDING' | 'DELIVERED' | 'DEAD' | 'UNSENT'

export interface FoundEvent {
  tenantId: string
  clientName: string
  notifyId: string
  notifyType: EventType
  orderId: string
  deliveryState: DeliveryState
  attempts: number
  dueAt: Date | null
  createdAt: Date
  settledAt: Date | null
  /** Of the latest attempt. */
  lastOutcome: string | null
}

export interface EventFilter {
  tenantId: string | null
  state?: DeliveryState | undefined
  type?: EventType | undefined
  orderId?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  before?: string | undefined
}

/** Events and how their delivery went, newest first. Events live 30 days in partitions by time. */
export function searchEvents(db: Pick<Db, 'query'>, filter: EventFilter, limit: number): Promise<FoundEvent[]> {
  const { tenantId, state, type, orderId, from, to, before } = filter
  return db.query<FoundEvent>(sql`
    select e.tenant_id as "tenantId", t.client_name as "clientName", e.notify_id as "notifyId",
           e.notify_type as "notifyType", e.order_id as "orderId", e.delivery_state as "deliveryState", e.attempts,
           e.due_at as "dueAt", e.created_at as "createdAt", e.settled_at as "settledAt", a.outcome as "lastOutcome"
    from tenants t
    cross join lateral (
      select * from events e where e.tenant_id = t.tenant_id
        ${state === undefined ? empty : sql`and e.delivery_state = ${state}`}
        ${type === undefined ? empty : sql`and e.notify_type = ${type}`}
        ${orderId === undefined ? empty : sql`and e.order_id = ${orderId}`}
        ${from === undefined ? empty : sql`and e.notify_id >= ${firstUuidAt(from.getTime())}`}
        ${to === undefined ? empty : sql`and e.notify_id < ${firstUuidAt(to.getTime())}`}
        ${before === undefined ? empty : sql`and e.notify_id < ${before}`}
      order by e.notify_id desc limit ${limit}) e
    left join lateral (
      select outcome from delivery_attempts a where a.tenant_id = e.tenant_id and a.notify_id = e.notify_id
      order by a.attempt_id desc limit 1) a on true
    where true ${tenantId === null ? empty : sql`and t.tenant_id = ${tenantId}`}
    order by e.notify_id desc limit ${limit}`)
}

export interface EventDetail extends Omit<FoundEvent, 'clientName' | 'lastOutcome'> {
  content: unknown
}

export async function readEvent(
  db: Pick<Db, 'query'>,
  tenantId: string,
  notifyId: string,
): Promise<EventDetail | undefined> {
  const [row] = await db.query<EventDetail>(sql`
    select tenant_id as "tenantId", notify_id as "notifyId", notify_type as "notifyType", order_id as "orderId",
           delivery_state as "deliveryState", attempts, due_at as "dueAt", created_at as "createdAt",
           settled_at as "settledAt", content
    from events where tenant_id = ${tenantId} and notify_id = ${notifyId}`)
  return row
}

export interface LoggedDelivery {
  attemptId: string
  url: string
  address: string | null
  startedAt: Date
  duration_ms: number
  httpStatus: number | null
  outcome: string
  answer: Buffer | null
}

export function readDeliveries(db: Pick<Db, 'query'>, tenantId: string, notifyId: string): Promise<LoggedDelivery[]> {
  return db.query<LoggedDelivery>(sql`
    select attempt_id as "attemptId", url, address, started_at as "startedAt", duration_ms, http_status as "httpStatus",
           outcome, answer
    from delivery_attempts where tenant_id = ${tenantId} and notify_id = ${notifyId} order by attempt_id limit 200`)
}
