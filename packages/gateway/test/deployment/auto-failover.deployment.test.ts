import { afterAll, beforeAll, expect, it } from 'vitest'
import { canRun } from '../../../../test/can-run.ts'
import { migrate } from '../../src/lib/postgres/migrate.ts'
import { silentLog } from '../../src/lib/telemetry/log.ts'
import { type Dealer, NODE_ENV, type Node, startNode } from '../harness/api-node.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { expectRecordsToAgree } from '../orders/load-records.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { type AutoFailoverCluster, startAutoFailoverCluster } from './auto-failover-cluster.ts'
import {
  acceptedTwice,
  letLeasesExpire,
  prepareDealer,
  recentOrders,
  type SentOrder,
  startNodeLoad,
  UNDISTURBED_ORDERS,
} from './failover-load.ts'
import { hasPostgres15 } from './postgres-pair.ts'

/*
 * Two nodes under orders, on two servers that pg_auto_failover manages. The primary's machine dies, stops responding, or
 * is cut off from the other servers while the nodes still reach it.
 *
 * AUTO_FAILOVER_ROUNDS: how often each way.
 */

const ROUNDS = Number(process.env.AUTO_FAILOVER_ROUNDS ?? 1)
const FIRST_ANSWER_MAX_MS = 60_000
const ENDS_WITHIN_MS = 60_000

const FAILURES = {
  kill: (cluster, primary) => cluster.kill(primary),
  stall: (cluster, primary) => cluster.stall(primary),
  partition: (cluster, primary) => cluster.partition(primary),
} satisfies Record<string, (cluster: AutoFailoverCluster, primary: string) => void>
type Failure = keyof typeof FAILURES

const isPossible = canRun('failovers by pg_auto_failover', 'pg_autoctl') && hasPostgres15()
let cluster: AutoFailoverCluster
let operator: Node
let receiver: Receiver
let dealer: Dealer
let gateways: GatewayProcess[]
const sent: SentOrder[] = []

beforeAll(async () => {
  if (!isPossible) return
  cluster = await startAutoFailoverCluster()
  if (!cluster.canPartition) {
    const line = '!'.repeat(80)
    console.warn(`\n${line}\nNOT RUN: partitions. They need root, \`ip netns\` and a kernel that allows it.\n${line}\n`)
  }
  await migrate({ databaseUrl: cluster.urlOfBoth, log: silentLog })
  operator = await startNode(cluster.urlOfBoth)
  receiver = await startReceiver()
  dealer = await prepareDealer(operator, receiver)
  const env = { ...NODE_ENV, DEFAULT_QPS_LIMIT: '100000' }
  gateways = await Promise.all([1, 2].map(() => startGateway({ databaseUrl: cluster.urlOfBoth, env })))
}, 240_000)
afterAll(async () => {
  if (!isPossible) return
  await stopGateways()
  await operator?.stop()
  await receiver?.close()
  await cluster?.stop()
}, 60_000)

/** @returns the times to the first good answer of each node, and how many RequestIDs were accepted twice */
async function failOver(how: Failure): Promise<{ firstAnswersMs: number[]; twice: number }> {
  const primary = await cluster.primary()
  const loads = gateways.map((gateway) => startNodeLoad(gateway, dealer, sent))
  await waitUntil(async () => loads.every((load) => load.acknowledged >= UNDISTURBED_ORDERS))
  FAILURES[how](cluster, primary)
  const failedAt = performance.now()
  const firstAnswersMs = await Promise.all(loads.map((load) => load.firstAnswer(failedAt)))
  await waitUntil(async () => !['', primary].includes(await cluster.primary()))
  await Promise.all(loads.map((load) => load.stop()))
  const twice = await acceptedTwice(gateways, dealer, recentOrders(loads, failedAt))
  await cluster.recover(primary)
  return { firstAnswersMs, twice }
}

it.skipIf(!isPossible)(
  'failovers by pg_auto_failover lose and double no acknowledged order, and accept no RequestID twice',
  { timeout: 120_000 + ROUNDS * 3 * 120_000, retry: 0 },
  async () => {
    const failures = (Object.keys(FAILURES) as Failure[]).filter((how) => cluster.canPartition || how !== 'partition')
    const firstAnswersMs: Record<string, number[]> = {}
    let twice = 0
    for (let round = 0; round < ROUNDS; round++) {
      for (const how of failures) {
        const result = await failOver(how)
        twice += result.twice
        firstAnswersMs[how] = [...(firstAnswersMs[how] ?? []), ...result.firstAnswersMs.map(Math.round)]
      }
    }
    console.info(
      `pg_auto_failover: ${JSON.stringify({
        orders: sent.length,
        acknowledged: sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined).length,
        firstAnswersMs,
        acceptedTwice: twice,
      })}`,
    )
    await letLeasesExpire(operator.deps.db)
    const world = { gateway: gateways[0]!, dealer, db: operator.deps.db, requested: sent, receiver }
    await expectRecordsToAgree(world, ENDS_WITHIN_MS)
    expect(twice, 'RequestIDs of acknowledged orders that were accepted again').toBe(0)
    expect(Math.max(...Object.values(firstAnswersMs).flat())).toBeLessThanOrEqual(FIRST_ANSWER_MAX_MS)
  },
)
