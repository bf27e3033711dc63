import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import { describeMove } from '#cells/move/copy-rows.ts'
import { installGuards } from '#cells/move/move-guard.ts'
import { insertMove, liftFence, setFence } from '#cells/move/move-state.ts'
import { call, type Dealer, NODE_ENV, type Node, startNode } from '#test/harness/api-node.ts'
import { hostOfSchema } from '#test/harness/databases/citus.ts'
import {
  createTestDatabase,
  type TestDatabase,
  withDatabaseName,
  withServerClient,
} from '#test/harness/databases/database.ts'
import { startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { expectRecordsToAgree } from '#test/orders/load-records.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'
import { letLeasesExpire, prepareDealer, type SentOrder, startNodeLoad, UNDISTURBED_ORDERS } from './failover-load.ts'

/*
 * Two nodes of a gateway place orders on a schema of a Citus cluster. Their DATABASE_URL points to the coordinator, or to
 * the worker that has the schema. The schema is moved to another worker and back. TEST_CITUS_URL: docs/scaling.md.
 */

const { url: coordinator, workers } = inject('testServer')
const isPossible = workers.length > 1
if (!isPossible) console.warn('NOT RUN: moves on Citus. TEST_CITUS_URL must name a cluster of Citus with two workers')

const ENDS_WITHIN_MS = 120_000

let database: TestDatabase
let operator: Node
let receiver: Receiver
let dealer: Dealer

beforeEach(async () => {
  if (!isPossible) return
  database = await createTestDatabase()
  operator = await startNode(database.url)
  receiver = await startReceiver()
  dealer = await prepareDealer(operator, receiver)
})
afterEach(async () => {
  if (!isPossible) return
  await stopGateways()
  await operator.stop()
  await receiver.close()
  await database.drop()
})

function urlAtCoordinator(): string {
  return withDatabaseName(coordinator, new URL(database.url).pathname.slice(1))
}

/** Moves the schema to the worker that does not have it. @returns how long it took */
async function moveSchema(mode: string): Promise<number> {
  const from = await hostOfSchema(urlAtCoordinator())
  const to = workers.map((worker) => new URL(worker)).find(({ host }) => host !== from)!
  const movedMs = await withServerClient(urlAtCoordinator(), async (client) => {
    // Citus refuses to move a schema while it is removing the shards that an earlier move has left behind.
    await waitUntil(async () => (await client.query('select from pg_dist_cleanup')).rowCount === 0)
    const startedAt = performance.now()
    await client.query('select citus_schema_move($1::regnamespace, $2::text, $3::int, $4::citus.shard_transfer_mode)', [
      DEFAULT_SCHEMA,
      to.hostname,
      Number(to.port),
      mode,
    ])
    return performance.now() - startedAt
  })
  expect(await hostOfSchema(urlAtCoordinator())).toBe(to.host)
  return movedMs
}

it.skipIf(!isPossible).each([
  ['block_writes', 'the worker that has the schema'],
  ['auto', 'the coordinator'],
])(
  'moving the schema with Citus in %s mode does not lose or duplicate orders if DATABASE_URL names %s',
  { timeout: 600_000, retry: 0 },
  async (mode, connectedTo) => {
    const databaseUrl = connectedTo === 'the coordinator' ? urlAtCoordinator() : database.url
    const env = { ...NODE_ENV, DEFAULT_QPS_LIMIT: '100000' }
    const gateways = await Promise.all([startGateway({ databaseUrl, env }), startGateway({ databaseUrl, env })])
    const sent: SentOrder[] = []
    const movesMs: number[] = []
    for (let round = 0; round < 2; round++) {
      const loads = gateways.map((gateway) => startNodeLoad(gateway, dealer, sent))
      await waitUntil(async () => loads.every((load) => load.acknowledged >= UNDISTURBED_ORDERS))
      movesMs.push(await moveSchema(mode))
      const movedAt = performance.now()
      await Promise.all(loads.map((load) => load.firstAnswer(movedAt)))
      await Promise.all(loads.map((load) => load.stop()))
    }
    console.info(
      `moves on Citus: ${JSON.stringify({
        mode,
        connectedTo,
        orders: sent.length,
        refused: sent.filter(({ acknowledgedAt }) => acknowledgedAt === undefined).length,
        movesMs: movesMs.map(Math.round),
        longestAnswerMs: Math.round(Math.max(...sent.flatMap(({ durationsMs }) => durationsMs))),
      })}`,
    )
    // A connection made before a move fails once.
    await expect.poll(() => letLeasesExpire(operator.deps.db).then(() => 'expired', String)).toBe('expired')
    const world = { gateway: gateways[0]!, dealer, db: operator.deps.db, requested: sent, receiver }
    await expectRecordsToAgree(world, ENDS_WITHIN_MS)
  },
)

it.skipIf(!isPossible)('a dealer moving to another cell stays guarded when Citus moves the schema', async () => {
  const { db, ids } = operator.deps
  const { tenantId } = dealer
  const source = { name: 'main', db, nodes: [] }
  const move = { moveId: ids.uuid(), tenantId, source, target: { ...source, name: 'eu1' } }
  await db.tx(async (tx) => insertMove(tx, move, 'OUT', 'cli:tester'))
  await installGuards(source, tenantId, (await describeMove(source)).moved)
  await liftFence(move)
  await moveSchema('auto')

  const write = () =>
    db.query({ text: 'update wallets set updated_at = now() where tenant_id = $1', values: [tenantId] })
  await expect.poll(() => write().then(() => 'written', String)).toBe('written') // connections follow the schema
  expect(await db.query({ text: 'select table_name from tenant_move_changes' })).toContainEqual({
    tableName: 'wallets',
  })
  await setFence(move, 60_000)
  await expect(write()).rejects.toThrow(/is being moved to or from cell eu1/)
  expect((await call(operator, dealer, 'health')).code).toBe('000002')
})
