import { orderIdOf } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import { findOrder } from '#orders/reading/find-order.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

let database: TestDatabase
let node: Node
let dealer: Dealer
let orderNo: string
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await seedDemoCatalogue(node.deps)
  for (let dealers = 0; dealers < 4; dealers++) dealer = await addDealer(node.deps)
  const body = JSON.stringify({ transactionId: 'T-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
  orderNo = (await call(node, dealer, 'esim/order', { body })).data.orderNo
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

/** On Citus the plan shows the shard. */
const TENANTS_SKIPPED = /on tenants(_\d+| t) .*never executed/

/** The plan of the statement that finds the order, as actually executed. */
async function executedPlan(): Promise<string> {
  let plan: Record<string, unknown>[] = []
  const explaining: Pick<Db, 'query'> = {
    async query({ text, values = [] }) {
      plan = await node.deps.db.query({ text: `explain (analyze) ${text}`, values })
      return []
    },
  }
  await findOrder(explaining, orderNo)
  return plan.map((row) => Object.values(row).join()).join('\n')
}

it('an order is found by its number without searching every dealer while its events are kept', async () => {
  const found = { tenantId: dealer.tenantId, orderId: orderIdOf(orderNo) }
  expect(await findOrder(node.deps.db, orderNo)).toEqual(found)
  expect(await findOrder(node.deps.db, found.orderId!)).toEqual(found)
  expect(await executedPlan()).toMatch(TENANTS_SKIPPED)

  await node.deps.db.query({ text: 'delete from events where order_id = $1', values: [found.orderId] })
  expect(await findOrder(node.deps.db, orderNo)).toEqual(found)
  expect(await executedPlan()).not.toMatch(TENANTS_SKIPPED)
})

it('an unknown order number finds no order, whatever time it contains', async () => {
  for (const uuid of [
    '00000000-0000-7000-8000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    node.deps.ids.uuid(),
  ])
    expect(await findOrder(node.deps.db, uuid)).toBeUndefined()
})
