import type { OrderStatus } from '@dealer-esim/contract'
import { orderNoOf } from '@dealer-esim/contract'
import { timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql, { raw } from 'sql-template-tag'
import { DELIVERY_OF_EVENT, STATE_OF_EVENT } from '#webhooks/delivery-state.ts'

/** One event in the life of an order. */
export type Step = { at: Date } & (
  | { kind: 'REQUEST' }
  | { kind: 'STATUS'; orderStatus: OrderStatus }
  | { kind: 'DEBIT' | 'REFUND'; amount: bigint; balanceAfter: bigint; itemNo: number | null; reason: string | null }
  | {
      kind: 'ATTEMPT'
      itemNo: number
      supplier: string
      operation: string
      /** null if not known yet. */
      outcome: string | null
      detail: string | null
      durationMs: number | null
    }
  | { kind: 'EVENT'; notifyId: string; notifyType: string; deliveryState: string }
  | { kind: 'DELIVERY'; notifyId: string; httpStatus: number | null; outcome: string; durationMs: number }
  | { kind: 'DECISION'; actor: string; action: string; after: unknown }
)

/** Limits how many steps of each kind are shown. A hundred eSIMs with a dozen attempts each stay below it. */
const STEPS_MAX = 2_000

/** Reads the history of an order, oldest step first, from all modules' tables. */
export async function readTimeline(
  db: Pick<Db, 'query'>,
  tenantId: string,
  orderId: string,
  history: readonly { orderStatus: OrderStatus; time: string }[],
): Promise<Step[]> {
  const steps = await Promise.all([
    transfers(db, tenantId, orderId),
    attempts(db, tenantId, orderId),
    events(db, tenantId, orderId),
    deliveries(db, tenantId, orderId),
    decisions(db, tenantId, orderId),
  ])
  const statuses = history.map((entry): Step => {
    return { kind: 'STATUS', at: new Date(entry.time), orderStatus: entry.orderStatus }
  })
  const later = [...statuses, ...steps.flat()].sort((a, b) => a.at.getTime() - b.at.getTime())
  // The order's id was created when its request arrived.
  return [{ kind: 'REQUEST', at: new Date(timeOfUuid(orderId)) }, ...later]
}

function transfers(db: Pick<Db, 'query'>, tenantId: string, orderId: string): Promise<Step[]> {
  // The debit is found by the version stored in the order, the refunds by their index.
  return db.query<Step>(sql`
    select created_at as at, case kind when 'REFUND' then 'REFUND' else 'DEBIT' end as kind, amount,
           balance_after, item_no, reason
    from transfers
    where tenant_id = ${tenantId} and (
      wallet_version = (select wallet_version from orders where tenant_id = ${tenantId} and order_id = ${orderId})
      or (order_id = ${orderId} and kind = 'REFUND'))
    order by wallet_version limit ${STEPS_MAX}`)
}

function attempts(db: Pick<Db, 'query'>, tenantId: string, orderId: string): Promise<Step[]> {
  return db.query<Step>(sql`
    select started_at as at, 'ATTEMPT' as kind, item_no, supplier, operation, outcome, message as detail,
           (extract(epoch from finished_at - started_at) * 1000)::int as duration_ms
    from supplier_attempts where tenant_id = ${tenantId} and order_id = ${orderId}
    order by attempt_id limit ${STEPS_MAX}`)
}

function events(db: Pick<Db, 'query'>, tenantId: string, orderId: string): Promise<Step[]> {
  return db.query<Step>(sql`
    select e.created_at as at, 'EVENT' as kind, e.notify_id, e.notify_type,
           ${raw(STATE_OF_EVENT)} as delivery_state
    from events e ${raw(DELIVERY_OF_EVENT)}
    where e.tenant_id = ${tenantId} and e.order_id = ${orderId} order by e.notify_id limit ${STEPS_MAX}`)
}

function deliveries(db: Pick<Db, 'query'>, tenantId: string, orderId: string): Promise<Step[]> {
  return db.query<Step>(sql`
    select a.started_at as at, 'DELIVERY' as kind, a.notify_id, a.http_status, a.outcome,
           a.duration_ms
    from events e join delivery_attempts a on a.tenant_id = e.tenant_id and a.notify_id = e.notify_id
    where e.tenant_id = ${tenantId} and e.order_id = ${orderId} order by a.attempt_id limit ${STEPS_MAX}`)
}

function decisions(db: Pick<Db, 'query'>, tenantId: string, orderId: string): Promise<Step[]> {
  return db.query<Step>(sql`
    select created_at as at, 'DECISION' as kind, actor, action, after
    from audit_log where tenant_id = ${tenantId} and subject = ${orderNoOf(orderId)} and action like 'order.%'
      and audit_id > ${orderId}
    order by audit_id limit ${STEPS_MAX}`)
}
