import { randomUUID } from 'node:crypto'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import { createOrderPlacer } from '#orders/placing/order-placer.ts'
import { addDealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

let database: TestDatabase
let node: Node
let db: Db & { close(): Promise<void> }
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await seedDemoCatalogue(node.deps)
  db = createDb({ url: database.url, poolSize: 4, applicationName: 'orders under test', genericPlans: true })
})
afterAll(async () => {
  await db.close()
  await node.stop()
  await database.drop()
})

it('an order is due immediately, even if the database clock has been set back', async () => {
  const { clock, databaseClock, ids, catalogue } = node.deps
  const placer = createOrderPlacer({
    ...{
      db,
      clock,
      ids,
      catalogue,
      stock: { available: () => undefined },
      suppliers: { get: () => undefined },
      databaseClock,
    },
    maintainPartitions: async () => {},
    wake: { wake() {} },
    log: {
      warn({ err }: { err: unknown }) {
        throw err
      },
    },
  })
  const { tenantId } = await addDealer(node.deps, 1_000)
  // The failed primary's clock was an hour fast.
  await db.query({
    text: `update wallets set updated_at = now() + interval '1 hour' where tenant_id = $1`,
    values: [tenantId],
  })
  const request = { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
  const verdict = await placer.place({ tenant: { tenantId, currencyCode: 'USD' }, orderId: ids.uuid(), request })
  expect(verdict.kind).toBe('placed')
  const [order] = await db.query<{ due: boolean }>({
    text: 'select due_at <= clock_timestamp() as due from orders where tenant_id = $1',
    values: [tenantId],
  })
  expect(order!.due).toBe(true)
})
