import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createCatalogue } from '#catalogue/catalogue.ts'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import { setTenantPlan } from '#catalogue/prices/price-assignments.ts'
import { createPlan, setPlanRule } from '#catalogue/prices/price-plans.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import { createOrderPlacer } from '#orders/placing/order-placer.ts'
import { addDealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

const LIST_PRICE = 45_000
const HOUR_MS = 3_600_000

let database: TestDatabase
let node: Node
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await seedDemoCatalogue(node.deps)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

it('a rule begins and ends at its set times, for lists and orders alike', async () => {
  const { deps } = node
  const dealer = await addDealer(deps)
  const buyer = { tenantId: dealer.tenantId, currencyCode: 'USD' }
  const begins = new Date(deps.databaseClock.now() + HOUR_MS)
  const ends = new Date(begins.getTime() + HOUR_MS)
  await createPlan(deps, 'SUMMER', OPERATOR)
  const key = { planName: 'SUMMER', locationCode: 'JP', validFrom: begins }
  await setPlanRule(deps, key, { percent: -200_000n, validUntil: ends }, OPERATOR)
  await setTenantPlan(deps, dealer.tenantId, 'SUMMER', OPERATOR)

  const at = { now: deps.databaseClock.now() }
  const databaseClock = { now: () => at.now }
  const catalogue = createCatalogue({ db: deps.db, linkKey: deps.linkKey, databaseClock })
  const placer = createOrderPlacer({
    ...{ ...deps, catalogue, maintainPartitions: async () => {} },
    ...{ stock: { available: () => undefined }, suppliers: { get: () => undefined } },
  })
  const { version } = await catalogue.latest()

  async function price() {
    const snapshot = await catalogue.latest()
    expect(snapshot.version).toBe(version)
    const [listed] = listPackages(snapshot, buyer, { packageCode: 'JP_1_7' }).packageList
    const changed = listPackages(snapshot, buyer, { updatedSince: new Date(at.now).toISOString() }).packageList
    return { price: listed && 'price' in listed ? listed.price : undefined, changed: changed.length > 0 }
  }
  async function order(guard: number) {
    const request = {
      transactionId: randomUUID(),
      packageInfoList: [{ packageCode: 'JP_1_7', count: 1, price: guard }],
    }
    const verdict = await placer.place({ tenant: buyer, orderId: deps.ids.uuid(), request })
    return verdict.kind === 'placed' ? verdict.answer.amount : verdict.kind === 'refused' ? verdict.code : verdict.kind
  }

  const REDUCED = 36_000
  at.now = begins.getTime() - 1
  expect([await price(), await order(LIST_PRICE)]).toEqual([{ price: LIST_PRICE, changed: false }, LIST_PRICE])
  at.now = begins.getTime()
  // The dealer still has a price from an earlier list, so the guard refuses the order and nothing is bought.
  expect([await price(), await order(LIST_PRICE)]).toEqual([{ price: REDUCED, changed: true }, '200005'])
  expect(await order(REDUCED)).toBe(REDUCED)
  at.now = ends.getTime() - 1
  expect([await price(), await order(REDUCED)]).toEqual([{ price: REDUCED, changed: false }, REDUCED])
  at.now = ends.getTime()
  expect([await price(), await order(REDUCED)]).toEqual([{ price: LIST_PRICE, changed: true }, '200005'])
  expect(await order(LIST_PRICE)).toBe(LIST_PRICE)
})
