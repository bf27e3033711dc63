import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { addSupplier, listSuppliers, setSupplier } from '#suppliers/manage-suppliers.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import {
  addPackage,
  addTenant,
  createShop,
  payOrders,
  type Shop,
  statuses,
  waitUntil,
  walletOf,
} from '../harness/shop.ts'
import { firstProduct } from '../wholesalers/simulator-fixtures.ts'

/* Two nodes buy from a wholesaler with a daily spend limit, whose simulator counts its sales. */

const BY = { actor: 'cli:test' } as const
const COST = 20_000n
const NODES = 2

let database: TestDatabase
let nodes: Shop[]
let simulator: Simulator
let productCode: string
let packages = 0

beforeAll(async () => {
  database = await createTestDatabase()
  nodes = [await createShop(database.url), await createShop(database.url)]
  simulator = await createSimulator('zendit', { catalogueSize: 3 })
  await addSupplier(deps(), { name: 'limited', type: 'zendit', config: configOf('10') }, BY)
  await Promise.all(nodes.map((node) => node.suppliers.refresh()))
  productCode = await firstProduct(nodes[0]!.suppliers.get('limited')!.supplier)
})
afterAll(async () => {
  await simulator.close()
  await Promise.all(nodes.map((node) => node.close()))
  await database.drop()
})
beforeEach(async () => {
  simulator.clearFaults()
  simulator.resetRecords()
  await startNextDay()
})

const deps = () => ({ ...nodes[0]!, config: { deployment: 'local' } })
const configOf = (amount: string) => ({
  url: simulator.url,
  apiKey: simulator.credentials.apiKey!,
  dailySpendLimit: { amount, currencyCode: 'USD' },
})

async function setLimit(amount: string): Promise<void> {
  await setSupplier(deps(), { name: 'limited', config: configOf(amount) }, BY)
  await Promise.all(nodes.map((node) => node.suppliers.refresh()))
}

/** Pretends that everything bought so far was bought yesterday. */
async function startNextDay(): Promise<void> {
  const { db } = nodes[0]!
  await db.query({ text: `update supplier_attempts set started_at = started_at - interval '1 day'` })
  await db.query({ text: `update suppliers set spend_alerted_on = null` })
}

/** Paid orders for one eSIM, each from a different tenant, so that both nodes claim simultaneously. */
async function pay(orders: number, routes: { supplier: string; productCode: string; cost?: bigint }[]) {
  const { db } = nodes[0]!
  const packageCode = `P${++packages}`
  await addPackage(db, packageCode, routes, true)
  return Promise.all(
    Array.from({ length: orders }, async () => {
      const tenantId = await addTenant(db)
      await payOrders(db, tenantId, packageCode)
      return tenantId
    }),
  )
}

const limited = () => ({ supplier: 'limited', productCode, cost: COST })
const taken = () => Object.values(simulator.counters().takenByKey).reduce((sum, count) => sum + count, 0)

async function count(tenants: string[], status: string): Promise<number> {
  const all = await Promise.all(tenants.map((tenantId) => statuses(nodes[0]!.db, tenantId)))
  return all.filter((one) => (one as Record<string, number>)[status] === 1).length
}

/** Waits until every order has been claimed and postponed. */
async function untilOthersWait(tenants: string[]): Promise<void> {
  await waitUntil(async () => {
    const [row] = await nodes[0]!.db.query<{ open: number }>({
      text: `select count(*)::int as open from orders
             where tenant_id = any ($1::uuid[]) and due_at is not null and due_at <= now() + interval '1 second'`,
      values: [tenants],
    })
    return row!.open === 0
  })
}

async function withNodes(run: () => Promise<void>): Promise<void> {
  const loops = nodes.map((node) => fulfilmentLoop(node))
  try {
    await run()
  } finally {
    for (const loop of loops) await loop.stop(5_000)
  }
}

async function spentToday(): Promise<bigint> {
  const listed = await listSuppliers(nodes[0]!.db)
  return listed.find(({ name }) => name === 'limited')!.dailySpend!.spent
}

describe('a daily spend limit', () => {
  it('is not exceeded if two nodes claim at the same time, and the other orders wait', async () => {
    await setLimit('10.00')
    const tenants = await pay(24, [limited()])
    await withNodes(async () => {
      await waitUntil(async () => (await count(tenants, 'DELIVERED')) === 5)
      await untilOthersWait(tenants)
      expect([taken(), await count(tenants, 'DELIVERED'), await count(tenants, 'PAID')]).toEqual([5, 5, 19])
      for (const tenantId of tenants) expect((await walletOf(nodes[0]!.db, tenantId)).refunds).toBe(0)
      const alerts = await nodes[0]!.db.query({ text: `select from alerts where kind = 'SUPPLIER_SPEND_LIMIT'` })
      expect(alerts).toHaveLength(1)
      await startNextDay()
      await nodes[0]!.db.query({ text: 'update orders set due_at = now() where due_at is not null' })
      await waitUntil(async () => (await count(tenants, 'DELIVERED')) === 10)
      await untilOthersWait(tenants)
      expect(taken()).toBe(10)
      await setLimit('1000')
      await nodes[0]!.db.query({ text: 'update orders set due_at = now() where due_at is not null' })
      await waitUntil(async () => (await count(tenants, 'DELIVERED')) === tenants.length)
    })
    expect(taken()).toBe(tenants.length)
  })

  it('sends purchases that exceed it to the package’s next supplier', async () => {
    await setLimit('4')
    const tenants = await pay(5, [limited(), { supplier: 'sandbox', productCode: 'ANY' }])
    await withNodes(async () => {
      await waitUntil(async () => (await count(tenants, 'DELIVERED')) === tenants.length)
    })
    expect(taken()).toBe(2)
  })

  it('counts a purchase in doubt even if an unverified supplier did not find it', async () => {
    const config = { ...configOf('20'), timeoutMs: 1_000, settlesMs: 0 }
    await setSupplier(deps(), { name: 'limited', config }, BY)
    await Promise.all(nodes.map((node) => node.suppliers.refresh()))
    simulator.addFault({ kind: 'request-lost', operation: 'order', times: 1 })
    const tenants = await pay(2, [limited()])
    await withNodes(async () => {
      await waitUntil(async () => (await count(tenants, 'DELIVERED')) === 2, 60_000)
    })
    expect([taken(), await spentToday()]).toEqual([2, 3n * COST])
  })

  it('counts purchases in doubt, but not refused purchases', async () => {
    await setLimit('4')
    simulator.addFault({ kind: 'out-of-stock', operation: 'order' })
    const refused = await pay(4, [limited()])
    await withNodes(async () => {
      // Refused purchases free their share of the limit for the others.
      await waitUntil(async () => {
        await nodes[0]!.db.query({ text: 'update orders set due_at = now() where due_at is not null' })
        return (await count(refused, 'FAILED')) === refused.length
      })
    })
    expect(await spentToday()).toBe(0n)
    simulator.clearFaults()
    simulator.addFault({ kind: 'answer-lost', operation: 'order' })
    simulator.addFault({ kind: 'request-lost', operation: 'query' })
    const tenants = await pay(4, [limited()])
    await withNodes(async () => {
      await waitUntil(async () => taken() === 2)
      await untilOthersWait(tenants)
      expect([taken(), await spentToday()]).toEqual([2, 2n * COST])
    })
    simulator.clearFaults()
  })

  it('prevents purchases whose cost is unknown or in another currency', async () => {
    await setLimit('1000')
    const tenants = await pay(2, [{ supplier: 'limited', productCode }])
    await withNodes(() => untilOthersWait(tenants))
    expect([taken(), await count(tenants, 'PAID')]).toEqual([0, 2])
  })

  it('is required for a wholesaler that has not been verified', async () => {
    const { dailySpendLimit: _, ...config } = configOf('1')
    const message = /needs dailySpendLimit/
    await expect(addSupplier(deps(), { name: 'free', type: 'zendit', config }, BY)).rejects.toThrow(message)
    await expect(setSupplier(deps(), { name: 'limited', config }, BY)).rejects.toThrow(message)
    const listed = await listSuppliers(nodes[0]!.db)
    expect(listed.find(({ name }) => name === 'limited')).toMatchObject({
      status: 'Written from public documentation; not yet verified against a live account',
      verifiedAt: null,
    })
    expect(listed.find(({ name }) => name === 'sandbox')).toMatchObject({ status: null, dailySpend: null })
  })
})

it(`${NODES} workers that share a budget take each other’s purchases into account`, async () => {
  await setLimit('4')
  const tenants = await pay(NODES, [limited()])
  await withNodes(async () => {
    await waitUntil(async () => (await count(tenants, 'DELIVERED')) === NODES)
  })
  expect(await spentToday()).toBe(BigInt(NODES) * COST)
})
