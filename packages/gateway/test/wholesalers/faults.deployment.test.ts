import { setTimeout as delay } from 'node:timers/promises'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  createShop,
  payOrders,
  type Shop,
  waitUntil,
  walletOf,
} from '../harness/shop.ts'
import { firstProduct } from './simulator-fixtures.ts'

/*
 * Orders arrive at a steady rate for four wholesalers. One hangs, one has no money, and one loses every tenth answer. Like
 * a dealer, the test pays only for packages that are on sale.
 */

/** The number of orders while suppliers are disturbed, for all suppliers together; `ORDERS=10000` makes a long run. */
const ORDERS = Number(process.env.ORDERS ?? 400)
/** The number of orders to compare them with: enough for the slowest hundredth to be meaningful. */
const UNDISTURBED = Math.min(ORDERS, 2_000)
const WARM_UP = 80
const PER_SECOND = 40
const SUPPLIERS = { healthy: 'zendit', hanging: 'zendit', poor: 'esim-access', losing: 'mobimatter' } as const
type Name = keyof typeof SUPPLIERS
const NAMES = Object.keys(SUPPLIERS) as Name[]
const TENANTS = 8
const BALANCE = 10_000_000_000
/** How long a hanging call lasts, and with it an order that waits for one. */
const TIMEOUT_MS = 2_000
/** Much longer than a supplier's breaker waits. Only an order that never ends exceeds it. */
const END_WITHIN_MS = 300_000

let database: TestDatabase
let shop: Shop
const simulators = {} as Record<Name, Simulator>
const tenants: string[] = []
/** The orders that were paid for. */
const paid: Record<Name, number> = { healthy: 0, hanging: 0, poor: 0, losing: 0 }

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  for (const name of NAMES) {
    const kind = SUPPLIERS[name]
    simulators[name] = await createSimulator(kind, { catalogueSize: 3, balance: BALANCE })
    const { url, credentials } = simulators[name]
    const config = { url, ...credentials, timeoutMs: TIMEOUT_MS, settlesMs: 500, perSecond: 10_000 }
    const limit = kind === 'esim-access' ? { perSecond: 1_000 } : {}
    await addSupplier(shop, name, kind, { ...config, ...limit })
    const productCode = await firstProduct(shop.suppliers.get(name)!.supplier)
    await addPackage(shop.db, name, [{ supplier: name, productCode }])
  }
  for (let n = 0; n < TENANTS; n++) tenants.push(await addTenant(shop.db))
})
afterAll(async () => {
  for (const simulator of Object.values(simulators)) await simulator.close()
  await shop.close()
  await database.drop()
})

/**
 * Pays for orders of all suppliers and tenants in turn, where they are on sale.
 * @returns when it began, by the database's clock
 */
async function payAtRate(orders: number): Promise<Date> {
  const [row] = await shop.db.query<{ now: Date }>({ text: 'select now() as now' })
  const startedAt = performance.now()
  for (let n = 0; n < orders / NAMES.length; n++) {
    const catalogue = await shop.catalogue.latest()
    for (const name of NAMES) {
      if (!catalogue.find(name)!.onSale) continue
      await payOrders(shop.db, tenants[n % TENANTS]!, name)
      paid[name] += 1
    }
    shop.wake.wake('fulfilment')
    const dueMs = ((n + 1) * NAMES.length * 1_000) / PER_SECOND
    await delay(Math.max(0, startedAt + dueMs - performance.now()))
  }
  return row!.now
}

/** Waits until every order has ended. */
async function untilEnded(): Promise<void> {
  await waitUntil(
    async () => {
      const [row] = await shop.db.query<{ open: number }>({
        text: `select count(*)::int as open from orders where order_status not in ('DELIVERED', 'FAILED')`,
      })
      return row!.open === 0
    },
    END_WITHIN_MS,
    500,
  )
}

async function openOf(packageCode: Name): Promise<number> {
  const [row] = await shop.db.query<{ open: number }>({
    text: `select count(*)::int as open from orders
           where order_status <> 'DELIVERED' and package_lines -> 0 ->> 'packageCode' = $1`,
    values: [packageCode],
  })
  return row!.open
}

/** The time from payment to delivery, for the healthy supplier's orders since then. */
async function p99Of(since: Date): Promise<number> {
  const [row] = await shop.db.query<{ p99: number }>({
    text: `select percentile_cont(0.99) within group (order by
             extract(epoch from (status_history -> -1 ->> 'time')::timestamptz - created_at) * 1000)::float8 as p99
           from orders where created_at >= $1 and package_lines -> 0 ->> 'packageCode' = 'healthy'`,
    values: [since],
  })
  return row!.p99
}

it('every order ends without a second purchase, and the healthy supplier’s orders take little longer', async () => {
  const loop = fulfilmentLoop(shop)
  try {
    await payAtRate(WARM_UP) // connections are open and statements are prepared
    await untilEnded()
    const undisturbedSince = await payAtRate(UNDISTURBED)
    await untilEnded()
    const before = await p99Of(undisturbedSince)
    say(`undisturbed: ${UNDISTURBED} orders, p99 of the healthy supplier ${Math.round(before)} ms`)

    simulators.hanging.addFault({ kind: 'hang' })
    simulators.poor.setBalance(0)
    simulators.losing.addFault({ kind: 'answer-lost', every: 10 })
    const paidBefore = { ...paid }
    const disturbedAt = performance.now()
    const disturbedSince = await payAtRate(ORDERS)
    const disturbedForS = (performance.now() - disturbedAt) / 1_000 // longer on a busy machine
    // Those paid for before the first refusal was recorded wait for money.
    const poorOrders = paid.poor - paidBefore.poor
    expect(poorOrders).toBeLessThanOrEqual((5 * PER_SECOND) / NAMES.length)
    const poorRequests = simulators.poor.counters().requestsByOperation.order! - paidBefore.poor
    expect(poorRequests).toBeLessThanOrEqual(poorOrders + disturbedForS / 30 + 1)
    const disturbed = await p99Of(disturbedSince)
    say(
      `disturbed: ${ORDERS} orders in turn in ${Math.round(disturbedForS)} s, p99 ${Math.round(disturbed)} ms; ${poorOrders} were paid for the ` +
        `supplier without money, which got ${poorRequests} requests`,
    )
    // They do not need the other suppliers to recover.
    await waitUntil(async () => (await openOf('healthy')) === 0, END_WITHIN_MS)
    const { requestsByOperation } = simulators.losing.counters()
    simulators.hanging.clearFaults()
    simulators.poor.setBalance(BALANCE)
    const recoveredAt = performance.now()
    await untilEnded()
    const endedAfterS = (performance.now() - recoveredAt) / 1_000

    say(`all ended ${endedAfterS.toFixed(1)} s after the recovery`)
    const afterwardsSince = await payAtRate(UNDISTURBED)
    await untilEnded()
    const afterwards = await p99Of(afterwardsSince)
    say(`undisturbed again: p99 of the healthy supplier ${Math.round(afterwards)} ms`)
    expect(requestsByOperation.complete).toBeGreaterThan(ORDERS / NAMES.length)
    // Twice is the aim. The machine itself can be slower for a while, so the gate allows three times the slower of both, and
    // less than what an order waits for a hanging call.
    expect(disturbed).toBeLessThanOrEqual(Math.max(3 * Math.max(before, afterwards), TIMEOUT_MS))
    await expectEachBoughtOnce()
  } finally {
    for (const simulator of Object.values(simulators)) simulator.clearFaults()
    simulators.poor.setBalance(BALANCE)
    await loop.stop(10_000)
  }
}, 3_600_000)

function say(progress: string): void {
  process.stdout.write(`${progress}\n`)
}

async function expectEachBoughtOnce(): Promise<void> {
  const rows = await shop.db.query<{ supplier: Name; delivered: number; different: number }>({
    text: 'select supplier, count(*)::int as delivered, count(distinct iccid)::int as different from profiles group by 1',
  })
  expect(new Map(rows.map(({ supplier, ...counts }) => [supplier, counts]))).toEqual(
    new Map(NAMES.map((name) => [name, { delivered: paid[name], different: paid[name] }])),
  )
  for (const name of NAMES) {
    const { taken, takenByKey, cancelled } = simulators[name].counters()
    expect([taken, Object.keys(takenByKey).length, cancelled]).toEqual([paid[name], paid[name], 0])
  }
  for (const tenantId of tenants) {
    const { balance, sum, refunds } = await walletOf(shop.db, tenantId)
    expect({ balance, refunds }).toEqual({ balance: sum, refunds: 0 })
  }
}
