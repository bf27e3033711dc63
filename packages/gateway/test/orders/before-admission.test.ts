import { randomUUID } from 'node:crypto'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

/*
 * A single order's wallet is locked while its request is being admitted, to be read or, if it is cached, to be written.
 * Nothing is committed before the admission, and a refused admission precedes other refusals.
 */

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

const body = () =>
  JSON.stringify({ transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })

function undecided() {
  let resolve!: () => void
  let reject!: (error: Error) => void
  const promise = new Promise<void>((...deciders) => ([resolve, reject] = deciders))
  return { promise, resolve, reject }
}

function placeWhenAdmitted({ tenantId }: Dealer, admission: Promise<unknown>) {
  const { orderPlacer, ids } = node.deps
  const request = JSON.parse(body())
  return orderPlacer.placeWhenAdmitted(
    { tenant: { tenantId, currencyCode: 'USD' }, orderId: ids.uuid(), request },
    admission,
  )
}

async function ordersOf({ tenantId }: Dealer): Promise<number> {
  const [row] = await node.deps.db.query<{ count: number }>({
    text: 'select count(*)::int as count from orders where tenant_id = $1',
    values: [tenantId],
  })
  return row!.count
}

/** Resolves when the wallet is locked, or when it is not. */
async function untilWallet({ tenantId }: Dealer, state: 'locked' | 'free'): Promise<void> {
  const look = { text: 'select from wallets where tenant_id = $1 for update skip locked', values: [tenantId] }
  const most = state === 'locked' ? 0 : 1
  while ((await node.deps.db.query(look)).length !== most);
}

async function openDealer(orders: number): Promise<Dealer> {
  const dealer = await addDealer(node.deps)
  for (let placed = 0; placed < orders; placed++) await placeWhenAdmitted(dealer, Promise.resolve())
  return dealer
}

describe.each([
  { wallet: 'that is not cached', orders: 0 },
  { wallet: 'that is cached', orders: 2 },
])('an order on a wallet $wallet', ({ orders }) => {
  it('locks its wallet while its request is being admitted, and is placed afterwards', async () => {
    const dealer = await openDealer(orders)
    const admission = undecided()
    const verdict = placeWhenAdmitted(dealer, admission.promise)
    await untilWallet(dealer, 'locked')
    expect(await ordersOf(dealer)).toBe(orders)
    admission.resolve()
    expect(await verdict).toMatchObject({ kind: 'placed' })
    expect(await ordersOf(dealer)).toBe(orders + 1)
  })

  it('leaves no trace when its request is refused', async () => {
    const dealer = await openDealer(orders)
    const admission = undecided()
    const verdict = placeWhenAdmitted(dealer, admission.promise)
    await untilWallet(dealer, 'locked')
    admission.reject(new ApiError('101006'))
    await expect(verdict).rejects.toMatchObject({ code: '101006' })
    await untilWallet(dealer, 'free')
    expect(await ordersOf(dealer)).toBe(orders)
  })

  it('does not keep its wallet locked for a slow admission, and is placed once, after it', async () => {
    const dealer = await openDealer(orders)
    const admission = undecided()
    const verdict = placeWhenAdmitted(dealer, admission.promise)
    await untilWallet(dealer, 'locked')
    await untilWallet(dealer, 'free')
    expect(await ordersOf(dealer)).toBe(orders)
    admission.resolve()
    expect(await verdict).toMatchObject({ kind: 'placed' })
    expect(await ordersOf(dealer)).toBe(orders + 1)
  })

  it('is placed after an order whose request was refused', async () => {
    const dealer = await openDealer(orders)
    await expect(placeWhenAdmitted(dealer, Promise.reject(new ApiError('101007')))).rejects.toMatchObject({
      code: '101007',
    })
    expect(await placeWhenAdmitted(dealer, Promise.resolve())).toMatchObject({ kind: 'placed' })
    expect(await ordersOf(dealer)).toBe(orders + 1)
  })
})

it('an order over HTTP is refused by its admission before its parameters', async () => {
  const dealer = await addDealer(node.deps)
  const requestId = randomUUID()
  expect(await call(node, dealer, 'esim/order', { body: body(), requestId })).toMatchObject({ code: '000000' })
  expect(await call(node, dealer, 'esim/order', { body: body(), requestId })).toMatchObject({ code: '101006' })
  expect(await call(node, dealer, 'esim/order', { body: '{}', requestId })).toMatchObject({ code: '101006' })
  expect(await call(node, dealer, 'esim/order', { body: '{}' })).toMatchObject({ code: '000105' })
  expect(await ordersOf(dealer)).toBe(1)
})
