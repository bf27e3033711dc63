import type { EventType } from '@dealer-esim/contract'
import sql, { join, type Sql } from 'sql-template-tag'
import type { Db } from '../lib/db.ts'
import { firstUuidAt, orderNoOf } from '../lib/ids.ts'
import { absent } from '../lib/refusal.ts'
import { ACKNOWLEDGED } from './attempt-log.ts'

export type DeliveryState = 'PENDING' | 'DELIVERED' | 'DEAD' | 'UNSENT'

/** An event and where its delivery stands. */
export interface EventView {
  notifyId: string
  notifyType: EventType
  orderNo: string
  createTime: Date
  deliveryState: DeliveryState
  /** Since it was recorded or last replayed. */
  attempts: number
  /** When it is tried next. */
  nextAttemptTime: Date | null
  /** When it became DELIVERED or DEAD. */
  settledTime: Date | null
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
  startTime: Date
  duration_ms: number
  httpStatus: number | null
  acknowledged: boolean
  /** 'acknowledged', or what went wrong in plain words. */
  outcome: string
  /** The first 4 KiB. */
  answer: string | null
}

export interface EventFilter {
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

export async function listEvents(db: Db, tenantId: string, filter: EventFilter, page: Page): Promise<EventView[]> {
  const where = [sql`tenant_id = ${tenantId}`, ...within('notify_id', filter, page)]
  if (filter.notifyTypes) where.push(sql`notify_type = any (${filter.notifyTypes})`)
  if (filter.deliveryStates) where.push(inStates(filter.deliveryStates))
  if (filter.orderId) where.push(sql`order_id = ${filter.orderId}`)
  const rows = await db.query<EventRow>(sql`
    select notify_id, notify_type, order_id, created_at, delivery_state, attempts, due_at, settled_at
    from events where ${join(where, ' and ')} order by notify_id desc limit ${page.most}`)
  return rows.map(eventOf)
}

/** One event with its content and its attempts, latest first. @throws Refusal where there is none */
export async function showEvent(
  db: Db,
  tenantId: string,
  notifyId: string,
): Promise<EventView & { content: unknown; attemptList: AttemptView[] }> {
  const [row] = await db.query<EventRow & { content: unknown }>(sql`
    select notify_id, notify_type, order_id, created_at, delivery_state, attempts, due_at, settled_at, content
    from events where tenant_id = ${tenantId} and notify_id = ${notifyId}`)
  if (!row) throw absent('event')
  const attempts = await db.query<AttemptRow>(sql`
    select * from delivery_attempts where tenant_id = ${tenantId} and notify_id = ${notifyId}
    order by attempt_id desc limit ${ATTEMPTS_SHOWN_MOST}`)
  return { ...eventOf(row), content: row.content, attemptList: attempts.map(attemptOf) }
}

/** More than the retry table has; only an event that was replayed again and again has more. */
const ATTEMPTS_SHOWN_MOST = 100

export interface AttemptFilter {
  acknowledged?: boolean | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** The delivery log: every attempt of a tenant, health checks among them, latest first; kept for 30 days. */
export async function listAttempts(
  db: Db,
  tenantId: string,
  filter: AttemptFilter,
  page: Page,
): Promise<AttemptView[]> {
  const where = [sql`tenant_id = ${tenantId}`, ...within('attempt_id', filter, page)]
  if (filter.acknowledged !== undefined) where.push(sql`(outcome = ${ACKNOWLEDGED}) = ${filter.acknowledged}`)
  const rows = await db.query<AttemptRow>(sql`
    select * from delivery_attempts where ${join(where, ' and ')} order by attempt_id desc limit ${page.most}`)
  return rows.map(attemptOf)
}

/** UUIDv7s carry their time: a range of time is a range of ids, and only its partitions are read. */
function within(
  column: 'notify_id' | 'attempt_id',
  { from, to }: Pick<EventFilter, 'from' | 'to'>,
  { before }: Page,
): Sql[] {
  const id = column === 'notify_id' ? sql`notify_id` : sql`attempt_id`
  return [
    ...(from ? [sql`${id} >= ${firstUuidAt(from.getTime())}`] : []),
    ...(to ? [sql`${id} < ${firstUuidAt(to.getTime())}`] : []),
    ...(before ? [sql`${id} < ${before}`] : []),
  ]
}

/** DEAD by itself has an index of its own, which only a constant finds. */
function inStates(states: readonly DeliveryState[]): Sql {
  return states.length === 1 && states[0] === 'DEAD'
    ? sql`delivery_state = 'DEAD'`
    : sql`delivery_state = any (${states})`
}

interface EventRow {
  notify_id: string
  notify_type: EventType
  order_id: string
  created_at: Date
  delivery_state: DeliveryState
  attempts: number
  due_at: Date | null
  settled_at: Date | null
}

function eventOf(row: EventRow): EventView {
  return {
    notifyId: row.notify_id,
    notifyType: row.notify_type,
    orderNo: orderNoOf(row.order_id),
    createTime: row.created_at,
    deliveryState: row.delivery_state,
    attempts: row.attempts,
    nextAttemptTime: row.due_at,
    settledTime: row.settled_at,
  }
}

interface AttemptRow {
  attempt_id: string
  notify_id: string
  notify_type: string
  attempt_no: number
  url: string
  address: string | null
  started_at: Date
  duration_ms: number
  http_status: number | null
  outcome: string
  answer: Buffer | null
}

function attemptOf(row: AttemptRow): AttemptView {
  return {
    attemptId: row.attempt_id,
    notifyId: row.notify_id,
    notifyType: row.notify_type,
    attemptNo: row.attempt_no,
    url: row.url,
    address: row.address,
    startTime: row.started_at,
    duration_ms: row.duration_ms,
    httpStatus: row.http_status,
    acknowledged: row.outcome === ACKNOWLEDGED,
    outcome: row.outcome,
    answer: row.answer?.toString() ?? null,
  }
}
