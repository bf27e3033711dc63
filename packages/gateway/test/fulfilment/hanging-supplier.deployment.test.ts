import { afterAll, beforeAll, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createScriptedSupplier } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop, waitUntil } from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addPackage(shop.db, 'GOOD', [{ supplier: 'sandbox', productCode: 'ANY' }])
  await addPackage(shop.db, 'HANGING', [{ supplier: 'hanging', productCode: 'ANY' }])
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

const ORDERS = 200
const WARM_UP = 30
/** How long a hanging call lasts, and with it an order that waits for one. */
const TIMEOUT_MS = 5_000

/** Places orders one by one, each when the previous one has been delivered. @returns how long each took, sorted. */
async function deliveryTimes(tenantId: string, orders = ORDERS): Promise<number[]> {
  const took: number[] = []
  for (let n = 0; n < orders; n++) {
    const started = performance.now()
    const [orderId] = await payOrders(shop.db, tenantId, 'GOOD')
    shop.wake.wake('fulfilment')
    await waitUntil(async () => {
      const [order] = await shop.db.query<{ orderStatus: string }>({
        text: 'select order_status from orders where tenant_id = $1 and order_id = $2',
        values: [tenantId, orderId],
      })
      return order?.orderStatus === 'DELIVERED'
    })
    took.push(performance.now() - started)
  }
  return took.sort((a, b) => a - b)
}

it('a supplier that hangs with 1 000 orders does not slow the same dealer’s orders at another supplier', async () => {
  const hang = () => new Promise<never>(() => {})
  const script = { name: 'hanging', order: hang, query: hang, cancel: hang }
  const { deps } = createScriptedSupplier(shop, script, { concurrency: 16, timeoutMs: TIMEOUT_MS, graceMs: 60_000 })
  const tenantId = await addTenant(shop.db)
  const loop = fulfilmentLoop(deps)
  try {
    await deliveryTimes(tenantId, WARM_UP)
    const undisturbed = await deliveryTimes(tenantId)
    await payOrders(shop.db, tenantId, 'HANGING', { orders: 1_000 })
    shop.wake.wake('fulfilment')
    await waitUntil(async () => {
      const [row] = await shop.db.query<{ asked: number }>({
        text: `select count(*)::int as asked from supplier_attempts where supplier = 'hanging'`,
      })
      return row!.asked >= 5
    })
    const disturbed = await deliveryTimes(tenantId)
    const at = (sorted: number[], share: number) => sorted[Math.ceil(sorted.length * share) - 1]!
    const percentiles = (sorted: number[]) =>
      `p50 ${at(sorted, 0.5).toFixed(0)} ms, p99 ${at(sorted, 0.99).toFixed(0)} ms`
    console.log(`undisturbed: ${percentiles(undisturbed)}; next to a hanging supplier: ${percentiles(disturbed)}`)
    // An order that waits for hanging calls waits for their time-out: far longer than a busy machine takes for it.
    expect(at(disturbed, 0.5)).toBeLessThan(Math.max(5 * at(undisturbed, 0.5), TIMEOUT_MS / 10))
    expect(at(disturbed, 0.99)).toBeLessThan(Math.max(5 * at(undisturbed, 0.99), TIMEOUT_MS))
  } finally {
    await loop.stop(100)
  }
}, 180_000)
