import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, addDealer, call, type Dealer, NODE_ENV, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'

/* Concurrent requests to two gateway processes on one database. */

const CALLS = 200

let database: TestDatabase
let inspector: Node
let nodes: GatewayProcess[]

beforeAll(async () => {
  database = await createTestDatabase()
  const env = { ...NODE_ENV, DEFAULT_QPS_LIMIT: '100000', LOG_LEVEL: 'info' }
  nodes = await Promise.all([
    startGateway({ databaseUrl: database.url, role: 'api', env }),
    startGateway({ databaseUrl: database.url, role: 'api', env }),
  ])
  inspector = await startNode(database.url)
})
afterAll(async () => {
  await inspector.stop()
  await stopGateways()
  await database.drop()
})

const lines = (count: number) => [{ packageCode: 'JP_1_7', count }]
const PRICE = 45_000

/** Sends all requests concurrently, half to each node. */
function orderAll(dealer: Dealer, bodies: object[]): Promise<Answer[]> {
  return Promise.all(
    bodies.map((body, index) =>
      call(nodes[index % nodes.length]!, dealer, 'esim/order', { body: JSON.stringify(body) }),
    ),
  )
}

async function ledgerOf(dealer: Dealer) {
  const [row] = await inspector.deps.db.query<{ balance: number; orders: number; debits: number; debited: number }>({
    text: `select w.balance::int as balance,
             (select count(*)::int from orders o where o.tenant_id = w.tenant_id) as orders,
             (select count(*)::int from transfers t where t.tenant_id = w.tenant_id and kind = 'ORDER') as debits,
             (select coalesce(sum(amount), 0)::int from transfers t where t.tenant_id = w.tenant_id and kind = 'ORDER') as debited
           from wallets w where tenant_id = $1`,
    values: [dealer.tenantId],
  })
  return row!
}

/** The times in ms of the dealer's first request to a node and the node's last answer, from its log. */
async function workedOn(node: GatewayProcess, dealer: Dealer) {
  const lines = () => node.logs.filter((line) => line.msg === 'request' && line.tenantId === dealer.tenantId)
  await node.waitForLog(() => lines().length === CALLS / nodes.length)
  const ends = lines().map((line) => Date.parse(String(line.time)))
  const begins = lines().map((line, index) => ends[index]! - Number(line.durationMs))
  return { begin: Math.min(...begins), end: Math.max(...ends) }
}

async function expectOverlap(dealer: Dealer) {
  const [one, other] = await Promise.all(nodes.map((node) => workedOn(node, dealer)))
  expect(one!.begin).toBeLessThan(other!.end)
  expect(other!.begin).toBeLessThan(one!.end)
}

const withoutStatus = ({ data: { orderStatus: _, ...rest } }: Answer) => rest

describe('two hundred simultaneous orders on two gateways', () => {
  it('with one transactionId place one order, debit once and get equal answers', async () => {
    const dealer = await addDealer(inspector.deps, 100)
    expect(new Set(nodes.map((node) => node.pid)).size).toBe(2)
    const answers = await orderAll(
      dealer,
      Array.from({ length: CALLS }, () => ({ transactionId: 'T-same', packageInfoList: lines(2) })),
    )
    expect(new Set(answers.map((answer) => answer.code))).toEqual(new Set(['000000']))
    expect(new Set(answers.map((answer) => JSON.stringify(withoutStatus(answer)))).size).toBe(1)
    expect(answers.filter((answer) => answer.headers['idempotent-replayed'] !== 'true')).toHaveLength(1)
    expect(await ledgerOf(dealer)).toEqual({ balance: 1_000_000 - 2 * PRICE, orders: 1, debits: 1, debited: 2 * PRICE })
    await expectOverlap(dealer)
  })

  it('with one transactionId but different contents place one order, and the rest are conflicts', async () => {
    const dealer = await addDealer(inspector.deps, 100)
    const contentOf = (index: number) => 1 + (Math.floor(index / nodes.length) % 2)
    const answers = await orderAll(
      dealer,
      Array.from({ length: CALLS }, (_, index) => ({
        transactionId: 'T-mixed',
        packageInfoList: lines(contentOf(index)),
      })),
    )
    const won = answers.findIndex((answer) => answer.code === '000000' && !answer.headers['idempotent-replayed'])
    const wonContent = contentOf(won)
    for (const [index, answer] of answers.entries()) {
      expect([answer.status, answer.code]).toEqual(contentOf(index) === wonContent ? [200, '000000'] : [409, '200012'])
    }
    expect(await ledgerOf(dealer)).toMatchObject({ orders: 1, debits: 1, debited: wonContent * PRICE })
    await expectOverlap(dealer)
  })

  it('with a balance for fifty place fifty orders and leave a balance of exactly zero', async () => {
    const dealer = await addDealer(inspector.deps, (50 * PRICE) / 10_000)
    const answers = await orderAll(
      dealer,
      Array.from({ length: CALLS }, () => ({ transactionId: randomUUID(), packageInfoList: lines(1) })),
    )
    const placed = answers.filter((answer) => answer.code === '000000')
    const refused = answers.filter((answer) => answer.code === '200007')
    expect([placed.length, refused.length]).toEqual([50, 150])
    for (const { status, data } of refused) {
      expect(status).toBe(402)
      expect(data).toMatchObject({ requiredAmount: PRICE, currencyCode: 'USD', shortfall: PRICE - data.currentBalance })
    }
    const balances = placed.map((answer) => answer.data.balanceAfter).sort((left, right) => left - right)
    expect(balances).toEqual(Array.from({ length: 50 }, (_, index) => index * PRICE))
    expect(await ledgerOf(dealer)).toEqual({ balance: 0, orders: 50, debits: 50, debited: 50 * PRICE })
    await expectOverlap(dealer)
  })
})
