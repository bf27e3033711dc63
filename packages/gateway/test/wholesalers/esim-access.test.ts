import { createSimulator } from '@dealer-esim/wholesaler-simulators'
import { esimAccessSupplier } from '@dealer-esim/wholesalers/esim-access/esim-access.ts'
import type { Outcome, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { readable } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createSoldEsim } from './sold-esim.ts'
import { createWholesalerTestbed } from './wholesaler-testbed.ts'

const testbed = await createWholesalerTestbed({
  kind: 'esim-access',
  catalogueSize: 5,
  configOf({ url, credentials: { accessCode = '', secretKey = '' } }) {
    const eventAddresses = ['192.0.2.0/24']
    return { url, accessCode, secretKey, perSecond: 1_000, timeoutMs: 5_000, eventAddresses }
  },
  create: esimAccessSupplier,
})
const { base, buy, create, order, products, query, requestOf, shop, simulator, supplier, takenOf, topUpOf } = testbed
afterAll(() => testbed.close())
beforeEach(() => simulator.clearFaults())

describe('an order', () => {
  it('that is delivered later counts as ordered, is queried by its reference, and is never refused', async () => {
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1 })
    const request = requestOf()
    const outcome = await order(request)
    expect(outcome).toMatchObject({ kind: 'ordered', reference: expect.any(String) })
    const { reference } = outcome as Extract<Outcome, { kind: 'ordered' }>
    for (const purpose of ['RESUME', 'CHECK'] as const) {
      expect((await query({ ...request, reference }, purpose)).kind).toBe('ordered')
    }
    simulator.deliver(reference)
    expect(await query({ ...request, reference })).toMatchObject({
      kind: 'delivered',
      reference,
    })
    expect(takenOf(request)).toBe(1)
  })

  it('whose answer was lost stays in doubt while another order from the same minute is pending', async () => {
    simulator.addFault({ kind: 'answer-lost', operation: 'order', times: 1 })
    const lost = requestOf()
    expect((await order(lost)).kind).toBe('unknown')
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1 })
    const pending = await order(requestOf())
    expect((await query(lost, 'CHECK')).kind).toBe('unknown')
    simulator.deliver((pending as Extract<Outcome, { kind: 'ordered' }>).reference)
    expect((await query(lost, 'CHECK')).kind).toBe('delivered')
    expect(takenOf(lost)).toBe(1)
  })

  it('can be repeated with the same key without a second purchase', async () => {
    const request = requestOf()
    await buy(request)
    expect((await order(request)).kind).toBe('delivered')
    expect(takenOf(request)).toBe(1)
  })

  it('for a day pass buys all of its days, and is charged for each', async () => {
    const pass = products.find(({ packageType, isDayPass }) => packageType === 'BASE' && isDayPass)!
    const guard = { cost: pass.cost, salePrice: pass.cost, currencyCode: 'USD' }
    const before = simulator.counters().debited
    const outcome = await order(requestOf({ productCode: pass.productCode, periodNum: 3, guard }))
    expect(outcome).toMatchObject({ esim: { charged: { amount: 3n * pass.cost, currencyCode: 'USD' } } })
    expect(simulator.counters().debited - before).toBe(Number(3n * pass.cost))
  })

  it('is bought at a different price up to the sale price, and is refused above the sale price', async () => {
    const { cost } = base
    const cheaper = requestOf({ guard: { cost: cost - 1n, salePrice: cost, currencyCode: 'USD' } })
    expect(await order(cheaper)).toMatchObject({
      kind: 'delivered',
      esim: { charged: { amount: cost } },
    })
    const dearer = requestOf({ guard: { cost: cost - 2n, salePrice: cost - 1n, currencyCode: 'USD' } })
    expect(await order(dearer)).toMatchObject({ kind: 'refused', price: { amount: cost } })
    expect([takenOf(cheaper), takenOf(dearer)]).toEqual([1, 0])
  })
})

describe('a top-up', () => {
  it.each(['answer-lost', 'server-error-after', 'answer-garbled', 'answer-cut'] as const)(
    'with the fault %s is in doubt at first, is then found, and is added once',
    async (kind) => {
      const request = topUpOf(await buy())
      simulator.addFault({ kind, operation: 'topUp', times: 1 })
      expect((await order(request)).kind).toBe('unknown')
      expect((await query(request)).kind).toBe('toppedUp')
      expect((await order(request)).kind).toBe('toppedUp')
      expect(simulator.counters().toppedUpByKey[request.key]).toBe(1)
    },
  )

  it('that was never executed is reported as not bought', async () => {
    const request = topUpOf(await buy())
    simulator.addFault({ kind: 'request-lost', operation: 'topUp', times: 1 })
    expect((await order(request)).kind).toBe('unknown')
    expect((await query(request)).kind).toBe('retry')
    expect(simulator.counters().toppedUpByKey[request.key]).toBeUndefined()
  })

  describe('by several days of a day pass', () => {
    const { productCode, cost } = products.find(({ packageType, isDayPass }) => packageType === 'TOPUP' && isDayPass)!
    const guard = { cost, salePrice: cost, currencyCode: 'USD' }
    const byDays = async (changes: Partial<SupplierRequest>) =>
      topUpOf(await buy(), { productCode, periodNum: 3, ...changes })

    it.each([
      ['with a guard', { guard }],
      ['without one', {}],
    ])('adds all of the days once, and is charged for each, %s', async (_, changes) => {
      const request = await byDays(changes)
      const { debited } = simulator.counters()
      const charged = { amount: 3n * cost, currencyCode: 'USD' }
      expect(await order(request)).toMatchObject({ kind: 'toppedUp', charged })
      expect((await order(request)).kind).toBe('toppedUp')
      expect(simulator.counters().debited - debited).toBe(Number(3n * cost))
      expect(simulator.orders().find(({ key }) => key === request.key)?.periods).toBe(3)
    })

    it('is found after its answer was lost, and not bought again', async () => {
      const request = await byDays({ guard })
      simulator.addFault({ kind: 'answer-lost', operation: 'topUp', times: 1 })
      expect((await order(request)).kind).toBe('unknown')
      expect((await query(request)).kind).toBe('toppedUp')
      expect(simulator.counters().toppedUpByKey[request.key]).toBe(1)
    })

    it('follows the current price up to the sale price, and is refused above the sale price', async () => {
      const cheaper = await byDays({ guard: { ...guard, cost: cost - 1n } })
      expect(await order(cheaper)).toMatchObject({ kind: 'toppedUp', charged: { amount: 3n * cost } })
      const dearer = await byDays({ guard: { ...guard, cost: cost - 2n, salePrice: cost - 1n } })
      expect(await order(dearer)).toMatchObject({ kind: 'refused', price: { amount: cost } })
      expect(simulator.counters().toppedUpByKey[dearer.key]).toBeUndefined()
    })

    it('is retried if the current price is unknown, and refused if the eSIM does not take the package', async () => {
      const request = await byDays({ guard })
      simulator.addFault({ kind: 'down', operation: 'catalogue', times: 1 })
      expect((await order(request)).kind).toBe('retry')
      expect((await order({ ...request, productCode: 'OTHER' })).kind).toBe('refused')
      expect(simulator.counters().toppedUpByKey[request.key]).toBeUndefined()
    })

    it('is refused without a debit if the wholesaler considers the amount the price of one day', async () => {
      const { credentials } = simulator
      const other = await createSimulator('esim-access', { catalogueSize: 5, credentials, forms: ['amount-per-day'] })
      try {
        const there = create({ url: other.url })
        const first = requestOf()
        const { esim } = (await order(first, there)) as Extract<Outcome, { kind: 'delivered' }>
        const sold = { ...first, ...esim, shown: true }
        const { debited } = other.counters()
        const by = (periodNum: number) => order(topUpOf(sold, { productCode, periodNum, guard }), there)
        expect((await by(3)).kind).toBe('refused')
        expect(other.counters().debited).toBe(debited)
        expect((await by(1)).kind).toBe('toppedUp')
      } finally {
        await other.close()
      }
    })
  })

  it('is refused for a cancelled eSIM, even if its ICCID was sold again', async () => {
    const esim = await buy()
    expect(await supplier.cancel(esim)).toEqual({ kind: 'cancelled' })
    const other = await buy()
    expect(other.iccid).toBe(esim.iccid)
    const request = topUpOf(esim)
    expect((await order(request)).kind).toBe('refused')
    expect(simulator.counters().toppedUpByKey[request.key]).toBeUndefined()
  })
})

describe('an action', () => {
  it('whose answer was lost counts as done when it is repeated', async () => {
    const esim = await buy()
    simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', profile: 'ENABLED' })
    for (const action of ['suspend', 'unsuspend', 'revoke'] as const) {
      simulator.addFault({ kind: 'answer-lost', operation: action, times: 1 })
      expect((await supplier[action]!(esim, 'A'))!.kind).toBe('unknown')
      expect(await supplier[action]!(esim, 'A')).toEqual({ kind: 'done' })
    }
  })

  it('cancels an eSIM once, and never another eSIM with the same ICCID', async () => {
    const esim = await buy()
    simulator.addFault({ kind: 'answer-lost', operation: 'cancel', times: 1 })
    expect((await supplier.cancel(esim)).kind).toBe('unknown')
    const other = await buy()
    expect(other.iccid).toBe(esim.iccid)
    expect(await supplier.cancel(esim)).toEqual({ kind: 'cancelled' })
    expect(simulator.counters().cancelledByKey).toMatchObject({ [esim.key]: 1 })
    expect(simulator.counters().cancelledByKey[other.key]).toBeUndefined()
  })
})

it('an SMS is sent once to the eSIM, not to another with its ICCID, and is in doubt without an answer', async () => {
  const [esim, gone] = [await buy(), await buy()]
  await supplier.cancel(gone, 'A-1')
  const sent = () =>
    simulator.requests().filter(({ operation, reachedAccount }) => operation === 'sms' && reachedAccount)
  expect(await supplier.sendSms!(esim, 'Welcome')).toEqual({ kind: 'done' })
  simulator.addFault({ kind: 'answer-lost', operation: 'sms', times: 1 })
  expect(await supplier.sendSms!(esim, 'Welcome')).toMatchObject({ kind: 'unknown' })
  expect(sent()).toHaveLength(2)
  simulator.addFault({ kind: 'refused', operation: 'sms', code: '200002', times: 1 })
  expect(await supplier.sendSms!(esim, 'Welcome')).toMatchObject({ kind: 'refused' })
  simulator.addFault({ kind: 'request-lost', operation: 'query', times: 1 })
  expect(await supplier.sendSms!(esim, 'Welcome')).toMatchObject({ kind: 'refused' })
  expect(sent()).toHaveLength(2)
})

it('a report contains usage and status, and the list contains every eSIM with its key', async () => {
  const esim = await buy()
  simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', profile: 'ENABLED', usedBytes: 12_345 })
  const [outcome] = await supplier.report!([esim])
  expect(outcome).toMatchObject({ report: { esimStatus: 'IN_USE', smdpStatus: 'ENABLED', usage: 12_345n } })
  const listed: string[] = []
  for await (const { key } of readable(supplier.list!(new Date(Date.now() - 3_600_000)))) listed.push(key)
  expect(listed).toContain(esim.key)
})

it('an event only identifies the eSIM to query, and is refused if it comes from a different address', async () => {
  const esim = await buy()
  const send = (content: object, address?: string) =>
    supplier.receive!({
      headers: {},
      body: Buffer.from(JSON.stringify({ notifyType: 'ORDER_STATUS', content })),
      address,
    })
  const ordered = { orderNo: esim.reference, orderStatus: 'GOT_RESOURCE' }
  expect(await send(ordered, '192.0.2.7')).toEqual({ kind: 'changed', keys: [esim.key] })
  expect(await send({ transactionId: esim.key }, '192.0.2.7')).toEqual({ kind: 'changed', keys: [esim.key] })
  expect(await send({ orderNo: '1234567890', orderStatus: 'Test' }, '192.0.2.7')).toEqual({ kind: 'changed', keys: [] })
  for (const address of ['198.51.100.1', undefined]) expect((await send(ordered, address)).kind).toBe('refused')
})

it('a usage event from one of the wholesaler’s addresses raises the eSIM’s usage', async () => {
  const sold = await createSoldEsim(shop, base.productCode)
  const { iccid, totalVolume: volume, usage } = sold
  const post = (orderUsage: bigint, address: string) => {
    const content = { transactionId: 'O1-1', iccid, totalVolume: Number(volume), orderUsage: Number(orderUsage) }
    const body = Buffer.from(JSON.stringify({ notifyType: 'DATA_USAGE', content }))
    return sold.post({ headers: {}, body }, address)
  }
  expect([await post(volume / 2n, '198.51.100.1'), await usage()]).toEqual([401, null])
  expect([await post(volume / 2n, '192.0.2.7'), await usage()]).toEqual([204, volume / 2n])
  expect([await post(volume / 4n, '192.0.2.7'), await usage()]).toEqual([204, volume / 2n])
  await sold.close()
})

it('a usage event that anybody can send has no figures', async () => {
  const open = create({ eventAddresses: undefined })
  const content = { transactionId: 'KEY-1', iccid: '8999900000000000017', orderUsage: 5 }
  const body = Buffer.from(JSON.stringify({ notifyType: 'DATA_USAGE', content }))
  expect(await open.receive!({ headers: {}, body, address: '192.0.2.7' })).toEqual({
    kind: 'changed',
    keys: ['KEY-1'],
  })
})

it('the supplier test reports the problem and how to solve it', async () => {
  expect(await supplier.test()).toBeUndefined()
  simulator.addFault({ kind: 'unauthorized' })
  expect(await supplier.test()).toMatch(/^Credentials: 401001.*Check accessCode/)
  expect(await create({ url: 'http://127.0.0.1:1' }).test()).toMatch(/^Connection: .*Check url/)
})
