import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { compareSupplierList } from '#fulfilment/reconciliation/compare-lists.ts'
import { reconcileLoop } from '#fulfilment/reconciliation/reconcile.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { addDealer, call, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { createScriptedSupplier } from '#test/harness/scripted-supplier.ts'
import { createShop, type Shop, statuses, waitUntil } from '#test/harness/shop.ts'

/* A node whose own clock is wrong writes and compares times by the database's clock. */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const rightNow = Date.now

let database: TestDatabase
let shop: Shop
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
})
afterEach(() => vi.restoreAllMocks())
afterAll(async () => {
  await shop.close()
  await database.drop()
})

describe.each([
  ['40 days behind', -40 * DAY_MS],
  ['60 days ahead', 60 * DAY_MS],
])('a node whose clock is %s', (_, offMs) => {
  it('sells and delivers, and writes only correct timestamps', async () => {
    vi.spyOn(Date, 'now').mockImplementation(() => rightNow() + offMs)
    const node = await startNode(database.url)
    const { deps } = node
    await addSupplier(deps, { name: `shop${offMs}`, type: 'sandbox', config: {} }, OPERATOR)
    const product = packageInput({
      packageCode: `P${offMs}`,
      status: 'ON_SALE',
      prices: [{ currencyCode: 'USD', price: 1_000, retailPrice: null }],
      suppliers: [{ supplier: `shop${offMs}`, productCode: 'SANDBOX_OK' }],
    })
    await putPackages(deps, [product], OPERATOR)
    const dealer = await addDealer(deps)
    const loop = fulfilmentLoop(deps)
    try {
      const packageInfoList = [{ packageCode: product.packageCode, count: 1 }]
      const body = JSON.stringify({ transactionId: 'T-1', packageInfoList })
      expect(await call(node, dealer, 'esim/order', { body, timestamp: rightNow() })).toMatchObject({ code: '000000' })
      await waitUntil(async () => (await statuses(shop.db, dealer.tenantId)).DELIVERED === 1)
    } finally {
      await loop.stop(5_000)
      await node.stop()
    }
    const ids = `select order_id as id from orders where tenant_id = $1 union all select notify_id from events
      where tenant_id = $1 union all select attempt_id from supplier_attempts where tenant_id = $1 union all
      select profile_id from profiles where tenant_id = $1 union all select audit_id from audit_log where tenant_id = $1`
    const [written] = await shop.db.query<{ ids: number; misdated: string[]; created: boolean }>({
      text: `select count(*)::int as ids, coalesce(array_agg(id::text) filter (where abs(extract(epoch from now()) * 1000 -
                 ('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint) > 60000), '{}') as misdated,
               (select created_at > now() - interval '1 minute' and created_at <= now() from profiles
                where tenant_id = $1) as created
             from (${ids}) i`,
      values: [dealer.tenantId],
    })
    expect(written).toEqual({ ids: expect.any(Number), misdated: [], created: true })
    expect(written!.ids).toBeGreaterThan(5)
  })

  it('compares the supplier’s list for the last day', async () => {
    const { deps, since } = recordingNode(offMs)
    await compareSupplierList(deps, deps.suppliers.all()[0]!, DAY_MS)
    expect(Math.abs(since[0]! - (rightNow() - DAY_MS))).toBeLessThan(60_000)
  })
})

it('supplier lists are compared every hour, even after a node’s clock was set back', async () => {
  const { deps, since } = recordingNode(0)
  const time = { nowMs: rightNow(), monotonicMs: 0 }
  const clock = { now: () => time.nowMs, monotonic: () => time.monotonicMs }
  const loop = reconcileLoop({ ...deps, clock })
  for (const compared of [1, 2]) {
    Object.assign(time, { nowMs: time.nowMs - 30 * DAY_MS, monotonicMs: time.monotonicMs + HOUR_MS + 1 })
    loop.wake()
    await waitUntil(async () => since.length === compared)
  }
  await loop.stop(1_000)
})

/** A node with a wrong clock, and a supplier that records the start time with which its list was requested. */
function recordingNode(offMs: number) {
  const since: number[] = []
  const { deps } = createScriptedSupplier(shop, {
    async *list(from) {
      since.push(from.getTime())
      yield* []
    },
  })
  const clock = { ...shop.clock, now: () => rightNow() + offMs }
  return { deps: { ...deps, clock }, since }
}
