import { makeIccid } from '@dealer-esim/contract'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { fulfilmentLoop } from '../src/fulfilment/loop.ts'
import type { Loop } from '../src/lib/lifecycle.ts'
import { gate } from '../src/suppliers/gate.ts'
import type { Outcome, Supplier, SupplierRequest } from '../src/suppliers/supplier.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import { addPackage, addTenant, openShop, payOrders, type Shop, statuses, until, walletOf } from './harness/shop.ts'

/* What was not bought in time, because its supplier could not or nobody came to ask it. */

let database: TestDatabase
let shop: Shop
let loop: Loop | undefined

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await openShop(database.url)
  await addPackage(shop.db, 'ODD', [{ supplier: 'odd', productCode: 'X' }])
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

/** Orders that were put off by their supplier, two hours ago for the first time. */
async function putOff(orders: number): Promise<string> {
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'ODD', { orders })
  await shop.db.query({
    text: `update order_items set supplier = 'odd', product_code = 'X', attempts = 1, asked_at = now() - interval '2 hours'
           where tenant_id = $1`,
    values: [tenantId],
  })
  await shop.db.query({
    text: `update orders set order_status = 'ALLOCATING' where tenant_id = $1`,
    values: [tenantId],
  })
  return tenantId
}

/** @param places how many it serves at once */
function start(answer: () => Outcome, places: number): { bought: number } {
  const seen = { bought: 0 }
  const order = async (requests: SupplierRequest[]) => {
    seen.bought += requests.length
    return requests.map(answer)
  }
  const supplier: Supplier = {
    ...{ name: 'odd', type: 'gateway' },
    traits: {
      ...{ batch: 1, concurrency: places, perSecond: null, timeout_ms: 5_000, settles_ms: 0 },
      giveUpAfter_ms: 3_600_000,
    },
    order,
    query: async () => {
      throw new Error('nothing is in doubt')
    },
    cancel: async () => ({ kind: 'refused', words: 'it does not' }),
    test: async () => undefined,
  }
  const supplied = { supplier, gate: gate(supplier.traits, shop.clock), paused: false }
  loop = fulfilmentLoop({ ...shop, suppliers: { ...shop.suppliers, get: () => supplied } })
  return seen
}

let delivered = 0
const deliver = (): Outcome => {
  const number = ++delivered
  const esim = { iccid: makeIccid('8985777', number), smdpAddress: 'a.example', matchingId: `M-${number}` }
  return { kind: 'delivered', esim }
}

it('what waits in a queue after a pause of hours is delivered, and not put under review', async () => {
  const tenantId = await putOff(6)
  start(deliver, 2)
  expect(
    await until(async () => !(await statuses(shop.db, tenantId)).ALLOCATING && statuses(shop.db, tenantId)),
  ).toEqual({
    DELIVERED: 6,
  })
})

it('what is put off again and again is told to be under review once, bought there, and delivered at last', async () => {
  const tenantId = await putOff(1)
  let answer: () => Outcome = () => ({ kind: 'retry', words: 'our balance is used up' })
  const seen = start(() => answer(), 2)
  const text = 'update order_items set retry_at = now() where tenant_id = $1 and retry_at > now() returning 1'
  for (const times of [1, 2, 3]) {
    await until(async () => seen.bought === times)
    if (times === 3) answer = deliver
    await until(async () => (await statuses(shop.db, tenantId)).UNDER_REVIEW === 1)
    await until(async () => (await shop.db.query({ text, values: [tenantId] })).length === 1)
    await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [tenantId] })
  }
  await until(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  const [row] = await shop.db.query<{ history: { orderStatus: string }[]; told: number }>({
    text: `select status_history as history, (select count(*)::int from events e where e.tenant_id = o.tenant_id) as told
           from orders o where tenant_id = $1`,
    values: [tenantId],
  })
  expect(row!.history.map(({ orderStatus }) => orderStatus)).toEqual(['PAID', 'UNDER_REVIEW', 'DELIVERED'])
  expect(row!.told).toBe(2)
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
})
