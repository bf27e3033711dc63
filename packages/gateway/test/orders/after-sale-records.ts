import { orderNoOf } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { expect } from 'vitest'
import { itemKeyOf } from '#orders/order-item.ts'
import { type Answer, call } from '../harness/api-node.ts'
import { waitUntil } from '../harness/shop.ts'
import type { RequestedSale } from './after-sale-load.ts'
import { eachOf, expectEvents, type LoadTest } from './load-records.ts'

/**
 * Compares the records of callers, ledger, supplier and receiver about top-ups and actions: everything acknowledged exists
 * once, nothing is debited without a top-up or a refund, no eSIM is topped up twice, a cancel is refunded once and only if
 * the supplier has cancelled, nothing else is refunded, an eSIM is suspended or revoked if the supplier did so, and nothing
 * stays PENDING.
 */
export async function expectSalesToAgree(world: LoadTest, requested: readonly RequestedSale[], patienceMs: number) {
  const accepted = await repeatSales(world, requested)
  await waitUntil(async () => (await pendingCount(world.db)) === 0, patienceMs)
  const topUps = accepted.filter(({ operation }) => operation === 'esim/topup')
  const actions = accepted.filter(({ operation }) => operation !== 'esim/topup')
  expect(topUps.length, 'the load has top-ups').toBeGreaterThan(5)
  for (const [operation, count] of Object.entries({ 'esim/cancel': 5, 'esim/revoke': 5, 'esim/suspend': 3 })) {
    const own = actions.filter((action) => action.operation === operation)
    expect(own.length, `the load has ${operation}`).toBeGreaterThan(count)
  }
  await expectTopUps(world.db, topUps)
  await expectActions(world.db, actions)
  await expectSaleEvents(world, topUps)
}

/** Repeats every request: acknowledged ones are replayed, and the answers to the others show whether they exist. */
async function repeatSales({ gateway, dealer, db }: LoadTest, requested: readonly RequestedSale[]) {
  const existing = await db.query<{ transactionId: string }>({
    text: `select transaction_id from orders where tenant_id = $1 and order_type = 'TOPUP'
           union all select transaction_id from esim_actions where tenant_id = $1`,
    values: [dealer.tenantId],
  })
  const exists = new Set(existing.map((row) => row.transactionId))
  const sales = await eachOf(requested, async (sale) => {
    const { operation, body, answer: first } = sale
    // 200002: the eSIM's other request is in progress, or has ended the state that this one needs.
    if (first) expect(`${first.status} ${first.code}`).toMatch(/^(200 000000|409 200002|503 000002|500 000001)$/)
    const answer = await call(gateway, dealer, operation, { body: JSON.stringify(body) })
    expect(['000000', '200002']).toContain(answer.code)
    const isKnown = exists.has(body.transactionId)
    if (first?.code === '000000') expect(isKnown, 'what was acknowledged exists').toBe(true)
    if (first && ['000002', '200002'].includes(first.code)) expect(isKnown, 'a refusal leaves no trace').toBe(false)
    if (isKnown) expect([answer.code, answer.headers['idempotent-replayed']]).toEqual(['000000', 'true'])
    return { ...sale, answer }
  })
  return sales.filter(({ answer }) => answer.code === '000000')
}

async function pendingCount(db: Db): Promise<number> {
  const [row] = await db.query<{ pending: number }>({
    text: `select (select count(*)::int from esim_actions where action_status = 'PENDING')
             + (select count(*)::int from orders where order_type = 'TOPUP'
                  and order_status not in ('DELIVERED', 'FAILED')) as pending`,
  })
  return row!.pending
}

type Accepted = RequestedSale & { answer: Answer }

async function expectTopUps(db: Db, accepted: readonly Accepted[]): Promise<void> {
  const issued = await db.query<IssuedRow>({ text: 'select key, topped_up_key, answer, requests from sandbox_issued' })
  const recordOf = new Map(issued.map((record) => [record.key, record]))
  const topUps = await db.query<TopUpRow>({
    text: `select order_id, transaction_id, order_status, amount,
             (select array_agg(t.amount) from transfers t
              where t.tenant_id = o.tenant_id and t.order_id = o.order_id and t.kind = 'ESIM_TOPUP') as debits,
             (select array_agg(t.amount) from transfers t
              where t.tenant_id = o.tenant_id and t.order_id = o.order_id and t.kind = 'REFUND') as refunds
           from orders o where order_type = 'TOPUP'`,
  })
  expect(topUps.map(({ transactionId }) => transactionId).sort()).toEqual(transactionIdsOf(accepted))
  for (const { orderId, orderStatus, amount, debits, refunds } of topUps) {
    const record = recordOf.get(itemKeyOf(orderId, 1))
    const isDone = record?.answer === 'ISSUED'
    expect({ orderStatus, requests: record?.requests, debits, refunds }).toEqual({
      orderStatus: isDone ? 'DELIVERED' : 'FAILED',
      requests: 1,
      debits: [String(amount)],
      refunds: isDone ? null : [String(amount)],
    })
  }
  // Every eSIM has the volume of its own package plus whatever the supplier has added.
  const addedTo = (key: string) => issued.filter((each) => each.toppedUpKey === key && each.answer === 'ISSUED').length
  const profiles = await db.query<{ orderId: string; itemNo: number; totalVolume: bigint }>({
    text: `select order_id, item_no, total_volume from profiles p where exists (select from orders o
             where o.tenant_id = p.tenant_id and o.topped_up_profile_id = p.profile_id)`,
  })
  for (const { orderId, itemNo, totalVolume } of profiles) {
    expect(totalVolume).toBe(GIGABYTE * BigInt(1 + addedTo(itemKeyOf(orderId, itemNo))))
  }
}

const GIGABYTE = 1_073_741_824n

/** The supplier's record of an eSIM or a top-up. */
interface IssuedRow {
  key: string
  toppedUpKey: string | null
  answer: string
  /** How often it was ordered. */
  requests: number
}

interface TopUpRow {
  orderId: string
  transactionId: string
  orderStatus: string
  amount: bigint
  debits: string[] | null
  refunds: string[] | null
}

async function expectActions(db: Db, accepted: readonly Accepted[]): Promise<void> {
  const records = await db.query<{ key: string; answer: string; requestedAt: Date }>({
    text: 'select key, answer, requested_at from sandbox_actions',
  })
  const recordOf = new Map(records.map((record) => [record.key, record]))
  const actions = await db.query<ActionRow>({
    text: `select a.action_id, a.transaction_id, a.action, a.action_status, a.refund_amount, p.topped_up_at,
             case a.action when 'CANCEL' then p.esim_status = 'CANCEL' when 'REVOKE' then p.esim_status = 'REVOKED'
               else p.suspended end as is_in_wanted_state,
             (select array_agg(t.amount) from transfers t where t.tenant_id = a.tenant_id and t.order_id = a.order_id
                and t.item_no = a.item_no and t.kind = 'REFUND') as refunds,
             (select min(t.created_at) from transfers t where t.tenant_id = a.tenant_id and t.order_id = a.order_id
                and t.item_no = a.item_no and t.kind = 'REFUND') as refunded_at
           from esim_actions a join profiles p using (tenant_id, profile_id)`,
  })
  expect(actions.map(({ transactionId }) => transactionId).sort()).toEqual(transactionIdsOf(accepted))
  for (const row of actions) {
    const { actionId, action, actionStatus, refunds, refundedAt, isInWantedState, toppedUpAt, refundAmount } = row
    const record = recordOf.get(orderNoOf(actionId))
    // A kill may last longer than the sandbox's three seconds: then the action is under review, not refunded, and queried
    // again.
    expect([STATUS_OF[record?.answer ?? ''], 'UNDER_REVIEW']).toContain(actionStatus)
    const isDone = actionStatus === 'DONE'
    const isRefunded = isDone && action === 'CANCEL'
    expect({ action, refunds, isInWantedState }).toEqual({
      action,
      refunds: isRefunded ? [String(refundAmount)] : null,
      isInWantedState: isDone,
    })
    if (!isRefunded) continue
    expect([refundAmount, toppedUpAt]).toEqual([REFUND, null])
    expect(refundedAt!.getTime(), 'no refund before the supplier’s yes').toBeGreaterThanOrEqual(
      record!.requestedAt.getTime(),
    )
  }
}

/** The price less the fee for SANDBOX_CANCEL_FEE. */
const REFUND = 9_000n

/** The status of an action, according to the supplier's own record of it. */
const STATUS_OF: Record<string, string> = { DONE: 'DONE', REFUSED: 'REFUSED', LOST: 'UNDER_REVIEW' }

interface ActionRow {
  actionId: string
  transactionId: string
  action: 'CANCEL' | 'REVOKE' | 'SUSPEND'
  actionStatus: string
  refundAmount: bigint
  isInWantedState: boolean
  toppedUpAt: Date | null
  refunds: string[] | null
  refundedAt: Date | null
}

/** The receiver has received the events of every top-up, and the final state of every action. */
async function expectSaleEvents({ gateway, dealer, db, receiver }: LoadTest, topUps: readonly Accepted[]) {
  const orders = await eachOf(topUps, async ({ body: { transactionId } }) => {
    const { data: shown } = await call(gateway, dealer, 'esim/query', { body: JSON.stringify({ transactionId }) })
    expect(shown).toMatchObject({ orderType: 'TOPUP', profileList: [] })
    return { shown }
  })
  await expectEvents(receiver, orders)
  const text = 'select transaction_id, action_status from esim_actions'
  const actions = await db.query<{ transactionId: string; actionStatus: string }>({ text })
  const missing = () => {
    const received = new Set(
      receiver.events.flatMap(({ notifyType, body }) => {
        const { transactionId, actionStatus } = JSON.parse(body).content
        return notifyType === 'ESIM_ACTION_UPDATED' ? [`${transactionId} ${actionStatus}`] : []
      }),
    )
    return actions.filter(({ transactionId, actionStatus }) => !received.has(`${transactionId} ${actionStatus}`))
  }
  await waitUntil(async () => missing().length === 0, 60_000).catch(() => expect(missing()).toEqual([]))
}

function transactionIdsOf(accepted: readonly Accepted[]): string[] {
  return accepted.map(({ body }) => body.transactionId).sort()
}
