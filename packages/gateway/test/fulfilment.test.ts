import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '../src/fulfilment/loop.ts'
import { orderNoOf } from '../src/lib/ids.ts'
import type { Loop } from '../src/lib/lifecycle.ts'
import { queryOrder } from '../src/orders/query.ts'
import { listProfiles } from '../src/profiles/list.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'
import {
  addPackage,
  addTenant,
  openShop,
  PRICE,
  payOrders,
  type Shop,
  statuses,
  until,
  walletOf,
} from './harness/shop.ts'

let database: TestDatabase
let shop: Shop
let loop: Loop | undefined

const PRODUCTS = ['JP_1_7', 'SANDBOX_REFUSED', 'SANDBOX_PARTIAL', 'SANDBOX_UNKNOWN', 'SANDBOX_SLOW']

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await openShop(database.url)
  for (const product of PRODUCTS) await addPackage(shop.db, product, [{ supplier: 'sandbox', productCode: product }])
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

async function events(tenantId: string) {
  return shop.db.query<{ content: { orderStatus: string; sequence: number; refundedAmount: number } }>({
    text: 'select content from events where tenant_id = $1 order by notify_id',
    values: [tenantId],
  })
}

async function settled(tenantId: string) {
  return until(async () => {
    const now = await statuses(shop.db, tenantId)
    return !now.PAID && !now.ALLOCATING && now
  })
}

describe('an order of the sandbox', () => {
  it('is delivered: profiles, statuses and events follow from one another', async () => {
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'JP_1_7', { count: 3 })
    loop = fulfilmentLoop(shop)
    expect(await settled(tenantId)).toEqual({ DELIVERED: 1 })

    const answer = await queryOrder(shop, tenantId, { orderNo: orderNoOf(orderId!) })
    expect(answer.statusHistory.map((entry) => entry.orderStatus)).toEqual(['PAID', 'ALLOCATING', 'DELIVERED'])
    expect(answer.packageInfoList[0]).toMatchObject({
      count: 3,
      deliveredCount: 3,
      failedCount: 0,
      failureReason: null,
    })
    expect(answer.profileList).toHaveLength(3)
    expect(answer.profileList[0]).toMatchObject({ esimStatus: 'GOT_RESOURCE', smdpStatus: 'RELEASED', eid: null })
    expect(new Set(answer.profileList.map((profile) => profile.iccid)).size).toBe(3)
    const told = (await events(tenantId)).map((event) => [event.content.orderStatus, event.content.sequence])
    expect(told).toEqual([
      ['ALLOCATING', 2],
      ['DELIVERED', 3],
    ])
    expect(
      await shop.db.query({ text: 'select from orders where due_at is not null or lease_token is not null' }),
    ).toEqual([])
    expect((await listProfiles(shop, tenantId, { orderNo: orderNoOf(orderId!) })).profileList).toHaveLength(3)
  })

  it('is refunded at once, exactly once, where it is refused', async () => {
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, 'SANDBOX_REFUSED', { orders: 5, count: 2 })
    loop = fulfilmentLoop(shop)
    expect(await settled(tenantId)).toEqual({ FAILED: 5 })
    const wallet = await walletOf(shop.db, tenantId)
    expect(wallet).toMatchObject({ refunds: 10, refunded: 10n * PRICE, balance: wallet.sum })
    expect((await events(tenantId)).at(-1)!.content).toMatchObject({ orderStatus: 'FAILED', refundedAmount: 20_000 })
  })

  it('is delivered in part, and the rest refunded', async () => {
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'SANDBOX_PARTIAL', { count: 5 })
    loop = fulfilmentLoop(shop)
    expect(await settled(tenantId)).toEqual({ PARTIALLY_DELIVERED: 1 })
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 2, refunded: 2n * PRICE })
    const answer = await queryOrder(shop, tenantId, { transactionId: `T-${orderId}` })
    expect(answer.packageInfoList[0]).toMatchObject({ deliveredCount: 3, failedCount: 2 })
    expect(answer.refundedAmount).toBe(Number(2n * PRICE))
  })

  it('goes to review where the supplier cannot tell, bought once and not refunded', async () => {
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, 'SANDBOX_UNKNOWN', { count: 2 })
    loop = fulfilmentLoop(shop)
    expect(await settled(tenantId)).toEqual({ UNDER_REVIEW: 1 })
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
    const asked = await shop.db.query<{ requests: number }>({
      text: `select requests from sandbox_issued where product_code = 'SANDBOX_UNKNOWN'`,
    })
    expect(asked).toEqual([{ requests: 1 }, { requests: 1 }])
  })

  it('delivers thousands, every one once', async () => {
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, 'JP_1_7', { orders: 6_000 })
    const started = performance.now()
    loop = fulfilmentLoop(shop)
    expect(await settled(tenantId)).toEqual({ DELIVERED: 6_000 })
    console.log(`${Math.round(6_000_000 / (performance.now() - started))} eSIMs/s`)
    const [count] = await shop.db.query<{ profiles: number; attempts: number }>({
      text: `select (select count(*)::int from profiles where tenant_id = $1) as profiles,
                    (select count(*)::int from supplier_attempts where tenant_id = $1) as attempts`,
      values: [tenantId],
    })
    expect(count).toEqual({ profiles: 6_000, attempts: 6_000 })
  })
})
