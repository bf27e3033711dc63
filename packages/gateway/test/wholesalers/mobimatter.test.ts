import { createServer } from 'node:http'
import type { FaultKind } from '@dealer-esim/wholesaler-simulators'
import type { MobimatterConfig } from '@dealer-esim/wholesalers/mobimatter/client.ts'
import { mobimatterSupplier } from '@dealer-esim/wholesalers/mobimatter/mobimatter.ts'
import type { Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createWholesalerTestbed } from './wholesaler-testbed.ts'

const TIMEOUT_MS = 400
const testbed = await createWholesalerTestbed<MobimatterConfig>({
  kind: 'mobimatter',
  catalogueSize: 5,
  configOf({ url, credentials: { apiKey = '', merchantId = '', webhookPublicKey = '' } }) {
    return { url, apiKey, merchantId, webhookPublicKey, timeoutMs: TIMEOUT_MS }
  },
  create: mobimatterSupplier,
})
const { buy, create, order, products, query, requestOf, simulator, supplier, takenOf, topUpOf, untilDecided } = testbed
afterAll(() => testbed.close())
beforeEach(() => simulator.clearFaults())

/** The ways to lose a step. A slow request takes effect after our time-out. */
const LOSSES = [
  undefined,
  'request-lost',
  'server-error-before',
  'slow-request',
  'answer-lost',
  'server-error-after',
  'answer-cut',
  'answer-garbled',
  'slow-answer',
] as const satisfies (FaultKind | undefined)[]
/**
 * The second step is not sent without an answer to the first one, so an order that is tried only once can lose only one of
 * them.
 */
const ONE_LOSS = [
  ...LOSSES.map((loss) => [loss, undefined] as const),
  ...LOSSES.map((loss) => [undefined, loss] as const),
]
const MATRIX = LOSSES.flatMap((created) => LOSSES.map((completed) => [created, completed] as const))

function lose(operation: string, kind: FaultKind | undefined): void {
  if (kind !== undefined) simulator.addFault({ kind, operation, times: 1, delayMs: 2 * TIMEOUT_MS })
}

/** Waits until everything sent late has taken effect. */
async function untilLateRequestsEnd(): Promise<void> {
  await expect
    .poll(() => simulator.requests().every(({ faults, status }) => !faults.includes('slow-request') || status))
    .toBe(true)
}

describe('the two steps of a purchase', () => {
  it.each(MATRIX)('buy one eSIM if the first has the fault %s and the second %s', async (created, completed) => {
    lose('order', created)
    lose('complete', completed)
    const request = requestOf()
    expect(await untilDecided(request)).toMatchObject({ kind: 'delivered' })
    await untilLateRequestsEnd()
    expect(takenOf(request)).toBe(1)
    expect(await query(request)).toMatchObject({ kind: 'delivered' })
  })

  it.each(ONE_LOSS)(
    'buy nothing more after a check if the first has the fault %s and the second %s',
    async (created, completed) => {
      lose('order', created)
      lose('complete', completed)
      const request = requestOf()
      const outcome = await order(request)
      const checked = await query(request, 'CHECK')
      expect(checked.kind).toBe(takenOf(request) === 1 ? 'delivered' : 'retry')
      if (outcome.kind === 'delivered') expect(checked.kind).toBe('delivered')
      const before = takenOf(request)
      await untilLateRequestsEnd()
      expect(takenOf(request)).toBe(before)
      expect(await query(request, 'CHECK')).toMatchObject({ kind: checked.kind })
    },
  )

  it('buy one eSIM even if two workers use the same key', async () => {
    const request = requestOf()
    const other = create()
    await Promise.all([order(request), order(request, other), order(request), order(request, other)])
    expect(await untilDecided(request)).toMatchObject({ kind: 'delivered' })
    expect(takenOf(request)).toBe(1)
  })

  it('begin again if the hold has lapsed', async () => {
    const request = requestOf()
    simulator.addFault({ kind: 'request-lost', operation: 'complete', times: 1 })
    expect(await order(request)).toMatchObject({ kind: 'unknown', reference: expect.any(String) })
    simulator.advanceClock(20 * 60_000)
    expect(await query(request)).toMatchObject({ kind: 'retry' })
    expect(await order(request)).toMatchObject({ kind: 'delivered' })
    expect(takenOf(request)).toBe(1)
  })

  it('are not continued by another worker after a check', async () => {
    const request = requestOf()
    simulator.addFault({ kind: 'slow-answer', operation: 'order', times: 1, delayMs: TIMEOUT_MS / 2 })
    const ordering = order(request)
    await expect.poll(() => simulator.orders().some(({ key }) => key === request.key)).toBe(true)
    expect(await query(request, 'CHECK')).toMatchObject({ kind: 'retry' })
    expect(await ordering).toMatchObject({ kind: 'unknown', message: 'another worker is processing this order' })
    expect(takenOf(request)).toBe(0)
  })
})

describe('an order', () => {
  it('is delivered with its exact charge, and with its number as the reference', async () => {
    const before = simulator.counters().debited
    const outcome = await order(requestOf())
    const amount = BigInt(simulator.counters().debited - before)
    expect(outcome).toMatchObject({ esim: { charged: { amount, currencyCode: 'USD' } } })
    const { reference } = outcome as Extract<Outcome, { kind: 'delivered' }>
    expect(simulator.orders().at(-1)).toMatchObject({ reference, state: 'delivered' })
  })

  it('that is Processing counts as ordered until it is delivered', async () => {
    simulator.addFault({ kind: 'delivered-later', operation: 'complete', times: 1 })
    const request = requestOf()
    const outcome = await order(request)
    expect(outcome).toMatchObject({ kind: 'ordered', reference: expect.any(String), charged: { currencyCode: 'USD' } })
    for (const purpose of ['RESUME', 'CHECK'] as const) expect((await query(request, purpose)).kind).toBe('ordered')
    simulator.deliver((outcome as Extract<Outcome, { kind: 'ordered' }>).reference)
    expect(await query(request)).toMatchObject({ kind: 'delivered' })
    expect(takenOf(request)).toBe(1)
  })

  it.each(['order', 'complete'])('that is refused in step %s leaves no money on hold', async (operation) => {
    const balance = () => simulator.counters().balance
    const before = balance()
    for (const [kind, expected] of [
      ['out-of-stock', 'refused'],
      ['no-balance', 'retry'],
      ['down', 'retry'],
      ['unknown-package', 'refused'],
    ] as const) {
      simulator.addFault({ kind, operation, times: 1 })
      const request = requestOf()
      expect(await order(request)).toMatchObject({ kind: expected })
      expect(await query(request)).toMatchObject({ kind: 'retry' })
      expect([takenOf(request), balance()]).toEqual([0, before])
    }
  })

  it.each(['unauthorized', 'rate-limited', 'request-lost', 'answer-garbled', 'server-error-after'] as const)(
    'stays in doubt while its query fails (%s)',
    async (kind) => {
      const request = requestOf()
      simulator.addFault({ kind: 'answer-lost', operation: 'complete', times: 1 })
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      simulator.addFault({ kind, operation: 'query' })
      for (const purpose of ['RESUME', 'CHECK'] as const) expect((await query(request, purpose)).kind).toBe('unknown')
      simulator.clearFaults()
      expect(await query(request)).toMatchObject({ kind: 'delivered' })
    },
  )

  it('that was delivered is never cancelled', async () => {
    const esim = await buy()
    expect(await supplier.cancel(esim)).toMatchObject({ kind: 'refused' })
    expect(await query(esim, 'CHECK')).toMatchObject({ kind: 'delivered' })
  })
})

describe('a top-up', () => {
  it.each(ONE_LOSS)(
    'is added once if the first step has the fault %s and the second %s',
    async (created, completed) => {
      const request = topUpOf(await buy())
      lose('topUp', created)
      lose('complete', completed)
      expect(await untilDecided(request)).toMatchObject({ kind: 'toppedUp', charged: { currencyCode: 'USD' } })
      await untilLateRequestsEnd()
      expect(simulator.counters().toppedUpByKey[request.key]).toBe(1)
    },
  )

  it('finds the eSIM’s first order without a reference, and is refused if there is no such order', async () => {
    const esim = await buy()
    expect(await order(topUpOf({ ...esim, reference: undefined }))).toMatchObject({ kind: 'toppedUp' })
    const unknown = topUpOf({ ...esim, reference: undefined, key: 'ANOTHER' })
    expect(await order(unknown)).toMatchObject({ kind: 'refused' })
    expect(simulator.counters().toppedUpByKey[unknown.key]).toBeUndefined()
  })
})

describe('an event', () => {
  const event = async (body: string) => supplier.receive!({ headers: {}, body: Buffer.from(body) })

  it('triggers a query of the order that it identifies if it is signed', async () => {
    const received: string[] = []
    const receiver = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      received.push(body)
      response.end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as { port: number }
    simulator.setEventsUrl(`http://127.0.0.1:${port}/`)
    try {
      const { key } = await buy()
      await expect.poll(() => received.length).toBe(1)
      const [body] = received as [string]
      expect(await event(body)).toEqual({ kind: 'changed', keys: [key] })
      expect(await event(body.replaceAll(/"MM-\d+"/g, '"MM-1"'))).toMatchObject({ kind: 'refused' })
      expect(await event(body.replace('"signature"', '"other"'))).toMatchObject({ kind: 'refused' })
      expect(await event('{}')).toMatchObject({ kind: 'refused' })
      const keyless = create({ webhookPublicKey: undefined })
      expect(await keyless.receive!({ headers: {}, body: Buffer.from(body) })).toMatchObject({ kind: 'refused' })
    } finally {
      simulator.setEventsUrl(null)
      receiver.closeAllConnections()
      receiver.close()
    }
  })
})

describe('a report', () => {
  it('contains an eSIM’s usage and top-ups, and is requested at most once a minute over all nodes', async () => {
    const esim = await buy()
    await order(topUpOf(esim))
    simulator.changeEsim({ iccid: esim.iccid, profile: 'INSTALLATION' })
    simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', usedBytes: 250_000_000 })
    const requests = () => simulator.requests().filter(({ operation }) => operation === 'usage').length
    const [first] = await supplier.report!([esim])
    expect(first).toMatchObject({ report: { esimStatus: 'IN_USE', smdpStatus: 'INSTALLATION', usage: 250_000_000n } })
    const other = create()
    expect(await supplier.report!([esim])).toEqual([{ kind: 'silent' }])
    expect(await other.report!([esim])).toEqual([{ kind: 'silent' }])
    expect(requests()).toBe(1)
    await testbed.shop.db.query({
      text: "update mobimatter_orders set info_at = info_at - interval '1 minute' where order_id = $1",
      values: [esim.reference],
    })
    expect(await other.report!([esim])).toMatchObject([{ kind: 'reported' }])
    expect(requests()).toBe(2)
  })

  it('is never requested by polling', () => {
    expect(supplier.traits.reportsOnRequest).toBe(true)
  })
})

describe('the account', () => {
  it('provides a catalogue of packages for eSIMs and for top-ups', () => {
    expect(products.map(({ packageType }) => packageType).sort()).toEqual([
      ...Array.from({ length: 5 }, () => 'BASE'),
      ...Array.from({ length: 5 }, () => 'TOPUP'),
    ])
    for (const { cost, countries, durationDays } of products) {
      expect(cost).toBeGreaterThan(0n)
      expect(countries.length).toBeGreaterThan(0)
      expect(durationDays).toBeGreaterThan(0)
    }
  })

  it('provides no catalogue if the answer is broken', async () => {
    simulator.addFault({ kind: 'answer-garbled', operation: 'catalogue' })
    const read = async () => {
      for await (const _ of supplier.catalogue!()) {
        // only read
      }
    }
    await expect(read()).rejects.toThrow(/the catalogue cannot be read/)
  })

  it('reports its balance in units of 1/10 000', async () => {
    simulator.setBalance(12_345_600)
    expect(await supplier.balance!()).toEqual({ kind: 'balance', amount: 12_345_600n, currencyCode: 'USD' })
    simulator.addFault({ kind: 'request-lost', operation: 'balance' })
    expect(await supplier.balance!()).toEqual({ kind: 'silent', message: expect.any(String) })
    simulator.setBalance(100_000_000)
  })

  it('passes its test, and a fault is reported with its remedy', async () => {
    expect(await supplier.test()).toBeUndefined()
    expect(await create({ apiKey: 'wrong' }).test()).toMatch(/^Credentials: .*Copy apiKey and merchantId/)
    expect(await create({ url: 'http://127.0.0.1:1' }).test()).toMatch(/^Connection: .*Check the url/)
    expect(await create({ url: `${simulator.url}/api/v2` }).test()).toMatch(/^Protocol: .*without \/api\/v2/)
  })
})
