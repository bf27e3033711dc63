import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect, type Db } from '../../src/lib/db.ts'
import { readRunningPostgres } from '../../src/lib/embedded-postgres/running.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { topUp } from '../../src/wallet/top-up.ts'
import { verifyLedger } from '../../src/wallet/verify.ts'
import { type Answer, call, type Dealer } from '../door/node.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/gateway-process.ts'
import { until } from '../harness/shop.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { type AskedOrder, type OrderLoad, orderLoad } from './order-load.ts'
import { postgresProcesses } from './postgres-processes.ts'
import { seeded } from './seeded.ts'

/*
 * A gateway as `npm start` runs it, its PostgreSQL included, under orders from signed callers. Twenty times, at moments
 * that chance chooses, `kill -9` hits the gateway, the database server, or any one of the server's processes. What was
 * acknowledged, what was debited, what the supplier was asked and what the receiver heard must agree in the end.
 */

const ROUNDS = [
  ...Array<Victim>(7).fill('gateway'),
  ...Array<Victim>(4).fill('postmaster'),
  ...Array<Victim>(7).fill('session'),
  ...Array<Victim>(2).fill('both'),
]
type Victim = 'gateway' | 'postmaster' | 'session' | 'both'

const CALLERS = 10
/** Longest answer: the order's doubt, its last attempt, and what two busy cores add. */
const LONGEST_ANSWER_MS = 40_000
const PACKAGES = ['JP_1_7', 'JP_1_7', 'SANDBOX_OK', 'SANDBOX_PARTIAL', 'SANDBOX_REFUSED']

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const chance = seeded(seed)
let dataDir: string
let gateway: GatewayProcess
let receiver: Receiver
let dealer: Dealer
let load: OrderLoad

beforeAll(async () => {
  console.info(`SEED=${seed}`)
  dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-crash-'))
  receiver = await startReceiver()
  gateway = await start()
  const { appKey, appSecret } = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  dealer = { appKey, appSecret, tenantId: '' }
  const health = await call(gateway, dealer, 'health')
  dealer.tenantId = health.data.tenantId
  await inDatabase((db) => {
    const payment = { tenantId: dealer.tenantId, amount: 10_000_000_000_000n, reference: 'plenty' }
    return topUp({ db, ids: systemIds }, payment, { actor: 'cli:tester' })
  })
  const setting = await call(gateway, dealer, 'webhook/set', { body: JSON.stringify({ callbackUrl: receiver.url }) })
  expect(setting.code).toBe('000000')
})
afterAll(async () => {
  await load?.stop()
  await stopGateways()
  await receiver.close()
  rmSync(dataDir, { recursive: true, force: true })
})

function start(): Promise<GatewayProcess> {
  return startGateway({ dataDir, env: { DEFAULT_QPS_LIMIT: '100000', CONSOLE: 'off' } })
}

/** On the database of the gateway that runs; its port is another after each start. */
async function inDatabase<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
  const { url } = await until(async () => readRunningPostgres(dataDir))
  const db = connect({ url, poolSize: 4, applicationName: 'crash test' })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

describe('twenty kills under order load', () => {
  it('lose no acknowledged order, debit none twice, and leave none without an end', { timeout: 400_000 }, async () => {
    load = orderLoad(dealer, CALLERS, () => {
      const codes = new Set(Array.from({ length: chance.between(1, 2) }, () => chance.pick(PACKAGES)))
      return [...codes].map((packageCode) => ({ packageCode, count: chance.between(1, 3) }))
    })
    load.aim(gateway)
    for (const victim of chance.shuffled(ROUNDS)) await round(victim)
    await load.stop()

    const orders = await repeatAll(load.asked)
    await until(() => inDatabase(async (db) => (await openOrders(db)) === 0), 150_000)
    await inDatabase(expectLedger)
    const settled = await queryAll(orders)
    await inDatabase((db) => expectSupplierBooks(db, settled))
    await expectEvents(settled)
  })
})

async function round(victim: Victim): Promise<void> {
  await acknowledgedMore(chance.between(5, 30))
  // Somewhere within an order's own time, not at the moment of an answer.
  await new Promise((resolve) => setTimeout(resolve, chance.between(0, 20)))
  const server = await until(async () => postgresProcesses(dataDir))
  const pids = {
    gateway: [gateway.pid],
    postmaster: [server.postmaster],
    session: [chance.pick(server.children)],
    both: [gateway.pid, server.postmaster],
  }[victim]
  expect(load.inFlight, `orders in flight when the ${victim} is killed`).toBeGreaterThan(0)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  if (victim === 'gateway' || victim === 'both') {
    load.aim(undefined)
    expect(await gateway.exited).toMatchObject({ signal: 'SIGKILL' })
    gateway = await start()
    load.aim(gateway)
  }
  // The database comes back by itself: orders go through again, with nobody's help.
  await acknowledgedMore(CALLERS + 1)
}

/** Fails when the gateway ends by itself: it is to outlive its database. */
async function acknowledgedMore(count: number): Promise<void> {
  const died = gateway.exited.then(({ code, signal }) => {
    throw new Error(`the gateway ended by itself (${signal ?? code}): ${gateway.stderr}${lastWords()}`)
  })
  await Promise.race([load.more(count), died])
}

function lastWords(): string {
  return gateway.logs.flatMap((line) => (line.level === 'fatal' ? [`\n${JSON.stringify(line)}`] : [])).join('')
}

interface KnownOrder extends AskedOrder {
  answer: Answer
}

/** Repeats every order: what was acknowledged is a replay of the same answer, of the rest the database tells the truth. */
async function repeatAll(asked: readonly AskedOrder[]): Promise<KnownOrder[]> {
  for (const { answers, durations_ms } of asked) {
    for (const { code, status } of answers) {
      expect([`${status} ${code}`]).toContainEqual(expect.stringMatching(/^(200 000000|503 000002|500 000001)$/))
    }
    expect(Math.max(...durations_ms)).toBeLessThan(LONGEST_ANSWER_MS)
  }
  const existing = await inDatabase((db) =>
    db.query<{ transaction_id: string }>({
      text: 'select transaction_id from orders where tenant_id = $1',
      values: [dealer.tenantId],
    }),
  )
  const exists = new Set(existing.map((row) => row.transaction_id))
  const known: KnownOrder[] = []
  for (const order of asked) {
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
    known.push({ ...order, answer })
  }
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

async function expectLedger(db: Db): Promise<void> {
  const { tenantId } = dealer
  const faults: string[] = []
  await verifyLedger(db, { tenantId, onFault: (fault) => faults.push(fault.sentence) })
  expect(faults).toEqual([])
  const [row] = await db.query<Record<string, number>>({
    text: `select (select count(*)::int from orders) as orders,
                  (select count(distinct transaction_id)::int from orders) as transactions,
                  (select count(*)::int from transfers where kind = 'ORDER') as debits,
                  (select count(distinct t.order_id)::int from transfers t join orders o using (tenant_id, order_id)
                   where t.kind = 'ORDER' and t.amount = o.amount) as debited_orders`,
  })
  const count = load.asked.length
  expect(row).toEqual({ orders: count, transactions: count, debits: count, debited_orders: count })
}

interface SettledOrder extends KnownOrder {
  /** Of esim/query. */
  shown: Answer['data']
}

async function queryAll(orders: readonly KnownOrder[]): Promise<SettledOrder[]> {
  const rest = [...orders]
  const settled: SettledOrder[] = []
  async function caller(): Promise<void> {
    for (let order = rest.pop(); order !== undefined; order = rest.pop()) {
      const body = JSON.stringify({ orderNo: order.answer.data.orderNo })
      const { code, data } = await call(gateway, dealer, 'esim/query', { body })
      expect(code).toBe('000000')
      settled.push({ ...order, shown: data })
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return settled
}

/** What the supplier was asked, by its own books, against what the dealer is shown and has paid. */
async function expectSupplierBooks(db: Db, orders: readonly SettledOrder[]): Promise<void> {
  const books = await db.query<{ key: string; requests: number; answer: string }>({
    text: 'select key, requests, answer from sandbox_issued',
  })
  expect(books.filter((entry) => entry.requests !== 1)).toEqual([])
  const askedFor = new Map<string, number>()
  const issued = new Map<string, number>()
  for (const { key, answer } of books) {
    const [orderNo = ''] = key.split('-')
    askedFor.set(orderNo, (askedFor.get(orderNo) ?? 0) + 1)
    if (answer === 'ISSUED') issued.set(orderNo, (issued.get(orderNo) ?? 0) + 1)
  }
  expect([...askedFor.keys()].sort()).toEqual(orders.map((order) => order.shown.orderNo).sort())
  for (const { shown, packageInfoList } of orders) {
    const wanted = packageInfoList.reduce((sum, line) => sum + line.count, 0)
    const delivered = issued.get(shown.orderNo) ?? 0
    expect(askedFor.get(shown.orderNo)).toBe(wanted)
    expect(shown.profileList).toHaveLength(delivered)
    expect(shown.orderStatus).toBe(
      delivered === wanted ? 'DELIVERED' : delivered === 0 ? 'FAILED' : 'PARTIALLY_DELIVERED',
    )
    let paidFor = 0
    for (const line of shown.packageInfoList) {
      expect(line.deliveredCount + line.failedCount).toBe(line.count)
      paidFor += line.deliveredCount * line.price
    }
    expect(shown.amount - shown.refundedAmount).toBe(paidFor)
  }
  expect(await db.query({ text: 'select * from orphans' })).toEqual([])
}

/** Every order's ORDER_PAID and the event of its last state, by what the receiver got. */
async function expectEvents(orders: readonly SettledOrder[]): Promise<void> {
  const expected = orders.flatMap(({ shown }) => [
    { event: `${shown.orderNo} ORDER_PAID`, status: 'PAID' },
    { event: `${shown.orderNo} DELIVERY_UPDATED`, status: shown.orderStatus },
  ])
  const missing = () => {
    const heard = heardBy(receiver)
    return expected.filter(({ event, status }) => heard.get(event)?.orderStatus !== status)
  }
  await until(async () => missing().length === 0, 60_000).catch(() => expect(missing()).toEqual([]))
}

/** The latest of each order and type, by `sequence`; repeats of one notifyId must be the same event. */
function heardBy({ events }: Receiver): Map<string, { orderStatus: string; sequence: number }> {
  const latest = new Map<string, { orderStatus: string; sequence: number }>()
  const contents = new Map<string, string>()
  for (const { notifyId, notifyType, body } of events) {
    const { content } = JSON.parse(body)
    const said = JSON.stringify(content)
    expect(contents.get(notifyId) ?? said, 'a repeated event').toBe(said)
    contents.set(notifyId, said)
    const name = `${content.orderNo} ${notifyType}`
    if ((latest.get(name)?.sequence ?? 0) < content.sequence) latest.set(name, content)
  }
  return latest
}
