import type { DeliveryUpdatedContent, OrderStatus } from '@dealer-esim/contract'
import { orderNoOf } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import {
  type Columns,
  jsonbArray,
  plainArray,
  timeArray,
  unnest,
  uuidArray,
} from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Counter, type Registry } from '@platformatic/prom-client'
import { type EventDetails, type NewEvent, recordEvents } from '#platform/record-events.ts'
import type { LockedOrder } from './lock-orders.ts'
import { orderStatusOf, statusesBetween } from './order-item.ts'

/** A change to one order. Its items and profiles are already in their new state. */
export interface OrderChange {
  order: LockedOrder
  /** The status of one of its profiles has changed, which causes an event even if the order's status has not changed. */
  profilesChanged: boolean
  /** The changed statuses of its profiles, except those of profiles just delivered. */
  changedStatuses?: readonly ChangedStatus[]
  /** Records a separate event for each change, as the RT format requires; otherwise one event reports them all. */
  isEachReported?: boolean
  /** When fulfilment will next work on the order (null: never). Ends the lease unless `keepLease` is set. */
  release?: { dueAt: Date | null; keepLease?: boolean }
}

export interface ChangedStatus {
  status: 'esimStatus' | 'smdpStatus'
  profileId: string
  /** null: unknown, or not needed because the esimStatus changed. */
  eid: string | null
  /** The eSIM's usage at that time; absent if it was not read. */
  usage?: { totalVolume: bigint | null; orderUsage: bigint | null }
}

/**
 * Derives the status of orders from their items; no other code may do so. Writes the status and its history, and records a
 * DELIVERY_UPDATED event for every change, with the order's next sequence. Updates `order` accordingly. An order leaves
 * PAID through ALLOCATING. If its outcome is written in the same transaction, nobody could see it ALLOCATING: the history
 * then shows both statuses with the same time, and one event reports the last.
 * The caller holds the orders' locks (lockOrders, or a claim). Adds no round trip. Metrics count the statuses only after
 * the commit: otherwise a transaction that is rolled back and repeated would count twice.
 * @returns whether there are events to send: if so, the caller wakes the sender after the commit
 */
export function changeOrders(
  tx: Tx,
  deps: { ids: Ids; orderMetrics?: OrderMetrics },
  tenantId: string,
  changes: readonly OrderChange[],
  now: Date,
): boolean {
  const rows: ChangedRow[] = []
  const events: NewEvent[] = []
  for (const change of changes) {
    const { order } = change
    // An item that returns to its first supplier looks as if no supplier had been asked, but the order was shown as
    // ALLOCATING.
    const wasAsked = order.orderStatus !== 'PAID'
    const items = order.items.map((item) => ({ ...item, asked: wasAsked || item.attempts > 0 || item.routeNo > 0 }))
    const statuses = statusesBetween(order.orderStatus, orderStatusOf(items))
    const last = statuses.at(-1)
    const reported: Reported[] = last !== undefined ? [{ orderStatus: last }] : []
    if (last === undefined && change.profilesChanged) reported.push(...reportedProfiles(change))
    if (reported.length === 0 && change.release === undefined) continue
    for (const { orderStatus, details } of reported) {
      order.orderStatus = orderStatus
      order.eventSequence += 1
      events.push(eventOf(deps.ids, tenantId, order, details, now))
    }
    rows.push(rowOf(change, statuses, now))
    const { orderMetrics } = deps
    if (orderMetrics && statuses.length > 0) {
      tx.afterCommit(() => {
        for (const status of statuses) orderMetrics.entered(status)
      })
    }
  }
  if (rows.length > 0) tx.send({ name: 'orders-change', text: CHANGE, values: [tenantId, now, ...columnsOf(rows)] })
  recordEvents(tx, events)
  return events.length > 0
}

interface Reported {
  orderStatus: OrderStatus
  details?: EventDetails | undefined
}

/** An event about several eSIMs has no details. If both statuses of one eSIM changed, the event shows its esimStatus. */
function reportedProfiles({ order, changedStatuses = [], isEachReported }: OrderChange): Reported[] {
  const { orderStatus } = order
  if (isEachReported && changedStatuses.length > 0) {
    return changedStatuses.map((changed) => ({ orderStatus, details: detailsOf(changed) }))
  }
  const [first] = changedStatuses
  const isOfOne = first !== undefined && changedStatuses.every(({ profileId }) => profileId === first.profileId)
  const shown = changedStatuses.find(({ status }) => status === 'esimStatus') ?? first
  return [{ orderStatus, details: isOfOne && shown ? detailsOf(shown) : undefined }]
}

function detailsOf({ status, profileId, eid, usage }: ChangedStatus): EventDetails {
  const changed = { changed: status, esimTranNo: profileId, eid }
  if (status !== 'esimStatus' || usage === undefined) return changed
  const numberOf = (bytes: bigint | null) => (bytes === null ? null : Number(bytes))
  return { ...changed, totalVolume: numberOf(usage.totalVolume), orderUsage: numberOf(usage.orderUsage) }
}

interface ChangedRow {
  order: LockedOrder
  history: { orderStatus: OrderStatus; time: string }[]
  release: OrderChange['release']
  isUpdated: boolean
}

function rowOf(
  { order, release, profilesChanged }: OrderChange,
  statuses: readonly OrderStatus[],
  now: Date,
): ChangedRow {
  const history = statuses.map((orderStatus) => ({ orderStatus, time: now.toISOString() }))
  return { order, history, release, isUpdated: history.length > 0 || profilesChanged }
}

function columnsOf(rows: readonly ChangedRow[]): unknown[] {
  return [
    uuidArray(rows.map(({ order }) => order.orderId)),
    plainArray(rows.map(({ order }) => order.orderStatus)),
    jsonbArray(rows.map(({ history }) => JSON.stringify(history))),
    plainArray(rows.map(({ order }) => order.eventSequence)),
    plainArray(rows.map(({ release }) => String(release !== undefined))),
    plainArray(rows.map(({ release }) => String(release !== undefined && !release.keepLease))),
    timeArray(rows.map(({ release }) => release?.dueAt?.getTime() ?? null)),
    plainArray(rows.map(({ isUpdated }) => String(isUpdated))),
  ]
}

const CHANGED: Columns = {
  order_id: 'uuid',
  order_status: 'text',
  history: 'jsonb',
  event_sequence: 'integer',
  due: 'boolean',
  released: 'boolean',
  due_at: 'timestamptz',
  updated: 'boolean',
}

/**
 * One row per order, found by primary key whatever the statistics say (fulfilment/outcomes/outcome-items.ts). The indexes
 * orders_due and orders_under_review are written only if their columns change.
 */
const CHANGE = `
  update orders o set
    order_status = c.order_status,
    status_history = o.status_history || c.history,
    event_sequence = c.event_sequence,
    due_at = case when c.due then c.due_at else o.due_at end,
    lease_token = case when c.released then null else o.lease_token end,
    lease_until = case when c.released then null else o.lease_until end,
    updated_at = case when c.updated then greatest(o.updated_at, $2::timestamptz) else o.updated_at end
  from ${unnest(3, CHANGED, 'c')}
  cross join lateral (select ctid from orders where tenant_id = $1 and order_id = c.order_id limit 1) found
  where o.ctid = found.ctid`

function eventOf(
  ids: Ids,
  tenantId: string,
  order: LockedOrder,
  details: EventDetails | undefined,
  now: Date,
): NewEvent {
  const content: DeliveryUpdatedContent = {
    orderNo: orderNoOf(order.orderId),
    transactionId: order.transactionId,
    orderType: order.orderType,
    esimTranNo: order.toppedUpProfileId,
    orderStatus: order.orderStatus,
    sequence: order.eventSequence,
    refundedAmount: Number(order.refundedAmount),
    profiles: order.profiles.map((profile) => ({
      esimTranNo: profile.profileId,
      iccid: profile.iccid,
      esimStatus: profile.esimStatus,
      smdpStatus: profile.smdpStatus,
    })),
  }
  return {
    tenantId,
    notifyId: ids.uuid(),
    notifyType: 'DELIVERY_UPDATED',
    orderId: order.orderId,
    content,
    details,
    createdAt: now,
  }
}

export interface OrderMetrics {
  /** Counts orders that have entered a status. */
  entered(status: OrderStatus, orders?: number): void
}

export function orderMetrics(registry: Registry): OrderMetrics {
  const entered = new Counter({
    name: 'dealer_esim_order_status_total',
    help: 'Orders that entered a status, counted by the node that changed it; PAID counts orders placed',
    labelNames: ['status'],
    registers: [registry],
  })
  return { entered: (status, orders = 1) => entered.inc({ status }, orders) }
}
