import { randomUUID } from 'node:crypto'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import type { OrderKey } from '#orders/placing/order-input.ts'
import { createOrderPlacer } from '#orders/placing/order-placer.ts'
import { createKey, DEFAULT_OPERATIONS } from '#tenants/keys/manage-keys.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { growTree } from '#wallet/books/grow-tree.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { recordStatements } from '../harness/databases/statements.ts'

/* What an order sends to the database and writes there, counted. Books and restricted keys add nothing to an order that does without. */

let database: TestDatabase
let node: Node
let orderDb: Database
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url, { PUBLIC_URL: 'http://127.0.0.1' })
  await seedDemoCatalogue(node.deps)
  orderDb = createDb({ url: database.url, poolSize: 1, applicationName: 'orders under test', genericPlans: true })
})
afterAll(async () => {
  await orderDb.close()
  await node.stop()
  await database.drop()
})

const PACKAGES = { packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
const WRITTEN = { deliveries: 1, events: 1, order_items: 1, orders: 1, transfers: 1, wallets: 1 }

/** The rows of a dealer that `run` inserts or updates, by table, without those of the request's admission. */
async function rowsWritten({ tenantId }: Dealer, run: () => Promise<unknown>): Promise<Record<string, number>> {
  const { db } = node.deps
  const [begun] = await db.query<{ xid: string }>({
    text: 'select pg_snapshot_xmax(pg_current_snapshot())::text as xid',
  })
  await run()
  const tables = await db.query<{ name: string }>({
    text: `select relname as name from pg_class c
           where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
             and relname not in ('request_ids', 'qps_buckets')
             and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id')`,
  })
  const counts = tables.map(
    ({ name }) =>
      `select '${name}' as name, count(*)::int as rows from "${name}" where tenant_id = $1 and xmin::text::bigint >= $2`,
  )
  const rows = await db.query<{ name: string; rows: number }>({
    text: `select * from (${counts.join(' union all ')}) as counted where rows > 0`,
    values: [tenantId, begun!.xid],
  })
  return Object.fromEntries(rows.map(({ name, rows }) => [name, rows]))
}

async function order(dealer: Dealer): Promise<void> {
  const body = JSON.stringify({ transactionId: randomUUID(), ...PACKAGES })
  expect(await call(node, dealer, 'esim/order', { body })).toMatchObject({ code: '000000' })
}

/** A dealer that has bought, and another that also has a tree with a checkpoint, and a restricted key that has bought. */
async function openDealers(): Promise<{ plain: Dealer; kept: Dealer; key: Dealer }> {
  const [plain, kept] = [await addDealer(node.deps), await addDealer(node.deps)]
  const input = { label: 'shop', operations: [...DEFAULT_OPERATIONS, 'esim/order'], totalMax: 10_000_000n }
  const key = { tenantId: kept.tenantId, ...(await createKey(node.deps, kept.tenantId, input, OPERATOR)) }
  for (const dealer of [plain, kept, key]) await order(dealer)
  await keepBooks(kept)
  return { plain, kept, key }
}

async function keepBooks({ tenantId }: Dealer): Promise<void> {
  expect(await growTree(node.deps.db, tenantId)).toMatchObject({ more: false })
  const [wallet] = await node.deps.db.query<{ version: bigint }>({
    text: 'select version from wallets where tenant_id = $1',
    values: [tenantId],
  })
  const treeSize = Number(wallet!.version)
  expect(await getCheckpoint(node.deps, tenantId, { treeSize })).toMatchObject({ treeSize })
}

test('an order writes the same rows with books and restricted keys beside it, and its tree has it afterwards', async () => {
  const { plain, kept, key } = await openDealers()
  expect(await rowsWritten(plain, () => order(plain))).toEqual(WRITTEN)
  expect(await rowsWritten(kept, () => order(kept))).toEqual(WRITTEN)
  expect(await rowsWritten(kept, () => order(key))).toEqual({ ...WRITTEN, tenant_keys: 1 })
  await keepBooks(kept)
})

test('an order sends one statement with books and restricted keys beside it', async () => {
  const { plain, kept, key } = await openDealers()
  const sent: { statement: string; rows: number }[] = []
  const { clock, databaseClock, ids, catalogue } = node.deps
  const placer = createOrderPlacer({
    ...{ db: recordStatements(orderDb, sent), clock, databaseClock, ids, catalogue },
    ...{ stock: { available: () => undefined }, suppliers: { get: () => undefined } },
    ...{ maintainPartitions: async () => {}, wake: { wake() {} } },
    log: {
      warn({ err }: { err: unknown }) {
        throw err
      },
    },
  })
  const statementsOf = async ({ tenantId }: Dealer, orderKey?: OrderKey) => {
    const tenant = { tenantId, currencyCode: 'USD' }
    const request = { transactionId: randomUUID(), ...PACKAGES }
    sent.length = 0
    const verdict = await placer.place({ tenant, orderId: ids.uuid(), request, key: orderKey })
    expect(verdict).toMatchObject({ kind: 'placed' })
    return sent.map(({ statement }) => statement)
  }
  const [stored] = await node.deps.db.query<OrderKey>({
    text: 'select key_id, label from tenant_keys where app_key = $1',
    values: [key.appKey],
  })
  for (const dealer of [plain, kept]) {
    await statementsOf(dealer) // the placer learns the wallet
    expect(await statementsOf(dealer)).toEqual(['orders-write-if-unchanged'])
  }
  expect((await statementsOf(kept, stored)).length).toBeGreaterThan(1)
})
