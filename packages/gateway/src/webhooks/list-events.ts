import type { EventType } from '@dealer-esim/contract'
import { orderNoOf } from '@dealer-esim/contract'
import { firstUuidAt, timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { join, raw, type Sql } from 'sql-template-tag'
import {
  countRows,
  type FoundKeys,
  findRowKeys,
  type RowFilter,
  type RowKey,
  type RowPage,
  type RowTable,
} from '#tenants/tenant-rows.ts'
import { ACKNOWLEDGED } from './attempt-log.ts'
import { DELIVERY_OF_EVENT, type DeliveryState } from './delivery-state.ts'

/** An event and the state of its delivery. */
export interface EventView {
  tenantId: string
  clientName: string
  notifyId: string
  notifyType: EventType
  /** null: the event does not concern a single order. */
  orderNo: string | null
  /** The statuses that it reports: the status of the order or action, and an eSIM's changed status. */
  statuses: string[]
  /** Distinguishes events of the same kind: the percentage of a threshold, or the hours before expiry. */
  level: { unit: 'PERCENT' | 'HOURS'; value: number } | null
  createdAt: Date
  deliveryState: DeliveryState
  /** Attempts since it was recorded or last replayed; null: it was delivered before the delivery log begins. */
  attempts: number | null
  /** When the next attempt is due. */
  dueAt: Date | null
  /**
   * When the attempt that made it DELIVERED or DEAD ended; null for other states, or if the log does not reach back that
   * far.
   */
  settledAt: Date | null
  /** The message of the latest attempt; for a DELIVERED event, of the acknowledged attempt. */
  lastOutcome: string | null
}

/** One attempt, as shown to operators and the tenant. */
export interface AttemptView {
  /** Also the RT-RequestID that was sent to the receiver. */
  attemptId: string
  notifyId: string
  notifyType: string
  attemptNo: number
  url: string
  /** The IP address that the attempt connected to. */
  address: string | null
  startedAt: Date
  durationMs: number
  httpStatus: number | null
  acknowledged: boolean
  /** 'acknowledged', or the error. */
  outcome: string
  /** The first 4 KiB of the response. */
  answer: string | null
  /** The beginnings of its signatures; null: nothing was signed. */
  signatureStarts: string | null
}

export interface EventFilter {
  /** If absent, all tenants. */
  tenantId?: string | undefined
  notifyTypes?: readonly EventType[] | undefined
  deliveryStates?: readonly DeliveryState[] | undefined
  /** Events of any of these orders. */
  orderIds?: readonly string[] | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** A page, newest first. `before` is the last id of the previous page. */
export interface Page {
  limit: number
  before?: string | undefined
}

/** Lists events with their deliveries, newest first. */
export async function listEvents(
  db: Pick<Db, 'query'>,
  filter: EventFilter,
  { limit, before }: Page,
): Promise<EventView[]> {
  const after = before === undefined ? undefined : [requireUuid(before, 'event')]
  return (await searchEvents(db, filter, { limit, after })).events
}

/** Searches the events of one tenant or of all, by time. */
export async function searchEvents(
  db: Pick<Db, 'query'>,
  filter: EventFilter,
  page: Omit<RowPage, 'by'>,
): Promise<Omit<FoundKeys, 'keys'> & { events: EventView[] }> {
  const { table, ...conditions } = rowFilter(filter)
  const { keys, ...rest } = await findRowKeys(db, table, conditions, page)
  return { events: await readEvents(db, keys), ...rest }
}

export function countEvents(db: Pick<Db, 'query'>, filter: EventFilter): Promise<RowCount> {
  const { table, ...conditions } = rowFilter(filter)
  return countRows(db, table, conditions)
}

/**
 * Reads the events of a page. The limit makes the planner look up each key: otherwise, for an average dealer, reading all
 * events for each key seems just as cheap to it.
 */
async function readEvents(db: Pick<Db, 'query'>, keys: RowKey[]): Promise<EventView[]> {
  if (keys.length === 0) return []
  const rows = await db.query<EventRow>(sql`
    select ${COLUMNS}
    from unnest(${keys.map((key) => key.tenantId)}::uuid[], ${keys.map((key) => key.id)}::uuid[])
           with ordinality as k (tenant_id, notify_id, place)
    join tenants t on t.tenant_id = k.tenant_id
    cross join lateral (
      select e.*, d.delivery_state, d.attempts, d.due_at from events e ${raw(DELIVERY_OF_EVENT)}
      where e.tenant_id = k.tenant_id and e.notify_id = k.notify_id limit 1) e
    ${latestAttempt(keys.map((key) => key.id))}
    order by k.place`)
  return rows.map(eventOf)
}

/** Undelivered events are found through their deliveries, without reading delivered events. */
function rowFilter(filter: EventFilter): RowFilter & { table: RowTable } {
  const { tenantId = null, notifyTypes, deliveryStates, orderIds, from, to } = filter
  const times = { tenantId, from, to, matching: orderIds ? ('ONE' as const) : undefined }
  const ofOrders = (event: string) => (orderIds ? [sql`${raw(event)}.order_id = any (${orderIds}::uuid[])`] : [])
  const ofTypes = (event: string) => (notifyTypes ? [sql`${raw(event)}.notify_type = any (${notifyTypes})`] : [])
  if (deliveryStates === undefined || deliveryStates.includes('DELIVERED') || orderIds)
    return {
      ...times,
      table: { table: 'events', id: 'notify_id' },
      indexed: ofOrders('r'),
      others: [...ofTypes('r'), ...(deliveryStates ? [sql`${STATE} = any (${deliveryStates})`] : [])],
    }
  const ofEvent = ofTypes('e')
  // A dealer without an endpoint has only unsent events.
  const matching = deliveryStates.includes('UNSENT') ? undefined : ('FEW' as const)
  return {
    ...{ ...times, matching, table: { table: 'deliveries', id: 'notify_id' } },
    indexed: [inStates(deliveryStates)],
    others: ofEvent.length
      ? [
          sql`exists (select from events e where e.tenant_id = r.tenant_id and e.notify_id = r.notify_id
                        and ${join(ofEvent, ' and ')})`,
        ]
      : [],
  }
}

const STATE = raw(`coalesce((
  select d.delivery_state from deliveries d where d.tenant_id = r.tenant_id and d.notify_id = r.notify_id), 'DELIVERED')`)

/** Returns an event with its content and attempts, latest first. @throws Refusal if it does not exist */
export async function getEvent(
  db: Pick<Db, 'query'>,
  tenantId: string,
  notifyId: string,
): Promise<EventView & Recorded & { attemptList: AttemptView[] }> {
  const id = requireUuid(notifyId, 'event')
  const [row] = await db.query<EventRow & Recorded>(sql`
    select ${COLUMNS}, e.content, e.details, t.app_key from tenants t
    join (select e.*, d.delivery_state, d.attempts, d.due_at from events e ${raw(DELIVERY_OF_EVENT)}) e using (tenant_id)
    ${latestAttempt([id])}
    where t.tenant_id = ${tenantId} and e.notify_id = ${id}`)
  if (!row) throw notFound('event')
  const attempts = await db.query<AttemptRow>(sql`
    select attempt_id, notify_id, notify_type, attempt_no, url,
           address, started_at, duration_ms, http_status, outcome, answer, signature_starts
    from delivery_attempts where tenant_id = ${tenantId} and notify_id = ${id} and attempt_id >= ${firstAttemptOf([id])}
    order by attempt_id desc limit ${ATTEMPTS_SHOWN_MAX}`)
  return { ...eventOf(row), attemptList: attempts.map(attemptOf) }
}

/** The event as recorded, and the AppKey stated in its requests. */
interface Recorded {
  content: unknown
  details: unknown
  appKey: string
}

/** More than the retries of one event. Only an event replayed many times has more. */
const ATTEMPTS_SHOWN_MAX = 200

function inStates(states: readonly DeliveryState[]): Sql {
  // DEAD has a partial index, which serves only a constant condition. Every PENDING event has a due_at.
  if (states.length === 1 && states[0] === 'DEAD') return raw("r.delivery_state = 'DEAD'")
  if (states.length === 1 && states[0] === 'PENDING')
    return raw("r.due_at is not null and r.delivery_state = 'PENDING'")
  return sql`r.delivery_state = any (${states})`
}

const COLUMNS = sql`
  e.tenant_id, t.tenant_name as client_name, e.notify_id, e.notify_type,
  e.order_id, e.content ->> 'orderStatus' as order_status, e.content ->> 'actionStatus' as action_status,
  (select p ->> (e.details ->> 'changed') from json_array_elements(e.content -> 'profiles') p
   where p ->> 'esimTranNo' = e.details ->> 'esimTranNo' limit 1) as changed_status,
  coalesce(e.content ->> 'threshold', e.content ->> 'percent')::int as percent, (e.content ->> 'hours')::int as hours,
  e.created_at, coalesce(e.delivery_state, 'DELIVERED') as delivery_state,
  coalesce(e.attempts, a.attempt_no) as attempts, e.due_at, a.outcome as last_outcome,
  case when coalesce(e.delivery_state, 'DEAD') = 'DEAD' then a.ended_at end as settled_at`

/**
 * Joins the latest attempt of the events `e` with these ids. An acknowledgement takes precedence over a later attempt made
 * under an earlier lease.
 */
const latestAttempt = (ids: readonly string[]) => sql`
  left join lateral (
    select outcome, attempt_no, started_at + duration_ms * interval '1 millisecond' as ended_at
    from delivery_attempts a
    where a.tenant_id = e.tenant_id and a.notify_id = e.notify_id and a.attempt_id >= ${firstAttemptOf(ids)}
    order by e.delivery_state is null and a.outcome = ${ACKNOWLEDGED} desc, a.attempt_id desc limit 1) a on true`

const CLOCKS_DIFFER_MS = 60_000

/**
 * A lower bound for the ids of these events' attempts. Without it, a page would search each day's partition of the
 * attempts.
 */
function firstAttemptOf(ids: readonly string[]): string {
  return firstUuidAt(Math.min(...ids.map(timeOfUuid)) - CLOCKS_DIFFER_MS)
}

type EventRow = Omit<EventView, 'orderNo' | 'statuses' | 'level'> & {
  orderId: string | null
  orderStatus: string | null
  changedStatus: string | null
  actionStatus: string | null
  percent: number | null
  hours: number | null
}

function eventOf<Row extends EventRow>(row: Row) {
  const { orderId, orderStatus, changedStatus, actionStatus, percent, hours, ...event } = row
  return {
    ...event,
    orderNo: orderId === null ? null : orderNoOf(orderId),
    statuses: [orderStatus, changedStatus, actionStatus].filter((status) => status !== null),
    level: levelOf(percent, hours),
  }
}

function levelOf(percent: number | null, hours: number | null): EventView['level'] {
  if (percent !== null) return { unit: 'PERCENT', value: percent }
  return hours === null ? null : { unit: 'HOURS', value: hours }
}

type AttemptRow = Omit<AttemptView, 'acknowledged' | 'answer'> & { answer: Buffer | null }

function attemptOf(row: AttemptRow): AttemptView {
  return { ...row, acknowledged: row.outcome === ACKNOWLEDGED, answer: row.answer?.toString() ?? null }
}
