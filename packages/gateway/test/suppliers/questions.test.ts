import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { accountRate, asQuestion } from '@dealer-esim/wholesalers/account-rate.ts'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { questionLoop } from '#fulfilment/reconciliation/ask-questions.ts'
import { supplierApi } from '#http/supplier-api.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { ASK_EVERY_S, noteQuestions, WAITING_OF_TENANT_MAX } from '#suppliers/supplier-questions.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, addSupplier, addTenant, createShop, payOrders, type Shop, waitUntil } from '../harness/shop.ts'
import { firstProduct } from '../wholesalers/simulator-fixtures.ts'

/* Events that anybody can send cause few questions, and none before a purchase. Two nodes receive them. */

const PER_SECOND = 40
/** How many unproven events the route allows from one address. */
const BURST = 60

let database: TestDatabase
let simulator: Simulator
let nodes: { shop: Shop; app: FastifyInstance; url: string }[]
let loops: Running[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  simulator = await createSimulator('esim-access', { catalogueSize: 3 })
  const { accessCode, secretKey } = simulator.credentials
  const config = { url: simulator.url, accessCode, secretKey, perSecond: PER_SECOND }
  nodes = await Promise.all(
    [1, 2].map(async () => {
      const shop = await createShop(database.url)
      await addSupplier(shop, 'open', 'esim-access', config)
      await addSupplier(shop, 'listed', 'esim-access', { ...config, eventAddresses: ['203.0.113.0/24'] })
      const app = fastify()
      const served = { trustedProxies: ['127.0.0.1'], deployment: 'local' as const }
      await app.register(async (scope) => supplierApi(scope, { ...shop, config: served }))
      return { shop, app, url: await app.listen({ host: '127.0.0.1', port: 0 }) }
    }),
  )
  const productCode = await firstProduct(nodes[0]!.shop.suppliers.get('open')!.supplier)
  await addPackage(nodes[0]!.shop.db, 'OPEN', [{ supplier: 'open', productCode }])
})
afterEach(async () => {
  await Promise.all(loops.map((loop) => loop.stop(5_000)))
  loops = []
})
afterAll(async () => {
  for (const { app, shop } of nodes) {
    await app.close()
    await shop.close()
  }
  await simulator.close()
  await database.drop()
})

/** Delivers orders for one eSIM each to a new tenant. @returns the tenant and the orders */
async function delivered(orders: number): Promise<{ tenantId: string; orderIds: string[] }> {
  const { shop } = nodes[0]!
  const tenantId = await addTenant(shop.db)
  const orderIds = await payOrders(shop.db, tenantId, 'OPEN', { orders })
  const loop = fulfilmentLoop(shop)
  await waitUntil(async () => (await deliveredOf(tenantId)) === orders, 60_000)
  await loop.stop(5_000)
  return { tenantId, orderIds }
}

async function deliveredOf(tenantId: string): Promise<number> {
  const rows = await nodes[0]!.shop.db.query({
    text: `select from order_items where tenant_id = $1 and item_status = 'DELIVERED'`,
    values: [tenantId],
  })
  return rows.length
}

function send(node: number, key: string, { supplier = 'open', from = '198.51.100.1' } = {}): Promise<Response> {
  return fetch(`${nodes[node]!.url}/suppliers/${supplier}/events`, {
    method: 'POST',
    headers: { 'x-forwarded-for': from, 'x-forwarded-proto': 'https' },
    body: JSON.stringify({ notifyType: 'ESIM_STATUS', content: { transactionId: key } }),
  })
}

const asked = () => simulator.counters().requestsByOperation.query ?? 0

/** Waits for the end of the question about the tenant's only item; a later event has left another question. */
function settled(tenantId: string): Promise<boolean> {
  return waitUntil(async () => {
    const rows = await nodes[0]!.shop.db.query({
      text: `select from supplier_questions where tenant_id = $1
             and due_at between now() and asked_at + $2 * interval '1 second'`,
      values: [tenantId, ASK_EVERY_S],
    })
    return rows.length === 1
  })
}

describe('unsigned supplier events that may come from anywhere', () => {
  it('cause at most one question per eSIM in 30 s over all nodes, and one afterwards', async () => {
    const { tenantId, orderIds } = await delivered(1)
    const key = itemKeyOf(orderIds[0]!, 1)
    loops = nodes.map(({ shop }) => questionLoop(shop))
    const before = asked()
    for (let sent = 0; sent < 200; sent++) {
      const { status } = await send(sent % 2, key, { from: `198.51.100.${10 + (sent % 8)}` })
      expect(status).toBe(204)
    }
    await settled(tenantId)
    expect(asked() - before).toBe(1)
    await nodes[0]!.shop.db.query({
      text: `update supplier_questions set asked_at = asked_at - interval '30 seconds', due_at = now() where tenant_id = $1`,
      values: [tenantId],
    })
    await waitUntil(async () => asked() - before === 2)
    await waitUntil(async () => {
      const open = await nodes[0]!.shop.db.query({
        text: 'select from supplier_questions where tenant_id = $1 and due_at is not null',
        values: [tenantId],
      })
      return open.length === 0
    })
    expect(asked() - before).toBe(2)
  })

  it('do not delay another dealer’s order', async () => {
    const { tenantId, orderIds } = await delivered(40)
    const { db } = nodes[0]!.shop
    const items = orderIds.map((orderId) => ({ orderId, itemNo: 1 }))
    expect(await noteQuestions(db, 'open', items, false)).toBe(items.length)
    const before = asked()
    loops = nodes.map(({ shop }) => questionLoop(shop))
    await waitUntil(async () => asked() > before)
    const buyer = await addTenant(db)
    await payOrders(db, buyer, 'OPEN')
    loops.push(fulfilmentLoop(nodes[1]!.shop))
    await waitUntil(async () => (await deliveredOf(buyer)) === 1)
    const waiting = await db.query({
      text: 'select from supplier_questions where tenant_id = $1 and asked_at is null',
      values: [tenantId],
    })
    expect(waiting.length).toBeGreaterThan(items.length / 2)
  })

  it('about one dealer do not delay questions about another dealer’s eSIMs', async () => {
    const many = await delivered(10)
    const one = await delivered(1)
    const { db } = nodes[0]!.shop
    const itemsOf = (orderIds: string[]) => orderIds.map((orderId) => ({ orderId, itemNo: 1 }))
    await noteQuestions(db, 'open', itemsOf(many.orderIds), false)
    await noteQuestions(db, 'open', itemsOf(one.orderIds), false)
    loops = [questionLoop(nodes[0]!.shop)]
    await waitUntil(async () => {
      const rows = await db.query({
        text: 'select from supplier_questions where tenant_id = $1 and asked_at is not null',
        values: [one.tenantId],
      })
      return rows.length === 1
    })
    const askedOfMany = await db.query({
      text: 'select from supplier_questions where tenant_id = $1 and asked_at is not null',
      values: [many.tenantId],
    })
    expect(askedOfMany.length).toBeLessThanOrEqual(2)
  })

  it('leave a bounded number of questions per dealer', async () => {
    const { db } = nodes[0]!.shop
    const { tenantId, orderIds } = await delivered(1)
    await db.query({
      text: `insert into supplier_questions (tenant_id, order_id, item_no, supplier, reported_at, due_at)
             select $1, gen_random_uuid(), 1, 'elsewhere', now(), now() from generate_series(1, $2::bigint)`,
      values: [tenantId, WAITING_OF_TENANT_MAX],
    })
    expect(await noteQuestions(db, 'open', [{ orderId: orderIds[0]!, itemNo: 1 }], false)).toBe(0)
  })
})

describe('the event route', () => {
  const unknownKey = itemKeyOf('019a0000-0000-7000-8000-000000000000', 1)

  it('limits, per address, events that anybody can send', async () => {
    const statuses = new Set<number>()
    let retryAfter: string | null = null
    for (let sent = 0; sent < 4 * BURST && !statuses.has(429); sent++) {
      const answer = await send(0, unknownKey)
      statuses.add(answer.status)
      retryAfter = answer.headers.get('retry-after')
    }
    expect([...statuses]).toEqual([204, 429])
    expect(Number(retryAfter)).toBeGreaterThan(0)
    expect((await send(0, unknownKey, { from: '198.51.100.2' })).status).toBe(204)
  })

  it('limits events from other addresses, but not from the supplier’s own address', async () => {
    const supplier = 'listed'
    for (let sent = 0; sent < 2 * BURST; sent++) {
      expect((await send(1, unknownKey, { supplier, from: '203.0.113.9' })).status).toBe(204)
    }
    const statuses = new Set<number>()
    for (let sent = 0; sent < 4 * BURST && !statuses.has(429); sent++) {
      statuses.add((await send(1, unknownKey, { supplier, from: '198.51.100.3' })).status)
    }
    expect([...statuses]).toEqual([401, 429])
  })
})

describe('an account’s rate limit', () => {
  it('serves later purchases before a question, and leaves only a small share for questions', async () => {
    const db = createDb({ url: database.url, poolSize: 4, applicationName: 'test rate' })
    const rate = accountRate(db, 'rated', { perSecond: 2 })
    const order: string[] = []
    const purchase = async (name: string) => {
      expect(await rate.turn()).toBe(true)
      order.push(name)
    }
    await purchase('first')
    const second = purchase('second')
    const startedAt = performance.now()
    const question = asQuestion(() => purchase('question'))
    await waitUntil(async () => {
      const rows = await db.query({ text: `select from supplier_rates where supplier = 'rated:questions'` })
      return rows.length === 1
    })
    for (let round = 0; round < 3; round++) await db.query({ text: 'select 1' })
    await Promise.all([second, purchase('third')])
    expect(order.toSorted()).toEqual(['first', 'second', 'third'])
    expect((await question).isPostponed).toBe(false)
    await asQuestion(() => purchase('another question'))
    expect(performance.now() - startedAt).toBeGreaterThan(4_000) // an eighth of two per second
    await db.close()
  })

  it('postpones a question while purchases use the entire rate', async () => {
    const db = createDb({ url: database.url, poolSize: 4, applicationName: 'test rate' })
    const rate = accountRate(db, 'full', { perSecond: 1 })
    // Purchases have taken the next twenty seconds.
    await db.query({ text: `insert into supplier_rates values ('full', clock_timestamp() + interval '20 seconds')` })
    const { result, isPostponed } = await asQuestion(() => rate.turn(), 500)
    expect([result, isPostponed]).toEqual([false, true])
    await db.close()
  })
})
