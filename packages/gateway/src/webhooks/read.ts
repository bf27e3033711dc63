import type { EventType } from '@dealer-esim/contract'
import sql, { empty, join, type Sql } from 'sql-template-tag'
import type { Db } from '../lib/db.ts'
import { firstUuidAt, orderNoOf } from '../lib/ids.ts'
import { absent, requireUuid } from '../lib/refusal.ts'
import { ACKNOWLEDGED } from './attempt-log.ts'

export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** An event and where its delivery stands. */
export interface EventView {
  tenantId: string
  clientName: string
  notifyId: string
  notifyType: EventType
  orderNo: string
  createdAt: Date
  deliveryState: DeliveryState
  /** Since it was recorded or last replayed. */
  attempts: number
  /** When it is tried next. */
  dueAt: Date | null
  /** When it became DELIVERED or DEAD. */
  settledAt: Date | null
  /** Of the latest attempt, in plain words. */
  lastOutcome: string | null
}

/** One attempt, as operators and the tenant see it. */
export interface AttemptView {
  /** Also the RT-RequestID that the receiver got. */
  attemptId: string
  notifyId: string
  notifyType: string
  attemptNo: number
  url: string
  /** The address that was dialled. */
  address: string | null
  startedAt: Date
  duration_ms: number
  httpStatus: number | null
  acknowledged: boolean
  /** 'acknowledged', or what went wrong in plain words. */
  outcome: string
  /** The first 4 KiB. */
  answer: string | null
}

export interface EventFilter {
  /** Absent: of all tenants. */
  tenantId?: string | undefined
  notifyTypes?: readonly EventType[] | undefined
  deliveryStates?: readonly DeliveryState[] | undefined
  orderId?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** A page, newest first. `before` is the last id of the page before. */
export interface Page {
  most: number
  before?: string | undefined
}

/** Events and how their delivery went: of each tenant its newest are read, by its own index. */
export async function listEvents(
  db: Pick<Db, 'query'>,
  filter: EventFilter,
  { most, before }: Page,
): Promise<EventView[]> {
  const { tenantId, notifyTypes, deliveryStates, orderId, from, to } = filter
  const where = [
    sql`e.tenant_id = t.tenant_id`,
    ...(notifyTypes ? [sql`e.notify_type = any (${notifyTypes})`] : []),
    ...(deliveryStates ? [inStates(deliveryStates)] : []),
    ...(orderId ? [sql`e.order_id = ${orderId}`] : []),
    // UUIDv7s carry their time: a range of time is a range of ids, and only its partitions are read.
    ...(from ? [sql`e.notify_id >= ${firstUuidAt(from.getTime())}`] : []),
    ...(to ? [sql`e.notify_id < ${firstUuidAt(to.getTime())}`] : []),
    ...(before ? [sql`e.notify_id < ${requireUuid(before, 'event')}`] : []),
  ]
  const rows = await db.query<EventRow>(sql`
    select ${COLUMNS} from tenants t
    cross join lateral (
      select * from events e where ${join(where, ' and ')} order by e.notify_id desc limit ${most}) e
    ${LATEST_ATTEMPT}
    ${tenantId === undefined ? empty : sql`where t.tenant_id = ${tenantId}`}
    order by e.notify_id desc limit ${most}`)
  return rows.map(eventOf)
}

/** One event with its content and its attempts, latest first. @throws Refusal where there is none */
export async function showEvent(
  db: Pick<Db, 'query'>,
  tenantId: string,
  notifyId: string,
): Promise<EventView & { content: unknown; attemptList: AttemptView[] }> {
  const [row] = await db.query<EventRow & { content: unknown }>(sql`
    select ${COLUMNS}, e.content from tenants t join events e on e.tenant_id = t.tenant_id ${LATEST_ATTEMPT}
    where t.tenant_id = ${tenantId} and e.notify_id = ${requireUuid(notifyId, 'event')}`)
  if (!row) throw absent('event')
  const attempts = await db.query<AttemptRow>(sql`
    select attempt_id as "attemptId", notify_id as "notifyId", notify_type as "notifyType", attempt_no as "attemptNo", url,
           address, started_at as "startedAt", duration_ms, http_status as "httpStatus", outcome, answer
    from delivery_attempts where tenant_id = ${tenantId} and notify_id = ${notifyId}
    order by attempt_id desc limit ${ATTEMPTS_SHOWN_MAX}`)
  return { ...eventOf(row), content: row.content, attemptList: attempts.map(attemptOf) }
}

/** More than the retry table has; only an event that was replayed again and again has more. */
const ATTEMPTS_SHOWN_MAX = 200

/** DEAD by itself has an index of its own, which only a constant finds. */
function inStates(states: readonly DeliveryState[]): Sql {
  return states.length === 1 && states[0] === 'DEAD'
    ? sql`e.delivery_state = 'DEAD'`
    : sql`e.delivery_state = any (${states})`
}

const COLUMNS = sql`
  e.tenant_id as "tenantId", t.client_name as "clientName", e.notify_id as "notifyId", e.notify_type as "notifyType",
  e.order_id as "orderId", e.created_at as "createdAt", e.delivery_state as "deliveryState", e.attempts,
  e.due_at as "dueAt", e.settled_at as "settledAt", a.outcome as "lastOutcome"`

const LATEST_ATTEMPT = sql`
  left join lateral (
    select outcome from delivery_attempts a where a.tenant_id = e.tenant_id and a.notify_id = e.notify_id
    order by a.attempt_id desc limit 1) a on true`

type EventRow = Omit<EventView, 'orderNo'> & { orderId: string }

function eventOf({ orderId, ...row }: EventRow): EventView {
  return { ...row, orderNo: orderNoOf(orderId) }
}

type AttemptRow = Omit<AttemptView, 'acknowledged' | 'answer'> & { answer: Buffer | null }

function attemptOf(row: AttemptRow): AttemptView {
  return { ...row, acknowledged: row.outcome === ACKNOWLEDGED, answer: row.answer?.toString() ?? null }
}
