import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createSimulator, type Simulator } from '#simulator.ts'

let simulator: Simulator
let token: string
beforeEach(async () => {
  simulator = await createSimulator('airalo', { catalogueSize: 60 })
  token = (await login()).body.data.access_token
})
afterEach(() => simulator.close())

function login(changes: Record<string, string> = {}) {
  const { clientId = '', clientSecret = '' } = simulator.credentials
  const form = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials', ...changes }
  return answered(fetch(`${simulator.url}/token`, { method: 'POST', body: new URLSearchParams(form) }))
}

async function answered(pending: Promise<Response>) {
  const response = await pending
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  return { status: response.status, body: (await response.json()) as any }
}

const get = (path: string) =>
  answered(fetch(`${simulator.url}${path}`, { headers: { Authorization: `Bearer ${token}` } }))
function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const all = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers }
  return answered(fetch(`${simulator.url}${path}`, { method: 'POST', headers: all, body: JSON.stringify(body) }))
}

const firstPackage = async () => (await get('/packages?limit=1&page=1')).body.data[0].operators[0].packages[0]
const order = async (description: string) =>
  post('/orders', { quantity: 1, package_id: (await firstPackage()).id, type: 'sim', description })

it('an order is debited at the net price and delivered in its answer', async () => {
  const { net_price } = await firstPackage()
  const { status, body } = await order('K-1')
  expect(status).toBe(200)
  expect(body.data.sims).toMatchObject([
    { iccid: expect.stringMatching(/^89/), qrcode: expect.stringMatching(/^LPA:1\$/) },
  ])
  expect(simulator.counters()).toMatchObject({ takenByKey: { 'K-1': 1 }, debited: Math.round(net_price * 10_000) })
  const usage = await get(`/sims/${body.data.sims[0].iccid}/usage`)
  expect(usage.body.data).toMatchObject({ status: 'NOT_ACTIVE', is_unlimited: false })
})

it('at most three tokens are issued in a minute', async () => {
  expect((await login({ client_secret: 'other' })).status).toBe(401)
  expect([(await login()).status, (await login()).status, (await login()).status]).toEqual([200, 200, 429])
  simulator.advanceClock(60_000)
  expect((await login()).status).toBe(200)
  token = 'other'
  expect((await get('/balance')).status).toBe(401)
})

it('the filter matches parts of a description, and finds an order only after the delay', async () => {
  simulator.addFault({ kind: 'found-later', operation: 'order', containing: 'K-11', delayMs: 60_000 })
  for (const key of ['K-1', 'K-11']) await order(key)
  const find = async (key: string) => {
    const { body } = await get(`/orders?filter[description]=${key}&include=sims`)
    return body.data.map(({ description }: { description: string }) => description)
  }
  expect([await find('K-1'), await find('K-11')]).toEqual([['K-1'], []])
  simulator.advanceClock(60_000)
  expect([await find('K-1'), await find('K-11')]).toEqual([['K-11', 'K-1'], ['K-11']])
})

it('an order whose answer was lost is a purchase, and repeating it buys again', async () => {
  simulator.addFault({ kind: 'answer-lost', operation: 'order', times: 1 })
  await expect(order('K-1')).rejects.toThrow()
  expect((await get('/orders?filter[description]=K-1&include=sims')).body.data[0].sims).toHaveLength(1)
  await order('K-1')
  expect(simulator.counters().takenByKey).toEqual({ 'K-1': 2 })
})

it('a malformed request is refused, and the refusal names the field', async () => {
  const { id } = await firstPackage()
  const good = { quantity: 1, package_id: id, type: 'sim', description: 'K-1' }
  for (const [body, field] of [
    [{ ...good, quantity: undefined }, 'quantity'],
    [{ ...good, quantity: true }, 'quantity'],
    [{ ...good, note: 'x' }, 'note'],
    [{ ...good, type: 'topup' }, 'type'],
  ] as const) {
    const answer = await post('/orders', body)
    expect([answer.status, Object.keys(answer.body.data)]).toEqual([422, [field]])
  }
  expect((await post('/orders', good, { 'Content-Type': 'text/plain' })).status).toBe(415)
  expect(simulator.counters().taken).toBe(0)
})

it('refusals carry the error codes that the interface defines', async () => {
  const codes = { 'no-balance': 11, down: 13, 'out-of-stock': 33, 'unknown-package': 34 } as const
  for (const [kind, code] of Object.entries(codes)) {
    simulator.addFault({ kind: kind as keyof typeof codes, operation: 'order', times: 1 })
    expect(await order('K-1')).toMatchObject({ status: 422, body: { code } })
  }
  simulator.addFault({ kind: 'refused', code: '73', operation: 'order', times: 1 })
  expect((await order('K-1')).body.code).toBe(73)
  simulator.addFault({ kind: 'rate-limited', operation: 'order', times: 1 })
  expect((await order('K-1')).status).toBe(429)
  expect(simulator.counters().taken).toBe(0)
})

it('a top-up is added to the eSIM that it identifies', async () => {
  const { iccid } = (await order('K-1')).body.data.sims[0]
  const { packages } = (await get('/packages?limit=1&include=topup')).body.data[0].operators[0]
  const { id } = packages.find(({ type }: { type: string }) => type === 'topup')
  const before = (await get(`/sims/${iccid}/usage`)).body.data.total
  expect((await post('/orders/topups', { package_id: id, iccid, description: 'U-1' })).status).toBe(200)
  expect((await get(`/sims/${iccid}/usage`)).body.data.total).toBeGreaterThan(before)
  expect(simulator.counters()).toMatchObject({ taken: 1, toppedUpByKey: { 'U-1': 1 } })
})

it('an event is signed, and is sent only to a URL that answers HEAD', async () => {
  const received: { method: string; isSigned: boolean }[] = []
  let headStatus = 404
  const receiver = createServer(async (request, response) => {
    let content = ''
    for await (const chunk of request) content += chunk
    const signature = createHmac('sha512', simulator.credentials.clientSecret!).update(content).digest('hex')
    received.push({ method: request.method!, isSigned: request.headers['airalo-signature'] === signature })
    response.writeHead(request.method === 'HEAD' ? headStatus : 200).end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  try {
    simulator.setEventsUrl(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`)
    await order('K-1')
    await vi.waitFor(() => expect(received.map(({ method }) => method)).toEqual(['HEAD']), 20_000)
    headStatus = 200
    await order('K-2')
    await vi.waitFor(
      () => expect(received.slice(1)).toMatchObject([{ method: 'HEAD' }, { method: 'POST', isSigned: true }]),
      20_000,
    )
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
})
