import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Simulator } from '@dealer-esim/wholesaler-simulators'
import { airaloSupplier } from '@dealer-esim/wholesalers/airalo/airalo.ts'
import { esimGoSupplier } from '@dealer-esim/wholesalers/esim-go/esim-go.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWholesalerTestbed } from './wholesaler-testbed.ts'

/* Events in forms other than the usual one, exactly as sent by the simulators. An event never buys and is never proof. */

interface SentEvent {
  headers: IncomingHttpHeaders
  body: Buffer
}

const events: SentEvent[] = []
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  if (request.method === 'POST') events.push({ headers: request.headers, body: Buffer.concat(chunks) })
  response.end()
})
let eventsUrl: string

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  eventsUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
})
afterAll(() => receiver.close())
beforeEach(() => void events.splice(0))

/** Waits for an event from the simulator. */
async function nextEvent(): Promise<SentEvent> {
  await expect.poll(() => events.length).toBe(1)
  return events[0]!
}

/** Passes an event to the supplier, which must not send a request because of it. */
async function receiveSilently(supplier: Supplier, simulator: Simulator, event: SentEvent) {
  const before = simulator.counters()
  const received = await supplier.receive!(event)
  expect(simulator.counters()).toEqual(before)
  return received
}

describe('Airalo events that contain white space but are signed without it', async () => {
  const { base, buy, close, order, query, requestOf, simulator, supplier, takenOf } = await createWholesalerTestbed({
    kind: 'airalo',
    catalogueSize: 3,
    forms: ['spaced-events'],
    configOf: ({ url, credentials: { clientId = '', clientSecret = '' } }) => ({ url, clientId, clientSecret }),
    create: airaloSupplier,
  })
  beforeAll(() => simulator.setEventsUrl(eventsUrl))
  afterAll(close)
  const receive = (event: SentEvent) => receiveSilently(supplier, simulator, event)

  it('identify the order to query, and cause no second charge however often they arrive', async () => {
    const before = simulator.counters().balance
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1 })
    const request = requestOf()
    const outcome = await order(request)
    const { reference } = outcome as { reference: string }
    simulator.deliver(simulator.orders().find(({ key }) => key === request.key)!.reference)
    const event = await nextEvent()
    expect(event.body.toString()).toContain('\n  "')
    for (let times = 0; times < 2; times++) {
      expect(await receive(event)).toMatchObject({ kind: 'changed', keys: [request.key], reports: [] })
      expect(await query({ ...request, reference })).toMatchObject({ kind: 'delivered', reference })
    }
    expect([takenOf(request), before - simulator.counters().balance]).toEqual([1, Number(base.cost)])
  })

  it('carry the figures for an eSIM that is low on data', async () => {
    const { iccid } = await buy()
    await nextEvent()
    events.splice(0)
    simulator.changeEsim({ iccid, status: 'IN_USE', usedBytes: Number(base.volume) / 2 })
    expect(await receive(await nextEvent())).toMatchObject({
      keys: [],
      reports: [{ iccid, report: { remainingPercent: 50 } }],
    })
  })

  it('are refused if a member was changed, the signature is missing or the body ends early', async () => {
    const { key } = await buy()
    const { headers, body } = await nextEvent()
    const { 'airalo-signature': _, ...unsigned } = headers
    const forged: SentEvent[] = [
      { headers, body: Buffer.from(body.toString().replace(key, `${key}0`)) },
      { headers: unsigned, body },
      { headers, body: body.subarray(0, -1) },
    ]
    for (const event of forged) expect(await receive(event)).toMatchObject({ kind: 'refused' })
    expect(await receive({ headers, body })).toMatchObject({ kind: 'changed', keys: [key] })
  })
})

describe('unsigned eSIM Go events', async () => {
  const { base, buy, close, simulator, supplier } = await createWholesalerTestbed({
    kind: 'esim-go',
    catalogueSize: 3,
    forms: ['unsigned-events'],
    configOf: ({ url, credentials }) => ({ url, apiKey: credentials.apiKey!, perSecond: 1_000 }),
    create: esimGoSupplier,
  })
  beforeAll(() => simulator.setEventsUrl(eventsUrl))
  afterAll(close)

  it('are refused, and polling finds what they report', async () => {
    const before = simulator.counters().balance
    const esim = await buy()
    const usage = base.volume! / 2n
    simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', usedBytes: Number(usage) })
    await expect.poll(() => events.length).toBeGreaterThan(0)
    for (const event of events) {
      expect(event.headers).not.toHaveProperty('x-signature-sha256')
      expect(JSON.parse(event.body.toString())).toMatchObject({ iccid: esim.iccid })
      expect(await receiveSilently(supplier, simulator, event)).toEqual({
        kind: 'refused',
        message: expect.stringContaining('X-Signature-SHA256'),
      })
    }
    expect(await supplier.report!([esim])).toMatchObject([{ report: { esimStatus: 'IN_USE', usage } }])
    const { balance, takenByKey } = simulator.counters()
    expect([takenByKey, before - balance]).toEqual([{ [esim.reference!]: 1 }, Number(base.cost)])
  })
})
