import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { putPackages } from '../../src/catalogue/packages/put.ts'
import { migrate } from '../../src/lib/postgres/migrate.ts'
import { silentLog } from '../../src/lib/telemetry/log.ts'
import { addSupplier } from '../../src/suppliers/manage.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { startTcpProxy, type TcpProxy } from '../harness/databases/proxies.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { expectRecordsToAgree } from '../orders/load-records.ts'
import type { RequestedOrder } from '../orders/order-load.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { hasPostgres15, type PostgresPair, startPostgresPair } from './postgres-pair.ts'

/*
 * Two nodes under orders, on a primary with a synchronous standby. The primary's machine dies: its connections break, or
 * fall silent for ever. The standby is promoted. One node has an address of the database that then leads to it, the other node
 * the list of both servers.
 *
 * FAILOVER_ROUNDS: how often each way.
 */

const ROUNDS = Number(process.env.FAILOVER_ROUNDS ?? 3)
const FAILURES = ['kill', 'stall'] as const
/** Median of the first good answers of the nodes, after the failure. */
const FIRST_ANSWER_MS = { kill: 2_000, stall: 10_000 }
const PRODUCT = 'SANDBOX_OK'
/** Each node gets an order at this interval, even if earlier ones have not ended. */
const BETWEEN_ORDERS_MS = 100
/** How many orders each node acknowledges before the failure. */
const UNDISTURBED_ORDERS = 10
/** RequestIDs of orders that were acknowledged later than so long before the failure are sent again. */
const REPLAYED_MS = 1_500
const ENDS_WITHIN_MS = 60_000

const isPossible = hasPostgres15()
if (!isPossible) console.warn('NOT RUN: failovers. PostgreSQL 15 is missing here: apt-get install postgresql')

interface SentOrder extends RequestedOrder {
  body: string
  requestId: string
  timestamp: number
  sentAt: number
  acknowledgedAt: number | undefined
}

let pair: PostgresPair
let address: TcpProxy
let operator: Node
let receiver: Receiver
let dealer: Dealer
let gateways: GatewayProcess[]
const sent: SentOrder[] = []

beforeAll(async () => {
  if (!isPossible) return
  pair = await startPostgresPair()
  address = await startTcpProxy(pair.url)
  await migrate({ databaseUrl: address.url, log: silentLog })
  operator = await startNode(address.url)
  const { deps } = operator
  receiver = await startReceiver()
  await addSupplier(deps, { name: 'shop', type: 'sandbox', config: { giveUpAfterMs: 86_400_000 } }, OPERATOR)
  const prices = [{ currencyCode: 'USD', price: 1_000, retailPrice: null }]
  const suppliers = [{ supplier: 'shop', productCode: PRODUCT }]
  await putPackages(deps, [packageInput({ packageCode: PRODUCT, status: 'ON_SALE', prices, suppliers })], OPERATOR)
  dealer = await addDealer(deps)
  const setting = await call(operator, dealer, 'webhook/set', { body: JSON.stringify({ callbackUrl: receiver.url }) })
  expect(setting.code).toBe('000000')
  const env = { ...NODE_ENV, DEFAULT_QPS_LIMIT: '100000' }
  gateways = await Promise.all([
    startGateway({ databaseUrl: address.url, env }),
    startGateway({ databaseUrl: pair.urlOfBoth, env }),
  ])
})
afterAll(async () => {
  if (!isPossible) return
  await stopGateways()
  await operator.stop()
  await receiver.close()
  await address.close()
  await pair.stop()
})

/** Sends orders to a node until it is stopped. */
function load(gateway: GatewayProcess) {
  const sending: Promise<void>[] = []
  let isStopped = false
  async function send(): Promise<void> {
    const packageInfoList = [{ packageCode: PRODUCT, count: 1 }]
    const transactionId = randomUUID()
    const order: SentOrder = {
      transactionId,
      packageInfoList,
      answers: [],
      durationsMs: [],
      body: JSON.stringify({ transactionId, packageInfoList }),
      requestId: randomUUID(),
      timestamp: Date.now(),
      sentAt: performance.now(),
      acknowledgedAt: undefined,
    }
    sent.push(order)
    own.push(order)
    const answer = await call(gateway, dealer, 'esim/order', order)
    order.answers.push(answer)
    order.durationsMs.push(performance.now() - order.sentAt)
    if (answer.code === '000000') order.acknowledgedAt = performance.now()
  }
  const own: SentOrder[] = []
  const running = (async () => {
    while (!isStopped) {
      sending.push(send())
      await delay(BETWEEN_ORDERS_MS)
    }
  })()
  return {
    own,
    async stop() {
      isStopped = true
      await running
      await Promise.all(sending)
    },
  }
}

/** When a node first acknowledged an order that it got after `since`. */
async function firstAnswer(own: readonly SentOrder[], since: number): Promise<number> {
  for (;;) {
    const answered = own.find(({ sentAt, acknowledgedAt }) => sentAt > since && acknowledgedAt !== undefined)
    if (answered) return answered.acknowledgedAt! - since
    await delay(10)
  }
}

async function fail(how: (typeof FAILURES)[number]): Promise<void> {
  if (how === 'stall') address.freezeAll({ alsoNew: true })
  await pair.killPrimary()
  await pair.promote()
  address.connectTo(pair.url)
}

/** How many RequestIDs of acknowledged orders are accepted again. */
async function acceptedTwice(orders: readonly SentOrder[]): Promise<number> {
  const codes = await Promise.all(
    orders.map(({ body, requestId, timestamp }, index) =>
      call(gateways[index % 2]!, dealer, 'esim/order', { body, requestId, timestamp }).then(({ code }) => code),
    ),
  )
  for (const code of codes) expect(['101006', '000000']).toContain(code)
  return codes.filter((code) => code === '000000').length
}

/** As if a minute had passed since a worker lost its connection while it held orders. */
async function letLeasesExpire(): Promise<void> {
  await operator.deps.db.tx(async (tx) => {
    tx.send({ text: 'update orders set due_at = now(), lease_until = null where due_at is not null' })
    tx.send({
      text: `update order_items set in_doubt_at = in_doubt_at - interval '1 minute',
               updated_at = updated_at - interval '1 minute' where item_status = 'ASKED'`,
    })
  })
}

const isAcknowledged = ({ acknowledgedAt }: SentOrder) => acknowledgedAt !== undefined
const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

it.skipIf(!isPossible)(
  'a failover loses and doubles no acknowledged order, accepts no RequestID twice, and is over within seconds',
  { timeout: 60_000 + ROUNDS * 60_000, retry: 0 },
  async () => {
    const firstAnswersMs = { kill: [] as number[], stall: [] as number[] }
    let twice = 0
    for (let round = 0; round < ROUNDS; round++) {
      for (const how of FAILURES) {
        const loads = gateways.map(load)
        await waitUntil(async () => loads.every(({ own }) => own.filter(isAcknowledged).length >= UNDISTURBED_ORDERS))
        const failedAt = performance.now()
        const failing = fail(how)
        firstAnswersMs[how].push(...(await Promise.all(loads.map(({ own }) => firstAnswer(own, failedAt)))))
        await failing
        await Promise.all(loads.map((each) => each.stop()))
        const recent = loads.flatMap(({ own }) =>
          own.filter(({ acknowledgedAt: at = 0 }) => at > failedAt - REPLAYED_MS),
        )
        expect(recent.length).toBeGreaterThan(5)
        twice += await acceptedTwice(recent)
        await pair.replaceStandby()
      }
    }
    const longestMs = Math.max(...sent.flatMap(({ durationsMs }) => durationsMs))
    console.info(
      `failovers: ${JSON.stringify({
        orders: sent.length,
        acknowledged: sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined).length,
        firstAnswersMs: { kill: firstAnswersMs.kill.map(Math.round), stall: firstAnswersMs.stall.map(Math.round) },
        longestAnswerMs: Math.round(longestMs),
        acceptedTwice: twice,
      })}`,
    )
    await letLeasesExpire()
    const world = { gateway: gateways[0]!, dealer, db: operator.deps.db, requested: sent, receiver }
    await expectRecordsToAgree(world, ENDS_WITHIN_MS)
    expect(twice, 'RequestIDs of acknowledged orders that were accepted again').toBe(0)
    for (const how of FAILURES) expect(median(firstAnswersMs[how]), how).toBeLessThanOrEqual(FIRST_ANSWER_MS[how])
  },
)
