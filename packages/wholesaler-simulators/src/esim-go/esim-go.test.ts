import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createSimulator, type Simulator } from '#simulator.ts'

let simulator: Simulator
beforeEach(async () => {
  simulator = await createSimulator('esim-go', { catalogueSize: 60 })
})
afterEach(() => simulator.close())

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${simulator.url}${path}`, {
    method,
    headers: {
      'X-API-Key': simulator.credentials.apiKey!,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}

const item = async () => (await call('GET', '/catalogue?page=1&perPage=1')).body.bundles[0].name
const order = async (line = {}, rest = {}) => {
  const lines = [{ type: 'bundle', quantity: 1, item: await item(), ...line }]
  return call('POST', '/orders', { type: 'transaction', assign: true, order: lines, ...rest })
}

it('an order is debited and delivered in its answer', async () => {
  const { body } = await order()
  expect(body.order[0].esims).toMatchObject([
    { iccid: expect.stringMatching(/^89/), smdpAddress: 'smdp.esim-go.example' },
  ])
  expect(body.runningBalance).toBe((await call('GET', '/organisation')).body.organisations[0].balance)
  expect((await call('GET', `/orders/${body.orderReference}`)).body.order).toEqual(body.order)
  expect(simulator.counters().takenByKey).toEqual({ [body.orderReference]: 1 })
})

it('two equal orders are two purchases that differ only in their references, even if one answer is lost', async () => {
  const since = new Date(Date.now() - 1_000).toISOString()
  simulator.addFault({ kind: 'answer-lost', operation: 'order', times: 1 })
  await expect(order()).rejects.toThrow()
  await order()
  const { orders } = (await call('GET', `/orders?createdAt=gte:${since}&includeIccids`)).body
  expect(new Set(orders.map(({ orderReference }: { orderReference: string }) => orderReference)).size).toBe(2)
  expect(orders[0].order[0].item).toBe(orders[1].order[0].item)
  expect(orders.every((one: { order: { esims: unknown[] }[] }) => one.order[0]!.esims.length === 1)).toBe(true)
  expect((await call('GET', '/orders')).body.orders[0].order[0].esims).toBeUndefined()
})

it('a malformed request or one with a wrong key is refused', async () => {
  expect((await order({}, { assign: 'true' })).status).toBe(400)
  expect((await order({}, { note: 1 })).status).toBe(400)
  expect((await order({ quantity: undefined })).status).toBe(400)
  expect((await order({ quantity: '1' })).status).toBe(400)
  expect((await call('GET', '/organisation', undefined, { 'X-API-Key': 'other' })).status).toBe(403)
  expect((await call('GET', '/orders?createdAt=yesterday')).status).toBe(400)
  expect(simulator.counters().taken).toBe(0)
})

it('a request during an order is answered with 503 and Retry-After', async () => {
  simulator.addFault({ kind: 'delivered-later', operation: 'order', delayMs: 5_000 })
  const { orderReference } = (await order()).body
  const pending = await call('GET', `/orders/${orderReference}`)
  expect([pending.status, pending.headers.get('retry-after')]).toEqual([503, '1'])
  simulator.advanceClock(5_000)
  expect((await call('GET', `/orders/${orderReference}`)).status).toBe(200)
})

it('a bundle added to an eSIM can be removed and refunded until it has started', async () => {
  const { iccid } = (await order()).body.order[0].esims[0]
  const before = simulator.counters().balance
  expect((await order({ iccids: [iccid] })).status).toBe(200)
  expect(simulator.counters()).toMatchObject({ taken: 1, toppedUp: 1 })
  const revoke = async () =>
    call('DELETE', `/esims/${iccid}/bundles/${await item()}?type=transaction&refundToBalance=true`)
  expect((await revoke()).status).toBe(200)
  expect(simulator.counters().balance).toBe(before)
  simulator.changeEsim({ iccid, usedBytes: 1_000_000 })
  const { bundles } = (await call('GET', `/esims/${iccid}/bundles`)).body
  const states = bundles.map((bundle: { assignments: { bundleState: string }[] }) => bundle.assignments[0]!.bundleState)
  expect(states).toEqual(['active', 'revoked'])
  expect((await revoke()).status).toBe(400)
})

it('a refused request buys nothing', async () => {
  for (const [kind, status] of [
    ['no-balance', 400],
    ['out-of-stock', 400],
    ['rate-limited', 429],
    ['down', 503],
  ] as const) {
    simulator.addFault({ kind, operation: 'order', times: 1 })
    expect((await order()).status).toBe(status)
  }
  expect(simulator.counters().taken).toBe(0)
})

it('an event is signed with the API key', async () => {
  const received: boolean[] = []
  const receiver = createServer(async (request, response) => {
    let content = ''
    for await (const chunk of request) content += chunk
    const hmac = createHmac('sha256', simulator.credentials.apiKey!).update(content).digest()
    const given = request.headers['x-signature-sha256']
    received.push(given === hmac.toString('hex') || given === hmac.toString('base64'))
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  try {
    simulator.setEventsUrl(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`)
    const { iccid } = (await order()).body.order[0].esims[0]
    simulator.changeEsim({ iccid, profile: 'ENABLED', usedBytes: 1_000 })
    await vi.waitFor(() => expect(received).toEqual([true, true]), 20_000)
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
})
