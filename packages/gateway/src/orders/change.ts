import type { DeliveryUpdatedContent, OrderStatus } from '@dealer-esim/contract'
import { orderNoOf } from '@dealer-esim/contract'
import { Counter, type Registry } from '@platformatic/prom-client'
import { type EventDetails, type NewEvent, recordEvents } from '../events/record.ts'
import type { Ids } from '../lib/ids.ts'
import { recordset } from '../lib/postgres/columns.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { orderStatusOf, statusesBetween } from './item.ts'
import type { LockedOrder } from './lock.ts'

/** A change of one order, whose items and profiles are already in their new state. */
export interface OrderChange {
  order: LockedOrder
  /** A status of one of its profiles changed: this is an event even where the order's status stays. */
  profilesChanged: boolean
  /** Which statuses of its profiles changed, without those of profiles that were just delivered. */
  changedStatuses?: readonly ChangedStatus[]
  /** Each of them is an event of its own, as the RT format has it; otherwise one event reports all. */
  isEachReported?: boolean
  /** When fulfilment takes it up next (null: never). Ends the lease, unless it is to be kept. */
  release?: { dueAt: Date | null; keepLease?: boolean }
}

export interface ChangedStatus {
  status: 'esimStatus' | 'smdpStatus'
  profileId: string
  /** null: unknown, or not needed because the esimStatus changed. */
  eid: string | null
}

/** Statuses that follow each other within this time are reported by one event, the last of them. */
const REPORTED_TOGETHER_MS = 1_000

/**
 * The one place where an order's status follows from its items: writes the status and its history, and records a
 * DELIVERY_UPDATED event for every change, with the order's next sequence. Updates `order` accordingly. An order that is
 * delivered within a second is written once and has one event; its history shows both statuses.
 *
 * The caller holds the orders' locks (lockOrders, or a claim). No round trip of its own.
 * @returns whether there are events to send: the caller then wakes the sender after the commit
 */
export function changeOrders(
  tx: Tx,
  deps: { ids: Ids; orderMetrics?: OrderMetrics },
  tenantId: string,
  changes: readonly OrderChange[],
  now: Date,
): boolean {
  const rows: ReturnType<typeof rowOf>[] = []
  const events: NewEvent[] = []
  for (const change of changes) {
    const { order } = change
    const items = order.items.map((item) => ({ ...item, asked: item.attempts > 0 || item.routeNo > 0 }))
    const statuses = statusesBetween(order.orderStatus, orderStatusOf(items))
    const allocatedAt = statuses.length > 1 ? askedAt(order, now) : now
    const isQuick = now.getTime() - allocatedAt.getTime() <= REPORTED_TOGETHER_MS
    const reported = (isQuick ? statuses.slice(-1) : statuses).map((orderStatus): Reported => ({ orderStatus }))
    if (statuses.length === 0 && change.profilesChanged) reported.push(...reportedProfiles(change))
    if (reported.length === 0 && change.release === undefined) continue
    for (const { orderStatus, details } of reported) {
      order.orderStatus = orderStatus
      order.eventSequence += 1
      events.push(eventOf(deps.ids, tenantId, order, details, now))
    }
    rows.push(rowOf(change, historyOf(statuses, allocatedAt, now)))
    for (const status of statuses) deps.orderMetrics?.entered(status)
  }
  if (rows.length > 0) {
    tx.send({ name: 'orders-change', text: CHANGE, values: [tenantId, recordset(rows), now] })
  }
  recordEvents(tx, events)
  return events.length > 0
}

interface Reported {
  orderStatus: OrderStatus
  details?: EventDetails | undefined
}

/** An event whose changes are of several eSIMs has no details. Of two statuses of one eSIM its esimStatus says more. */
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

function detailsOf({ status, profileId, eid }: ChangedStatus): EventDetails {
  return { changed: status, esimTranNo: profileId, eid }
}

interface HistoryEntry {
  orderStatus: OrderStatus
  time: string
}

function historyOf(statuses: readonly OrderStatus[], allocatedAt: Date, now: Date): HistoryEntry[] {
  return statuses.map((orderStatus, index) => {
    const at = index < statuses.length - 1 ? allocatedAt : now
    return { orderStatus, time: at.toISOString() }
  })
}

/** When an order that was PAID until now became ALLOCATING: when its supplier was first asked. */
function askedAt({ items, createdAt }: LockedOrder, now: Date): Date {
  const times = items.flatMap(({ requestedAt }) => requestedAt?.getTime() ?? [])
  return times.length === 0 ? now : new Date(Math.min(now.getTime(), Math.max(createdAt.getTime(), Math.min(...times))))
}

function rowOf({ order, release, profilesChanged }: OrderChange, history: HistoryEntry[]) {
  return {
    orderId: order.orderId,
    orderStatus: order.orderStatus,
    history,
    eventSequence: order.eventSequence,
    due: release !== undefined,
    released: release !== undefined && !release.keepLease,
    dueAt: release?.dueAt ?? null,
    updated: history.length > 0 || profilesChanged,
  }
}

/** One row per order. The indexes orders_due and orders_under_review change only where their columns do. */
const CHANGE = `
  update orders o set
    order_status = c.order_status,
    status_history = o.status_history || c.history,
    event_sequence = c.event_sequence,
    due_at = case when c.due then c.due_at else o.due_at end,
    lease_token = case when c.released then null else o.lease_token end,
    lease_until = case when c.released then null else o.lease_until end,
    updated_at = case when c.updated then greatest(o.updated_at, $3::timestamptz) else o.updated_at end
  from jsonb_to_recordset($2::jsonb) as c(order_id uuid, order_status text, history jsonb, event_sequence integer,
    due boolean, released boolean, due_at timestamptz, updated boolean)
  where o.tenant_id = $1 and o.order_id = c.order_id`

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
