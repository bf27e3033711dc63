import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrationsFolder } from '#platform/package-root.ts'
import { type Dealer, NODE_ENV, type Node, startNode } from '#test/harness/api-node.ts'
import { startTcpProxy, type TcpProxy } from '#test/harness/databases/database-proxies.ts'
import { type GatewayProcess, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { expectRecordsToAgree } from '#test/orders/load-records.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'
import {
  acceptedTwice,
  letLeasesExpire,
  prepareDealer,
  recentOrders,
  type SentOrder,
  startNodeLoad,
  UNDISTURBED_ORDERS,
} from './failover-load.ts'
import { hasPostgres15, type PostgresPair, startPostgresPair } from './postgres-pair.ts'

/*
 * Two nodes under an order load, on a primary with a synchronous standby. The primary's machine dies, and its connections
 * break or fall silent; or only the standby is cut off from it, and it keeps running. The standby is promoted. One node has
 * a database address that then reaches the new primary, and the other node has the list of both servers.
 * FAILOVER_ROUNDS: how many times for each way.
 */

const ROUNDS = Number(process.env.FAILOVER_ROUNDS ?? 3)
const ROUNDS_TO_COMPARE = 5
const FAILURES = ['kill', 'stall', 'partition'] as const
const ENDS_WITHIN_MS = 60_000

const isPossible = hasPostgres15()
if (!isPossible) console.warn('NOT RUN: failovers. PostgreSQL 15 is missing here: apt-get install postgresql')

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
  await migrate({ databaseUrl: address.url, log: silentLog, directory: migrationsFolder() })
  operator = await startNode(address.url)
  receiver = await startReceiver()
  dealer = await prepareDealer(operator, receiver)
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

async function fail(how: (typeof FAILURES)[number]): Promise<void> {
  if (how === 'stall') address.freezeAll({ alsoNew: true })
  if (how !== 'partition') await pair.killPrimary()
  await pair.promote()
  address.connectTo(pair.url)
  if (how !== 'partition') return
  // Connections through an address end when it moves.
  address.cut()
  address.restore()
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

it.skipIf(!isPossible)(
  'a failover neither loses nor duplicates acknowledged orders, and ends sooner where connections break',
  { timeout: 60_000 + ROUNDS * 90_000, retry: 0 },
  async () => {
    const firstAnswersMs: Record<(typeof FAILURES)[number], number[]> = { kill: [], stall: [], partition: [] }
    let twice = 0
    for (let round = 0; round < ROUNDS; round++) {
      for (const how of FAILURES) {
        const loads = gateways.map((gateway) => startNodeLoad(gateway, dealer, sent))
        await waitUntil(async () => loads.every((load) => load.acknowledged >= UNDISTURBED_ORDERS))
        const startedAt = performance.now()
        const failing = fail(how)
        // Until then the former primary has its standby, and may place orders.
        if (how === 'partition') await failing
        const failedAt = how === 'partition' ? performance.now() : startedAt
        firstAnswersMs[how].push(...(await Promise.all(loads.map((load) => load.firstAnswer(failedAt)))))
        await failing
        await Promise.all(loads.map((each) => each.stop()))
        twice += await acceptedTwice(gateways, dealer, recentOrders(loads, failedAt))
        await pair.killFormerPrimary()
        await pair.replaceStandby()
      }
    }
    const longestMs = Math.max(...sent.flatMap(({ durationsMs }) => durationsMs))
    console.info(
      `failovers: ${JSON.stringify({
        orders: sent.length,
        acknowledged: sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined).length,
        firstAnswersMs: Object.fromEntries(FAILURES.map((how) => [how, firstAnswersMs[how].map(Math.round)])),
        longestAnswerMs: Math.round(longestMs),
        acceptedTwice: twice,
      })}`,
    )
    await letLeasesExpire(operator.deps.db)
    const world = { gateway: gateways[0]!, dealer, db: operator.deps.db, requested: sent, receiver }
    await expectRecordsToAgree(world, ENDS_WITHIN_MS)
    expect(twice, 'RequestIDs of acknowledged orders that were accepted again').toBe(0)
    // Nodes notice a broken connection immediately, and a silent one only after a time-out. The node that lists both servers
    // has few silent connections.
    // A few rounds on a busy machine only print it: a standby that is promoted slowly hides the difference.
    if (ROUNDS >= ROUNDS_TO_COMPARE) expect(median(firstAnswersMs.kill)).toBeLessThan(Math.max(...firstAnswersMs.stall))
  },
)
