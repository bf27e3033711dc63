import { setMaxListeners } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Deps } from '#deps.ts'
import { createEndWatch, type EndWatch } from '#orders/end-watch.ts'
import { addDealer, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase } from '../harness/databases/database.ts'
import { payOrders, waitUntil } from '../harness/shop.ts'

const FOREVER_MS = 60_000

let database: Awaited<ReturnType<typeof createTestDatabase>>
let nodes: Node[]
let deps: Deps
let dealer: Dealer
const neverGone = new AbortController().signal
setMaxListeners(0, neverGone)

beforeAll(async () => {
  database = await createTestDatabase()
  nodes = [await startNode(database.url), await startNode(database.url)]
  deps = nodes[0]!.deps
  dealer = await addDealer(deps)
})
afterAll(async () => {
  for (const node of nodes) await node.stop()
  await database.drop()
})

async function awaited(count = 1) {
  const ids = await payOrders(deps.db, dealer.tenantId, 'JP_1_7', { orders: count })
  return ids.map((id) => ({ kind: 'ORDER' as const, tenantId: dealer.tenantId, id }))
}
const end = (ids: string[], status = 'DELIVERED') =>
  deps.db.query({ text: 'update orders set order_status = $2 where order_id = any ($1)', values: [ids, status] })

/** Counts a watch's readings. */
function countingWatch() {
  const counted = { readings: 0 }
  const query: Deps['db']['query'] = (statement) => {
    counted.readings++
    return deps.db.query(statement)
  }
  return { counted, watch: createEndWatch({ ...deps, db: { query } }) }
}
const settled = (promise: Promise<unknown>) => Promise.race([promise, Promise.resolve('waiting')])

test('an order that ends on another node ends the wait, but an earlier status does not', async () => {
  const watch: EndWatch = createEndWatch(deps)
  const [order] = await awaited()
  const waiting = watch.wait(order!, FOREVER_MS, neverGone)
  await end([order!.id], 'UNDER_REVIEW')
  nodes[1]!.deps.wake.wake('webhooks')
  await waitUntil(async () => (await settled(waiting)) === 'waiting')
  await end([order!.id])
  nodes[1]!.deps.wake.wake('webhooks')
  expect(await waiting).toBe('DELIVERED')
  expect(await watch.wait(order!, FOREVER_MS, neverGone)).toBe('DELIVERED')
  watch.stop()
})

test('many ending orders and many wakeups cause only a few queries', async () => {
  const { counted, watch } = countingWatch()
  const orders = await awaited(50)
  const waiting = Promise.all(orders.map((order) => watch.wait(order, FOREVER_MS, neverGone)))
  await waitUntil(async () => counted.readings > 0)
  await end(orders.map(({ id }) => id))
  for (let wakeups = 0; wakeups < 100; wakeups++) deps.wake.wake('webhooks')
  expect(new Set(await waiting)).toEqual(new Set(['DELIVERED']))
  expect(counted.readings).toBeLessThan(5)
  watch.stop()
})

test('the current status is returned at the time limit, even if the wakeup was lost', async () => {
  const watch = createEndWatch({ ...deps, wake: { on: () => () => {} } })
  const [open, ended] = await awaited(2)
  const both = Promise.all([open!, ended!].map((order) => watch.wait(order, 300, neverGone)))
  await waitUntil(async () => (await settled(both)) === 'waiting')
  await end([ended!.id], 'FAILED')
  expect((await both)[0]).toBe('PAID')
  expect(['FAILED', 'PAID']).toContain((await both)[1])
  expect(await watch.wait(ended!, 1, neverGone)).toBe('FAILED')
  watch.stop()
})

test('callers are released when they disconnect or the gateway stops', async () => {
  const watch = createEndWatch(deps)
  const [first, second] = await awaited(2)
  const gone = new AbortController()
  const [left, stopped] = [watch.wait(first!, FOREVER_MS, gone.signal), watch.wait(second!, FOREVER_MS, neverGone)]
  gone.abort()
  expect(await left).toBe(undefined)
  watch.stop()
  watch.stop()
  expect(await stopped).toBe(undefined)
  expect(await watch.wait(second!, FOREVER_MS, neverGone)).toBe(undefined)
})

test('one dealer can have at most a hundred waiting callers, which leaves room for others', async () => {
  const watch = createEndWatch(deps)
  const [order] = await awaited()
  const waiting = Array.from({ length: 100 }, () => watch.wait(order!, FOREVER_MS, neverGone))
  expect(await watch.wait(order!, FOREVER_MS, neverGone)).toBe(undefined)
  const other = { ...order!, tenantId: (await addDealer(deps)).tenantId }
  expect(await settled(watch.wait(other, FOREVER_MS, neverGone))).toBe('waiting')
  watch.stop()
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([undefined]))
})
