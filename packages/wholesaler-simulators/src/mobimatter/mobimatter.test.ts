import { createVerify } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createSimulator, type FaultKind, type Simulator } from '#simulator.ts'

let simulator: Simulator
beforeEach(async () => {
  simulator = await createSimulator('mobimatter')
})
afterEach(() => simulator.close())

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const { apiKey = '', merchantId = '' } = simulator.credentials
  const response = await fetch(`${simulator.url}/api/v2${path}`, {
    method,
    headers: {
      'api-key': apiKey,
      merchantId,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  return { status: response.status, body: (await response.json()) as any }
}

const productId = 'e0000000-0000-4000-8000-000000000000'
const create = (extra = {}) => call('POST', '/order', { productId, productCategory: 'esim_realtime', ...extra })
const complete = (orderId: string) => call('PUT', '/order/complete', { orderId })
const stateOf = async (orderId: string) => (await call('GET', `/order/${orderId}`)).body.result.orderState

it('creating an order holds the money, and completing it delivers the eSIM', async () => {
  const { orderId } = (await create()).body.result
  expect(simulator.counters()).toMatchObject({ taken: 0, held: 1 })
  const { result } = (await complete(orderId)).body
  expect(result.orderState).toBe('Completed')
  expect(result.orderLineItem.lineItemDetails.map(({ name }: { name: string }) => name)).toContain('ICCID')
  expect((await complete(orderId)).status).toBe(400)
  expect(simulator.counters()).toMatchObject({ taken: 1, takenByKey: { [orderId]: 1 } })
})

it('a hold lapses unless it is completed, and a cancelled hold cannot be completed', async () => {
  const { orderId } = (await create()).body.result
  const other = (await create()).body.result.orderId
  expect((await call('PUT', '/order/cancel', { orderId: other, reason: 'x' })).body.result.orderState).toBe('Cancelled')
  simulator.advanceClock(15 * 60_000)
  expect([await stateOf(orderId), await stateOf(other)]).toEqual(['Expired', 'Cancelled'])
  expect((await complete(orderId)).status).toBe(400)
  expect(simulator.counters()).toMatchObject({ taken: 0, held: 2, released: 1, balance: 100_000_000 })
})

it.each([
  ['order', 'request-lost', 0],
  ['order', 'answer-lost', 1],
  ['complete', 'request-lost', 0],
  ['complete', 'answer-lost', 1],
  ['complete', 'server-error-before', 0],
  ['complete', 'server-error-after', 1],
] as [string, FaultKind, number][])('each step can fail separately: %s with %s', async (operation, kind, done) => {
  simulator.addFault({ kind, operation })
  const created = await create().catch(() => undefined)
  if (operation === 'order') {
    expect(created).toBeUndefined()
    expect(simulator.counters().held).toBe(done)
    return
  }
  const { orderId } = created!.body.result
  const completed = await complete(orderId).catch(() => undefined)
  expect(completed?.status).toBeUndefined()
  expect(simulator.counters().taken).toBe(done)
  expect(await stateOf(orderId)).toBe(done ? 'Completed' : 'Created')
})

it('a malformed request or one without authentication is refused', async () => {
  expect((await create({ quantity: 1 })).status).toBe(400)
  expect((await create({ productCategory: 'esim' })).status).toBe(400)
  expect((await create({ productId: undefined })).status).toBe(400)
  expect((await create({ label: 7 })).status).toBe(400)
  expect((await call('GET', '/products', undefined, { 'api-key': 'other' })).status).toBe(401)
  expect((await call('GET', '/products', undefined, { merchantId: 'other' })).status).toBe(401)
  expect(simulator.counters().held).toBe(0)
})

it('refusals carry the statuses that the interface defines, and hold no money', async () => {
  for (const [kind, status] of [
    ['out-of-stock', 429],
    ['no-balance', 402],
    ['down', 455],
  ] as const) {
    simulator.addFault({ kind, operation: 'order', times: 1 })
    expect((await create()).status).toBe(status)
  }
  expect(simulator.counters()).toMatchObject({ held: 0, balance: 100_000_000 })
})

it('an order that is completed later stays Processing until its completion', async () => {
  simulator.addFault({ kind: 'delivered-later', operation: 'complete', delayMs: 1_000 })
  const { orderId } = (await create()).body.result
  expect((await complete(orderId)).body.result.orderState).toBe('Processing')
  simulator.advanceClock(1_000)
  expect(await stateOf(orderId)).toBe('Completed')
})

it('an add-on needs the eSIM’s first order and a product from the same family', async () => {
  const { orderId } = (await create()).body.result
  await complete(orderId)
  const addOn = { productId: productId.replace('e', 'a'), productCategory: 'esim_addon' }
  expect((await create(addOn)).status).toBe(400)
  const added = (await create({ ...addOn, addOnOrderIdentifier: orderId })).body.result.orderId
  expect((await complete(added)).body.result.orderState).toBe('Completed')
  expect(simulator.counters()).toMatchObject({ taken: 1, toppedUp: 1 })
  const foreign = 'a0000000-0000-4000-8000-000000000001'
  expect((await create({ ...addOn, productId: foreign, addOnOrderIdentifier: orderId })).status).toBe(400)
})

it('an event about a completed order is signed with RSA', async () => {
  const received: { isSigned: boolean; body: unknown }[] = []
  const receiver = createServer(async (request, response) => {
    let content = ''
    for await (const chunk of request) content += chunk
    const body = JSON.parse(content)
    const { orderId, merchantId, orderLineItem } = body.eventData
    const verifier = createVerify('sha256').update(`${orderId}.${merchantId}.${orderLineItem.providerName}`)
    const isSigned = verifier.verify(simulator.credentials.webhookPublicKey!, body.signature, 'base64')
    received.push({ isSigned, body })
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  try {
    simulator.setEventsUrl(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`)
    const { orderId } = (await create()).body.result
    await complete(orderId)
    await vi.waitFor(() => expect(received).toHaveLength(1), 20_000)
    expect(received).toMatchObject([
      { isSigned: true, body: { eventType: 'order.esim_realtime.completed', eventData: { orderId } } },
    ])
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
})

it('a replaced line has a different ICCID only in its top-up orders, not in its first order', async () => {
  await simulator.close()
  simulator = await createSimulator('mobimatter', { forms: ['replaced-lines'] })
  const detailsOf = async (orderId: string) => {
    const { lineItemDetails } = (await complete(orderId)).body.result.orderLineItem
    return new Map(lineItemDetails.map(({ name, value }: { name: string; value: string }) => [name, value]))
  }
  const { orderId } = (await create()).body.result
  const first = await detailsOf(orderId)
  expect(first.get('ICCID')).toBe(simulator.orders()[0]!.iccids[0])
  const addOn = { productId: productId.replace('e', 'a'), productCategory: 'esim_addon', addOnOrderIdentifier: orderId }
  const topUp = await detailsOf((await create(addOn)).body.result.orderId)
  expect(topUp.get('PARENT_ORDER')).toBe(orderId)
  expect(topUp.get('ICCID')).not.toBe(first.get('ICCID'))
})
