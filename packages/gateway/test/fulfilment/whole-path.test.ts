import { operationNames } from '@dealer-esim/contract'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { verifyEvent } from '@dealer-esim/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { startWorker } from '#worker.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { statuses, waitUntil, walletOf } from '../harness/shop.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

// Properties of a whole gateway: API, worker and an event receiver.

const PRICE = 45_000n
let database: TestDatabase
let node: Node
let worker: Running | undefined
let receiver: Receiver
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  receiver = await startReceiver()
  const packages = ['SANDBOX_OK', 'SANDBOX_REFUSED'].map((productCode) =>
    packageInput({
      packageCode: productCode,
      status: 'ON_SALE',
      prices: [{ currencyCode: 'USD', price: Number(PRICE), retailPrice: null }],
      suppliers: [{ supplier: 'sandbox', productCode }],
    }),
  )
  await putPackages(node.deps, packages, OPERATOR)
})
afterAll(async () => {
  await worker?.stop(5_000)
  await node.stop()
  await receiver.close()
  await database.drop()
})

async function dealerWithReceiver(): Promise<Dealer> {
  const dealer = await addDealer(node.deps)
  const body = JSON.stringify({ callbackUrl: receiver.url })
  expect((await call(node, dealer, 'webhook/set', { body })).code).toBe('000000')
  return dealer
}

let orders = 0
async function buy(dealer: Dealer, packageCode: string): Promise<void> {
  const body = JSON.stringify({ transactionId: `T-${++orders}`, packageInfoList: [{ packageCode, count: 1 }] })
  expect((await call(node, dealer, 'esim/order', { body })).code).toBe('000000')
}

const eventsOf = ({ appKey }: Dealer) => receiver.events.filter((event) => event.headers['rt-accesscode'] === appKey)

test('a suspended dealer’s paid orders are still delivered or refunded, and their events are still sent', async () => {
  const dealer = await dealerWithReceiver()
  const { tenantId, appSecret } = dealer
  await buy(dealer, 'SANDBOX_OK')
  await buy(dealer, 'SANDBOX_REFUSED')
  await suspendTenant(node.deps, tenantId, OPERATOR)
  expect((await call(node, dealer, 'health')).code).toBe('101005')
  worker ??= await startWorker(node.deps) // no worker has run before
  await waitUntil(async () => {
    const now = await statuses(node.deps.db, tenantId)
    return now.DELIVERED === 1 && now.FAILED === 1
  })
  expect(await walletOf(node.deps.db, tenantId)).toMatchObject({ refunds: 1, refunded: PRICE })
  await expect.poll(() => eventsOf(dealer).length).toBe(4)
  const received = await Promise.all(
    eventsOf(dealer).map(async ({ headers, body }) => {
      const event = await verifyEvent({ appSecret, headers, body })
      return 'orderStatus' in event.content ? event.content.orderStatus : event.notifyType
    }),
  )
  expect(received.sort()).toEqual(['DELIVERED', 'FAILED', 'PAID', 'PAID'])
  expect((await call(node, dealer, 'health')).code).toBe('101005')
})

test('every operation refuses a captured event because of its RequestID, and because of its members', async () => {
  worker ??= await startWorker(node.deps)
  const dealer = await dealerWithReceiver()
  // An RT-RequestID is accepted only once, so each post needs a different event.
  for (const _ of operationNames) await buy(dealer, 'SANDBOX_OK')
  await expect.poll(() => eventsOf(dealer).length).toBe(2 * operationNames.length)
  const captured = eventsOf(dealer)
  const state = async () => {
    const [balance, setting] = [await call(node, dealer, 'account/balance'), await call(node, dealer, 'webhook/set')]
    return [balance.data, setting.data, await statuses(node.deps.db, dealer.tenantId)]
  }
  const before = await state()
  for (const notifyType of ['ORDER_PAID', 'DELIVERY_UPDATED']) {
    const events = captured.filter((event) => event.notifyType === notifyType)
    for (const [index, operation] of operationNames.entries()) {
      const { headers, body } = events[index]!
      const posted = await call(node, dealer, operation, {
        body,
        requestId: String(headers['rt-requestid']),
        timestamp: String(headers['rt-timestamp']),
        signature: String(headers['x-signature']),
      })
      expect([operation, posted.code]).toEqual([operation, '101006'])
      // The dealer has signed it itself, so only its members can cause a refusal.
      const signed = await call(node, dealer, operation, { body })
      expect([operation, signed.code]).toEqual([operation, expect.stringMatching(/^00010[58]$/)])
      const fields = signed.data.details.map((detail: { field: string }) => detail.field)
      const ownMembers = operation === 'webhook/test' ? ['notifyType'] : []
      const refused = ['notifyId', 'notifyType', 'content'].filter((field) => !ownMembers.includes(field))
      expect([operation, fields]).toEqual([operation, expect.arrayContaining(refused)])
    }
  }
  expect(await state()).toEqual(before)
})
