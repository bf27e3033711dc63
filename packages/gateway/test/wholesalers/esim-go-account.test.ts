import { createHmac } from 'node:crypto'
import { readable } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { applyReportByIccid } from '#esims/apply-reports.ts'
import { createEsimGoTestbed, PRODUCTS } from './esim-go-testbed.ts'
import { createSoldEsim } from './sold-esim.ts'

/* The supplier after the sale, and its account, with its wholesaler's simulator. */

const testbed = await createEsimGoTestbed()
const {
  base,
  buy,
  buyByHand,
  config,
  create,
  loseOrder,
  order,
  products,
  requestOf,
  shop,
  simulator,
  supplier,
  topUpOf,
} = testbed
afterAll(() => testbed.close())
beforeEach(() => simulator.clearFaults())

describe('an eSIM cancellation', () => {
  it('returns the price only once, even if it is repeated', async () => {
    const before = simulator.counters().balance
    const esim = await buy()
    for (let turn = 0; turn < 2; turn++) {
      expect(await supplier.cancel(esim, 'A')).toEqual({ kind: 'cancelled' })
      expect(simulator.counters().balance).toBe(before)
    }
  })

  it.each(['answer-lost', 'server-error-after', 'answer-cut'] as const)(
    'is recognised from the eSIM’s state if no usable answer arrives (%s)',
    async (kind) => {
      const esim = await buy()
      simulator.addFault({ kind, operation: 'cancel', times: 1 })
      expect(await supplier.cancel(esim, 'A')).toEqual({ kind: 'cancelled' })
    },
  )

  it.each(['rate-limited', 'unauthorized', 'request-lost'] as const)(
    'that may be repeated (%s) does not count as refused',
    async (kind) => {
      const esim = await buy()
      simulator.addFault({ kind, operation: 'cancel', times: 1 })
      expect(await supplier.cancel(esim, 'A')).toMatchObject({ kind: 'unknown' })
      expect(await supplier.cancel(esim, 'A')).toEqual({ kind: 'cancelled' })
    },
  )

  it('is refused if the eSIM is in use, has a top-up or does not exist', async () => {
    const used = await buy()
    simulator.changeEsim({ iccid: used.iccid, usedBytes: 1_000_000 })
    const toppedUp = await buy()
    expect(await order(topUpOf(toppedUp))).toMatchObject({ kind: 'toppedUp' })
    const missing = { ...(await buy()), iccid: '8948000000000000000' }
    for (const esim of [used, toppedUp, missing]) {
      expect(await supplier.cancel(esim, 'A')).toMatchObject({ kind: 'refused' })
    }
    expect(simulator.counters().requestsByOperation.cancel).toBeGreaterThan(0)
  })
})

describe('the account', () => {
  it('provides all pages of a catalogue', async () => {
    expect(products).toHaveLength(PRODUCTS)
    expect(new Set(products.map(({ productCode }) => productCode)).size).toBe(PRODUCTS)
    for (const { cost, countries, currencyCode } of products) {
      expect(cost).toBeGreaterThan(0n)
      expect(countries.length).toBeGreaterThan(0)
      expect(currencyCode).toBe('USD')
    }
    simulator.addFault({ kind: 'answer-garbled', operation: 'catalogue', skip: 1 })
    const read = async () => {
      for await (const _ of supplier.catalogue!()) {
        // only read
      }
    }
    await expect(read()).rejects.toThrow(/page 2 of the list cannot be read/)
  })

  it('reports its balance in units of 1/10 000', async () => {
    simulator.setBalance(12_345_600)
    expect(await supplier.balance!()).toEqual({ kind: 'balance', amount: 12_345_600n, currencyCode: 'USD' })
    simulator.setBalance(100_000_000)
  })

  it('lists our eSIMs under their keys, and other eSIMs under their references unless they may be ours', async () => {
    const ours = await buy()
    await buyByHand(ours.productCode)
    const theirs = simulator.esims().at(-1)!
    const inDoubt = requestOf()
    loseOrder()
    expect(await order(inDoubt)).toMatchObject({ kind: 'unknown' })
    const doubted = simulator.esims().at(-1)!
    const listed = new Map<string, string>()
    for await (const { key, iccid } of readable(supplier.list!(new Date(Date.now() - 3_600_000))))
      listed.set(iccid, key)
    expect(listed.get(ours.iccid)).toBe(ours.key)
    expect(listed.get(theirs.iccid)).toBe(theirs.reference)
    expect(listed.has(doubted.iccid)).toBe(false)
  })

  it('reports usage, and the start and end of use', async () => {
    const esim = await buy()
    expect(await supplier.report!([esim])).toMatchObject([{ report: { usage: 0n } }])
    simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', usedBytes: 250_000_000 })
    await expect
      .poll(async () => (await supplier.report!([esim]))[0]) // the time in an answer has no milliseconds
      .toMatchObject({ report: { esimStatus: 'IN_USE', usage: 250_000_000n, activateTime: expect.any(Date) } })
    simulator.addFault({ kind: 'request-lost', operation: 'usage' })
    expect(await supplier.report!([esim])).toEqual([{ kind: 'silent', down: true }])
  })

  it('passes its test, and a fault is reported with its remedy', async () => {
    expect(await supplier.test()).toBeUndefined()
    expect(await create({ apiKey: 'wrong' }).test()).toMatch(/^Credentials: .*Copy the API key/)
    expect(await create({ url: 'http://127.0.0.1:1/v2.5' }).test()).toMatch(/^Connection: .*Check the url/)
    expect(await create({ url: simulator.url.replace('/v2.5', '/v9') }).test()).toMatch(/^Protocol: .*the version/)
  })
})

it('an SMS is sent once to the eSIM, up to 160 characters, and is in doubt without an answer', async () => {
  const esim = await buy()
  const sent = () =>
    simulator.requests().filter(({ operation, reachedAccount }) => operation === 'sms' && reachedAccount)
  expect(await supplier.sendSms!(esim, 'Welcome')).toEqual({ kind: 'done' })
  for (const kind of ['answer-lost', 'server-error-after', 'answer-cut'] as const) {
    simulator.addFault({ kind, operation: 'sms', times: 1 })
    expect(await supplier.sendSms!(esim, 'Welcome'), kind).toMatchObject({ kind: 'unknown' })
  }
  for (const kind of ['unauthorized', 'rate-limited', 'refused'] as const) {
    simulator.addFault({ kind, operation: 'sms', times: 1 })
    expect(await supplier.sendSms!(esim, 'Welcome'), kind).toMatchObject({ kind: 'refused' })
  }
  expect(await supplier.sendSms!(esim, 'x'.repeat(161))).toMatchObject({ kind: 'refused' })
  expect(sent()).toHaveLength(4)
})

describe('an event', () => {
  const signed = (body: string, encoding: 'hex' | 'base64' = 'hex', apiKey = config.apiKey) => {
    const signature = createHmac('sha256', apiKey).update(body).digest(encoding)
    return { headers: { 'x-signature-sha256': signature }, body: Buffer.from(body) }
  }
  const utilisation = (iccid: string, bundle: object, alertType = 'Utilisation') =>
    JSON.stringify({ iccid, alertType, bundle: { name: base.productCode, ...bundle } })
  const measured = { initialQuantity: 1_000_000_000, remainingQuantity: 200_000_000, unlimited: false }

  it.each(['hex', 'base64'] as const)('identifies the eSIM to query if it is signed in %s', async (encoding) => {
    const { iccid, key } = await buy()
    const body = JSON.stringify({ iccid, alertType: 'FirstAttachment', bundle: {} })
    expect(await supplier.receive!(signed(body, encoding))).toEqual({ kind: 'changed', keys: [key] })
    const unknown = JSON.stringify({ iccid: '8948000000000000000' })
    expect(await supplier.receive!(signed(unknown, encoding))).toEqual({ kind: 'changed', keys: [] })
    const { headers } = signed(body, encoding)
    expect(await supplier.receive!({ headers, body: Buffer.from(`${body} `) })).toMatchObject({ kind: 'refused' })
    expect(await supplier.receive!({ headers: {}, body: Buffer.from(body) })).toMatchObject({ kind: 'refused' })
  })

  it('about utilisation carries its figures if they are a readable number of bytes', async () => {
    const { iccid, key } = await buy()
    const receive = (bundle: object, alertType?: string) =>
      supplier.receive!(signed(utilisation(iccid, { ...measured, ...bundle }, alertType)))
    const used = { kind: 'changed', keys: [key], reports: [{ iccid, report: { usageAtLeast: 800_000_000n } }] }
    for (const members of [{}, { unit: 'BYTES' }]) expect(await receive(members)).toMatchObject(used)
    const unmeasured = [
      { remainingQuantity: 1_000_000_001 },
      { remainingQuantity: -1 },
      { remainingQuantity: null },
      { initialQuantity: '1000' },
      { initialQuantity: 90.5 },
      { unlimited: true },
      { unit: 'minutes' },
    ]
    for (const bundle of unmeasured) expect(await receive(bundle)).toEqual({ kind: 'changed', keys: [key] })
    expect(await receive({}, 'LowBalance')).toEqual({ kind: 'changed', keys: [key] })
  })

  it('raises the usage of its eSIM, never lowers it, and changes nothing without its signature', async () => {
    const sold = await createSoldEsim(shop, base.productCode)
    const { iccid, totalVolume: volume, usage, post } = sold
    const half = { ...measured, initialQuantity: Number(volume), remainingQuantity: Number(volume / 2n) }
    const quarter = { ...half, remainingQuantity: Number((volume * 3n) / 4n) }
    expect([await post(signed(utilisation(iccid, half), 'hex', 'other')), await usage()]).toEqual([401, null])
    expect([await post(signed(utilisation(iccid, half))), await usage()]).toEqual([204, volume / 2n])
    expect([await post(signed(utilisation(iccid, quarter))), await usage()]).toEqual([204, volume / 2n])
    await sold.close()
  })

  it('is followed by a query of all bundles, whose answer can raise the usage further', async () => {
    const sold = await createSoldEsim(shop, base.productCode)
    const { iccid, totalVolume: volume, usage, post } = sold
    const half = { ...measured, initialQuantity: Number(volume), remainingQuantity: Number(volume / 2n) }
    const more = (volume * 3n) / 4n
    simulator.changeEsim({ iccid, status: 'IN_USE', usedBytes: Number(more) })
    await post(signed(utilisation(iccid, half)))
    const [outcome] = await supplier.report!([{ ...(await buy()), iccid }])
    if (outcome?.kind !== 'reported') throw new Error('it did not report')
    await applyReportByIccid(shop, ['wholesaler'], iccid, outcome.report)
    expect(await usage()).toBe(more)
    await sold.close()
  })
})
