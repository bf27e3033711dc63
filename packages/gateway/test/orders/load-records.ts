import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { expect } from 'vitest'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { type Answer, call, type Dealer } from '../harness/api-node.ts'
import { reportFigures } from '../harness/figures.ts'
import { waitUntil } from '../harness/shop.ts'
import type { Receiver } from '../webhooks/receiver.ts'
import type { RequestedOrder } from './order-load.ts'

/** The parties in a load test, whose records must agree. */
export interface LoadTest {
  /** A gateway that keeps running until the end. */
  gateway: { baseUrl: string }
  dealer: Dealer
  db: Db
  requested: readonly RequestedOrder[]
  receiver: Receiver
}

const AT_ONCE = 10

/**
 * Compares the records of callers, ledger, supplier and receiver: every acknowledged order exists once, is debited once,
 * ends within `patienceMs`, and its events arrive.
 */
export async function expectRecordsToAgree(world: LoadTest, patienceMs: number): Promise<void> {
  const orders = await repeatAll(world)
  await waitUntil(async () => (await openOrders(world.db)) === 0, patienceMs)
  await expectLedger(world)
  const settled = await queryAll(world, orders)
  await expectSupplierRecords(world.db, settled)
  await expectEvents(world.receiver, settled)
  const acknowledged = world.requested.filter(({ answers: [first] }) => first?.code === '000000').length
  reportFigures({ orders: world.requested.length, acknowledged, events: world.receiver.received.length })
}

interface KnownOrder extends RequestedOrder {
  answer: Answer
}

/**
 * Repeats every order: acknowledged ones are replayed with the same answer, and the answers to the others show whether they
 * exist.
 */
async function repeatAll({ gateway, dealer, db, requested }: LoadTest): Promise<KnownOrder[]> {
  for (const { answers } of requested) {
    for (const { code, status } of answers) {
      expect([`${status} ${code}`]).toContainEqual(expect.stringMatching(/^(200 000000|503 000002|500 000001)$/))
    }
  }
  const existing = await db.query<{ transactionId: string }>({
    text: 'select transaction_id from orders where tenant_id = $1',
    values: [dealer.tenantId],
  })
  const exists = new Set(existing.map((row) => row.transactionId))
  const known = await eachOf(requested, async (order) => {
    const { transactionId, packageInfoList } = order
    const body = JSON.stringify({ transactionId, packageInfoList })
    const answer = await call(gateway, dealer, 'esim/order', { body })
    expect(answer.code).toBe('000000')
    expect(answer.headers['idempotent-replayed'] === 'true', 'an order that exists replays').toBe(
      exists.has(transactionId),
    )
    const [first] = order.answers
    if (first?.code === '000000') {
      expect(exists, 'an acknowledged order exists').toContain(transactionId)
      expect({ ...answer.data, orderStatus: '' }).toEqual({ ...first.data, orderStatus: '' })
    } else if (first?.code === '000002') {
      expect(exists, '000002 says that nothing happened').not.toContain(transactionId)
    }
    return { ...order, answer }
  })
  expect(new Set(known.map((order) => order.answer.data.orderNo)).size).toBe(known.length)
  return known
}

async function openOrders(db: Db): Promise<number> {
  const [row] = await db.query<{ open: number }>({
    text: `select count(*)::int as open from orders
           where order_status not in ('DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED') or due_at is not null`,
  })
  return row!.open
}

async function expectLedger({ db, dealer, requested }: LoadTest): Promise<void> {
  const { tenantId } = dealer
  const faults: string[] = []
  await verifyLedger(db, { tenantId, onFault: (fault) => faults.push(fault.message) })
  expect(faults).toEqual([])
  const [row] = await db.query<Record<string, number>>({
    text: `select (select count(*)::int from orders where order_type = 'NEW') as orders,
                  (select count(distinct transaction_id)::int from orders where order_type = 'NEW') as transactions,
                  (select count(*)::int from transfers where kind = 'ORDER') as debits,
                  (select count(distinct t.order_id)::int from transfers t join orders o using (tenant_id, order_id)
                   where t.kind = 'ORDER' and t.amount = o.amount) as debited_orders`,
  })
  const count = requested.length
  expect(row).toEqual({ orders: count, transactions: count, debits: count, debitedOrders: count })
}

interface SettledOrder extends KnownOrder {
  /** As returned by esim/query. */
  shown: Answer['data']
}

function queryAll({ gateway, dealer }: LoadTest, orders: readonly KnownOrder[]): Promise<SettledOrder[]> {
  return eachOf(orders, async (order) => {
    const body = JSON.stringify({ orderNo: order.answer.data.orderNo })
    const { code, data } = await call(gateway, dealer, 'esim/query', { body })
    expect(code).toBe('000000')
    return { ...order, shown: data }
  })
}

/** Runs `work` for each item, several at a time. @returns the results, in any order */
export async function eachOf<One, Result>(all: readonly One[], work: (one: One) => Promise<Result>): Promise<Result[]> {
  const rest = [...all]
  const results: Result[] = []
  async function workNext(): Promise<void> {
    for (let one = rest.pop(); one !== undefined; one = rest.pop()) results.push(await work(one))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, workNext))
  return results
}

/** Compares the supplier's records with the orders as shown to the dealer and paid for. */
async function expectSupplierRecords(db: Db, orders: readonly SettledOrder[]): Promise<void> {
  const records = await db.query<{ key: string; requests: number; answer: string }>({
    text: 'select key, requests, answer from sandbox_issued where topped_up_key is null',
  })
  const cancelled = await db.query<{ transactionId: string; refund: bigint }>({
    text: `select o.transaction_id, sum(a.refund_amount)::bigint as refund
           from esim_actions a join orders o using (tenant_id, order_id)
           where a.action_status = 'DONE' group by o.transaction_id`,
  })
  const refundOf = new Map(cancelled.map(({ transactionId, refund }) => [transactionId, Number(refund)]))
  expect(records.filter((entry) => entry.requests !== 1)).toEqual([])
  const requestedFrom = new Map<string, number>()
  const issued = new Map<string, number>()
  for (const { key, answer } of records) {
    const [orderNo = ''] = key.split('-')
    requestedFrom.set(orderNo, (requestedFrom.get(orderNo) ?? 0) + 1)
    if (answer === 'ISSUED') issued.set(orderNo, (issued.get(orderNo) ?? 0) + 1)
  }
  expect([...requestedFrom.keys()].sort()).toEqual(orders.map((order) => order.shown.orderNo).sort())
  for (const { shown, packageInfoList } of orders) {
    const wanted = packageInfoList.reduce((sum, line) => sum + line.count, 0)
    const delivered = issued.get(shown.orderNo) ?? 0
    expect(requestedFrom.get(shown.orderNo)).toBe(wanted)
    expect(shown.profileList).toHaveLength(delivered)
    expect(shown.orderStatus).toBe(
      delivered === wanted ? 'DELIVERED' : delivered === 0 ? 'FAILED' : 'PARTIALLY_DELIVERED',
    )
    let paidFor = 0
    for (const line of shown.packageInfoList) {
      expect(line.deliveredCount + line.failedCount).toBe(line.count)
      paidFor += line.deliveredCount * line.price
    }
    const refund = refundOf.get(shown.transactionId) ?? 0
    expect(shown.amount - shown.refundedAmount).toBe(paidFor - refund)
  }
  expect(await db.query({ text: 'select * from orphans' })).toEqual([])
}

/** Checks that the receiver has received every order's ORDER_PAID and the event for its last state. */
export async function expectEvents(receiver: Receiver, orders: readonly Pick<SettledOrder, 'shown'>[]): Promise<void> {
  const expected = orders.flatMap(({ shown }) => [
    { event: `${shown.orderNo} ORDER_PAID`, status: 'PAID' },
    { event: `${shown.orderNo} DELIVERY_UPDATED`, status: shown.orderStatus },
  ])
  const missing = () => {
    const received = latestEvents(receiver)
    return expected.filter(({ event, status }) => received.get(event)?.orderStatus !== status)
  }
  await waitUntil(async () => missing().length === 0, 60_000).catch(() => expect(missing()).toEqual([]))
}

/** The latest event for each order and type by `sequence`. Repeats with the same notifyId must be equal. */
function latestEvents({ events }: Receiver): Map<string, { orderStatus: string; sequence: number }> {
  const latest = new Map<string, { orderStatus: string; sequence: number }>()
  const contents = new Map<string, string>()
  for (const { notifyId, notifyType, body } of events) {
    const { content } = JSON.parse(body)
    const text = JSON.stringify(content)
    expect(contents.get(notifyId) ?? text, 'a repeated event').toBe(text)
    contents.set(notifyId, text)
    const name = `${content.orderNo} ${notifyType}`
    if ((latest.get(name)?.sequence ?? 0) < content.sequence) latest.set(name, content)
  }
  return latest
}
