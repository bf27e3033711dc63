import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createSimulator, type Simulator } from '#simulator.ts'

let simulator: Simulator
beforeEach(async () => {
  simulator = await createSimulator('zendit')
})
afterEach(() => simulator.close())

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${simulator.url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${simulator.credentials.apiKey}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  return { status: response.status, body: (await response.json()) as any }
}

async function firstOffer() {
  return (await call('GET', '/esim/offers?_limit=1&_offset=0')).body.list[0]
}

it('a purchase is accepted, found by its key, and debited at the offer’s cost', async () => {
  const { offerId, cost } = await firstOffer()
  const accepted = await call('POST', '/esim/purchases', { transactionId: 'T-1', offerId })
  expect(accepted).toEqual({ status: 200, body: { transactionId: 'T-1', status: 'ACCEPTED' } })
  const { body } = await call('GET', '/esim/purchases/T-1')
  expect(body).toMatchObject({ status: 'DONE', offerId, cost: cost.fixed, costCurrencyDivisor: 100 })
  expect(body.confirmation).toMatchObject({ iccid: expect.stringMatching(/^89\d{17}$/) })
  expect(simulator.counters()).toMatchObject({ taken: 1, debited: cost.fixed * 100 })
  expect((await call('GET', '/esim/purchases?_limit=10&_offset=0&status=DONE')).body.total).toBe(1)
})

it('a repeated key is refused, and an unknown purchase is not found', async () => {
  const { offerId } = await firstOffer()
  await call('POST', '/esim/purchases', { transactionId: 'T-1', offerId })
  expect((await call('POST', '/esim/purchases', { transactionId: 'T-1', offerId })).status).toBe(409)
  expect((await call('GET', '/esim/purchases/T-2')).status).toBe(404)
  expect(simulator.counters().takenByKey).toEqual({ 'T-1': 1 })
})

it('a malformed request or one without the key is refused', async () => {
  const { offerId } = await firstOffer()
  const statusOf = async (body: unknown, headers = {}) => (await call('POST', '/esim/purchases', body, headers)).status
  expect(await statusOf({ offerId })).toBe(400)
  expect(await statusOf({ offerId, transactionId: 1 })).toBe(400)
  expect(await statusOf({ offerId, transactionId: 'T', extra: true })).toBe(400)
  expect(await statusOf({ offerId, transactionId: 'T' }, { Authorization: 'Bearer other' })).toBe(401)
  expect(await statusOf({ offerId, transactionId: 'T' }, { 'Content-Type': 'text/plain' })).toBe(415)
  expect((await call('GET', '/esim/offers?_limit=1')).status).toBe(400)
  expect((await call('GET', '/esim/other')).status).toBe(404)
  expect(simulator.counters().taken).toBe(0)
})

it('a purchase that fails after acceptance is FAILED, and its money is returned', async () => {
  const { offerId } = await firstOffer()
  simulator.addFault({ kind: 'delivery-fails', operation: 'order', delayMs: 5_000 })
  await call('POST', '/esim/purchases', { transactionId: 'T-1', offerId })
  expect((await call('GET', '/esim/purchases/T-1')).body.status).toBe('PENDING')
  simulator.advanceClock(5_000)
  expect((await call('GET', '/esim/purchases/T-1')).body).toMatchObject({
    status: 'FAILED',
    error: { code: expect.any(String) },
  })
  expect(simulator.counters().balance).toBe(100_000_000)
})

it('a top-up adds a plan, and a refund returns the money', async () => {
  const { offerId } = await firstOffer()
  await call('POST', '/esim/purchases', { transactionId: 'T-1', offerId })
  const { iccid } = (await call('GET', '/esim/purchases/T-1')).body.confirmation
  await call('POST', '/esim/purchases', { transactionId: 'U-1', offerId, iccid })
  expect((await call('GET', `/esim/${iccid}/plans`)).body.list).toHaveLength(2)
  expect(simulator.counters()).toMatchObject({ taken: 1, toppedUpByKey: { 'U-1': 1 } })
  expect((await call('POST', '/esim/purchases/T-1/refund')).status).toBe(200)
  expect((await call('GET', '/esim/purchases/T-1/refund')).body.status).toBe('DONE')
  expect((await call('POST', '/esim/purchases/T-1/refund')).status).toBe(409)
})

it('an event contains the purchase body, and can be lost or sent twice', async () => {
  const received: unknown[] = []
  const receiver = createServer(async (request, response) => {
    let content = ''
    for await (const chunk of request) content += chunk
    received.push(JSON.parse(content))
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  try {
    simulator.setEventsUrl(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`)
    simulator.addFault({ kind: 'event-lost', operation: 'event', containing: 'T-1' })
    simulator.addFault({ kind: 'event-twice', operation: 'event', containing: 'T-2' })
    const { offerId } = await firstOffer()
    for (const transactionId of ['T-1', 'T-2']) await call('POST', '/esim/purchases', { transactionId, offerId })
    await vi.waitFor(() => expect(received).toHaveLength(2), 20_000)
    const purchase = (await call('GET', '/esim/purchases/T-2')).body
    expect(received).toEqual([purchase, purchase])
    expect(simulator.events().map(({ sent }) => sent)).toEqual([0, 2])
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
})
