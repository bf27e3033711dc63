import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrationsFolder } from '#platform/package-root.ts'
import { type Dealer, NODE_ENV, type Node, startNode } from '#test/harness/api-node.ts'
import { canRun } from '#test/harness/can-run.ts'
import { type GatewayProcess, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { expectRecordsToAgree } from '#test/orders/load-records.ts'
import { ANSWER_GUARD_MS } from '#test/orders/order-load.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'
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
 * Two nodes under an order load, on two servers managed by pg_auto_failover. The primary's machine dies, stops responding,
 * is cut off from the other servers while the nodes can still reach it, or is cut off from the nodes as well.
 * AUTO_FAILOVER_ROUNDS: how many times for each way. AUTO_FAILOVER_WAYS: which ways in each round, separated by commas; by
 * default each way once.
 */

const ROUNDS = Number(process.env.AUTO_FAILOVER_ROUNDS ?? 1)
/** Fewer failovers on a busy machine only print their times. */
const FAILOVERS_TO_COMPARE = 5
const PATIENCE_MS = 120_000
const ENDS_WITHIN_MS = 120_000

const FAILURES = {
  kill: (cluster, primary) => cluster.kill(primary),
  stall: (cluster, primary) => cluster.stall(primary),
  partition: (cluster, primary) => cluster.partition(primary),
  isolate: (cluster, primary) => cluster.isolate(primary),
} satisfies Record<string, (cluster: AutoFailoverCluster, primary: string) => void>
type Failure = keyof typeof FAILURES
const WAYS = (process.env.AUTO_FAILOVER_WAYS?.split(',') ?? Object.keys(FAILURES)) as Failure[]

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
  await migrate({ databaseUrl: cluster.urlOfBoth, log: silentLog, directory: migrationsFolder() })
  operator = await startNode(cluster.urlOfBoth)
  receiver = await startReceiver()
  dealer = await prepareDealer(operator, receiver)
  const env = { ...NODE_ENV, DEFAULT_QPS_LIMIT: '100000' }
  gateways = await Promise.all([1, 2].map(() => startGateway({ databaseUrl: cluster.urlOfBoth, env })))
}, 240_000)
afterAll(async () => {
  if (!isPossible) return
  try {
    await Promise.all((gateways ?? []).map((gateway) => gateway.kill('SIGKILL')))
    await stopGateways()
    await operator?.stop()
    await receiver?.close()
  } finally {
    await cluster?.stop()
  }
}, 180_000)

interface FailedOver {
  how: Failure
  /** How long after the failure each node first acknowledged an order. */
  firstAnswersMs: number[]
  /** The same, measured from when the standby began to accept writes. */
  afterPromotionMs: number[]
  /** How long after the failure the standby began to accept writes. */
  promotedMs: number
  /** RequestIDs that were accepted twice. */
  twice: number
}

async function failOver(how: Failure): Promise<FailedOver> {
  const primary = await cluster.primary()
  const loads = gateways.map((gateway) => startNodeLoad(gateway, dealer, sent))
  await waitUntil(async () => loads.every((load) => load.acknowledged >= UNDISTURBED_ORDERS), PATIENCE_MS)
  FAILURES[how](cluster, primary)
  const failedAt = performance.now()
  const promotion = cluster.promoted(primary)
  promotion.catch(() => {}) // awaited below
  const firstAnswersMs = await Promise.race([
    Promise.all(loads.map((load) => load.firstAnswer(failedAt))),
    ...gateways.map(failWhenEnded),
  ])
  const promotedMs = (await promotion) - failedAt
  await waitUntil(async () => !['', primary].includes(await cluster.primary()), PATIENCE_MS)
  await Promise.all(loads.map((load) => load.stop()))
  const twice = await acceptedTwice(gateways, dealer, recentOrders(loads, failedAt))
  await cluster.recover(primary)
  const afterPromotionMs = firstAnswersMs.map((firstMs) => Math.max(0, Math.round(firstMs - promotedMs)))
  return {
    how,
    firstAnswersMs: firstAnswersMs.map(Math.round),
    afterPromotionMs,
    promotedMs: Math.round(promotedMs),
    twice,
  }
}

async function failWhenEnded({ exited, logs }: GatewayProcess): Promise<never> {
  const { code, signal } = await exited
  throw new Error(`a gateway ended (${signal ?? code}): ${JSON.stringify(logs.slice(-3))}`)
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

it.skipIf(!isPossible)(
  'failovers by pg_auto_failover neither lose nor duplicate acknowledged orders',
  { timeout: 120_000 + ROUNDS * WAYS.length * 240_000, retry: 0 },
  async () => {
    const ways = WAYS.filter((how) => cluster.canPartition || !['partition', 'isolate'].includes(how))
    const failovers: FailedOver[] = []
    for (let round = 0; round < ROUNDS; round++) {
      for (const how of ways) {
        failovers.push(await failOver(how))
        console.info(`pg_auto_failover: ${JSON.stringify(failovers.at(-1))}`)
      }
    }
    const longestAnswerMs = Math.max(...sent.flatMap(({ durationsMs }) => durationsMs))
    console.info(
      `pg_auto_failover: ${JSON.stringify({
        orders: sent.length,
        acknowledged: sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined).length,
        longestAnswerMs: Math.round(longestAnswerMs),
      })}`,
    )
    await letLeasesExpire(operator.deps.db)
    const world = { gateway: gateways[0]!, dealer, db: operator.deps.db, requested: sent, receiver }
    await expectRecordsToAgree(world, ENDS_WITHIN_MS)
    expect(failovers.map(({ twice }) => twice)).toEqual(failovers.map(() => 0))
    expect(longestAnswerMs).toBeLessThan(ANSWER_GUARD_MS)
    if (failovers.length < FAILOVERS_TO_COMPARE) return
    // The nodes find the new primary sooner than the cluster has promoted it.
    const afterPromotionMs = failovers.flatMap((each) => each.afterPromotionMs)
    expect(median(afterPromotionMs)).toBeLessThan(median(failovers.map((each) => each.promotedMs)))
  },
)
