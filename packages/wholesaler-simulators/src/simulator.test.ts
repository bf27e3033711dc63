import { afterEach, expect, it } from 'vitest'
import { connectControls, createSimulator, type Fault, type Simulator, type SimulatorOptions } from './simulator.ts'

/* What all simulators share: faults, controls, counters. Zendit represents them all. */

let simulator: Simulator
afterEach(() => simulator.close())

async function start(options?: SimulatorOptions) {
  simulator = await createSimulator('zendit', options)
}

function get(path: string, timeoutMs = 5_000) {
  const headers = { Authorization: `Bearer ${simulator.credentials.apiKey}` }
  return fetch(`${simulator.url}${path}`, { headers, signal: AbortSignal.timeout(timeoutMs) })
}

function buy(transactionId: string, signal?: AbortSignal) {
  const { apiKey } = simulator.credentials
  return fetch(`${simulator.url}/esim/purchases`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ transactionId, offerId }),
    signal: signal ?? null,
  })
}
const offerId = 'ESIM-US-7D-1GB-0'
const offers = async () => (await (await get('/esim/offers?_limit=1024&_offset=0')).json()) as Offers
interface Offers {
  total: number
  list: { offerId: string; cost: { fixed: number; currency: string } }[]
}

it.each([
  ['request-lost', 0],
  ['answer-lost', 1],
  ['answer-cut', 1],
  ['answer-garbled', 1],
] as const)('a purchase with %s gets no readable answer, and buys %i', async (kind, taken) => {
  await start()
  simulator.addFault({ kind, operation: 'order' })
  await expect(buy('T-1').then((response) => response.json())).rejects.toThrow()
  expect(simulator.counters().taken).toBe(taken)
})

it.each([
  ['server-error-before', 0],
  ['server-error-after', 1],
] as const)('a purchase with %s is answered with 500, and buys %i', async (kind, taken) => {
  await start()
  simulator.addFault({ kind, operation: 'order' })
  expect((await buy('T-1')).status).toBe(500)
  expect(simulator.counters().taken).toBe(taken)
})

/** Buys, and disconnects once the simulator has the request. */
async function buyAndLeave(transactionId: string): Promise<void> {
  const before = simulator.requests().length
  const leaving = new AbortController()
  const left = expect(buy(transactionId, leaving.signal)).rejects.toThrow()
  await expect.poll(() => simulator.requests().length, POLL).toBe(before + 1)
  leaving.abort()
  await left
}
const POLL = { timeout: 25_000 }

it('a request that hangs buys nothing, but a request whose answer is never sent does', async () => {
  await start()
  simulator.addFault({ kind: 'hang', operation: 'order', containing: 'T-1' })
  simulator.addFault({ kind: 'slow-answer', operation: 'order', containing: 'T-2' })
  await buyAndLeave('T-1')
  await buyAndLeave('T-2')
  await expect.poll(() => simulator.counters().takenByKey, POLL).toEqual({ 'T-2': 1 })
})

it('a slow request is carried out even after its client has disconnected', async () => {
  await start()
  simulator.addFault({ kind: 'slow-request', operation: 'order', delayMs: 150 })
  await buyAndLeave('T-1')
  await expect.poll(() => simulator.counters().taken, POLL).toBe(1)
})

it('a fault applies to every nth request after the skipped ones, up to its maximum count', async () => {
  await start()
  simulator.addFault({ kind: 'down', operation: 'order', skip: 1, every: 2, times: 2 })
  const statuses: number[] = []
  for (let index = 0; index < 8; index += 1) statuses.push((await buy(`T-${index}`)).status)
  expect(statuses).toEqual([200, 200, 503, 200, 503, 200, 200, 200])
  expect(() => simulator.addFault({ kind: 'other' } as unknown as Fault)).toThrow('There is no fault other')
  expect(() => simulator.addFault({ kind: 'down', often: 1 } as Fault)).toThrow('no member often')
})

it('an order can stay pending until the test delivers it', async () => {
  await start()
  simulator.addFault({ kind: 'delivered-later', operation: 'order' })
  await buy('T-1')
  simulator.advanceClock(1_000_000)
  expect(simulator.orders()).toMatchObject([{ key: 'T-1', state: 'pending', iccids: [] }])
  simulator.deliver(simulator.orders()[0]!.reference)
  expect(simulator.orders()).toMatchObject([{ state: 'delivered', iccids: [expect.any(String)] }])
})

it('the catalogue is the same at every start, has the requested size, and can be broken', async () => {
  await start({ catalogueSize: 400 })
  const whole = await offers()
  expect([whole.total, new Set(whole.list.map((offer) => offer.offerId)).size]).toEqual([400, 400])
  const broken = async (kind: Fault['kind']) => {
    simulator.addFault({ kind, operation: 'catalogue', times: 1 })
    return offers()
  }
  expect((await broken('catalogue-empty')).list).toEqual([])
  expect((await broken('catalogue-short')).list).toEqual(whole.list.slice(0, 40))
  const [first] = whole.list
  expect((await broken('catalogue-prices-x100')).list[0]!.cost.fixed).toBe(first!.cost.fixed * 100)
  expect((await broken('catalogue-other-currency')).list[0]!.cost.currency).toBe('JPY')
  expect(await offers()).toEqual(whole)
  await simulator.close()
  await start({ catalogueSize: 400 })
  expect(await offers()).toEqual(whole)
})

it('the requests in the busiest second are counted, and requests above a set limit are refused', async () => {
  await start({ perSecond: 8 })
  const responses = await Promise.all(Array.from({ length: 12 }, () => get('/balance')))
  const refused = responses.filter(({ status }) => status === 429).length
  const { requestsInBusiestSecond, requests } = simulator.counters()
  expect([requests, requestsInBusiestSecond, refused]).toEqual([12, 12, 4])
})

it('another process controls a simulator over HTTP, and its control calls are not counted', async () => {
  await start()
  const controls = connectControls(simulator.controlUrl)
  await controls.addFault({ kind: 'no-balance', operation: 'order', times: 1 })
  expect((await buy('T-1')).status).toBe(400)
  await buy('T-1')
  expect(await controls.counters()).toEqual(simulator.counters())
  expect((await controls.counters()).requests).toBe(2)
  await expect(controls.deliver('none')).rejects.toThrow('There is no order none.')
  await controls.resetRecords()
  expect(await controls.counters()).toMatchObject({ taken: 0, requests: 0 })
  const foreign = await fetch(simulator.controlUrl, { method: 'POST', body: '{"call":"resetRecords"}' })
  expect(foreign.status).toBe(400)
})

it('a closed simulator does not answer, and can be closed again', async () => {
  await start()
  await simulator.close()
  await simulator.close()
  await expect(get('/balance')).rejects.toThrow()
})
