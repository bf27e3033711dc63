import { createOutbound, type Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import type { DeliveredEsim, ProfileReport, Supplier, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { readable, readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { zenditSupplier } from '@dealer-esim/wholesalers/zendit/zendit.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { firstProduct } from './simulator-fixtures.ts'

const TIMEOUT_MS = 1_000
/** The account's rate limit is always used up. */
const FULL = { query: async () => [] }
let simulator: Simulator
let outbound: Outbound
let supplier: Supplier
let productCode: string
let serial = 0

beforeAll(async () => {
  simulator = await createSimulator('zendit', { catalogueSize: 2_100 })
  outbound = createOutbound()
  supplier = create({})
  productCode = await firstProduct(supplier)
})
afterEach(() => {
  simulator.clearFaults()
  simulator.setBalance(100_000_000)
})
afterAll(async () => {
  await simulator.close()
  await outbound.close()
})

function create(changes: object): Supplier {
  const config = { url: simulator.url, apiKey: simulator.credentials.apiKey!, timeoutMs: TIMEOUT_MS, ...changes }
  return zenditSupplier('zendit', config, { outbound, db: FULL })
}

function request(): SupplierRequest {
  serial += 1
  return { tenantId: 'T', orderId: `ORDER-${serial}`, itemNo: 1, key: `ORDER-${serial}-1`, productCode }
}

async function order(wanted: SupplierRequest) {
  const [outcome] = await supplier.order([wanted])
  return outcome!
}

async function query(wanted: SupplierRequest) {
  const [outcome] = await supplier.query([wanted], 'RESUME')
  return outcome!
}

async function buy(): Promise<{ wanted: SupplierRequest; esim: DeliveredEsim }> {
  const wanted = request()
  const outcome = await order(wanted)
  if (outcome.kind !== 'delivered') throw new Error(JSON.stringify(outcome))
  return { wanted, esim: outcome.esim }
}

function supplied({ wanted, esim }: Awaited<ReturnType<typeof buy>>) {
  return { ...wanted, iccid: esim.iccid, matchingId: esim.matchingId, shown: true }
}

function takenWith(key: string): number {
  return simulator.counters().takenByKey[key] ?? 0
}

describe('a purchase', () => {
  it('returns its codes and the exact charge', async () => {
    const { wanted, esim } = await buy()
    const sold = simulator.esims().find(({ iccid }) => iccid === esim.iccid)!
    expect(esim).toMatchObject({ smdpAddress: sold.smdpAddress, matchingId: sold.matchingId })
    const products = []
    for await (const product of readableProducts(supplier)) products.push(product)
    const { cost, currencyCode } = products.find((product) => product.productCode === wanted.productCode)!
    expect(esim.charged).toEqual({ amount: cost, currencyCode })
  })

  it('is made once, even if its transactionId is sent twice', async () => {
    const { wanted, esim } = await buy()
    expect(await order(wanted)).toMatchObject({ kind: 'delivered', esim: { iccid: esim.iccid } })
    expect(takenWith(wanted.key)).toBe(1)
  })

  it.each(['answer-lost', 'answer-cut', 'answer-garbled', 'server-error-after', 'slow-answer'] as const)(
    'is unknown until a query finds it if no usable answer arrives (%s)',
    async (kind) => {
      simulator.addFault({ kind, operation: 'order', delayMs: 2 * TIMEOUT_MS })
      const wanted = request()
      expect(await order(wanted)).toMatchObject({ kind: 'unknown' })
      simulator.clearFaults()
      expect(await query(wanted)).toMatchObject({ kind: 'delivered' })
      expect(takenWith(wanted.key)).toBe(1)
    },
  )

  it.each(['request-lost', 'server-error-before', 'hang'] as const)(
    'that may not have arrived (%s) is unknown until a query shows that nothing was bought',
    async (kind) => {
      simulator.addFault({ kind, operation: 'order' })
      const wanted = request()
      expect(await order(wanted)).toMatchObject({ kind: 'unknown', down: true })
      simulator.clearFaults()
      expect(await query(wanted)).toMatchObject({ kind: 'retry' })
      expect(await order(wanted)).toMatchObject({ kind: 'delivered' })
    },
  )

  it.each(['out-of-stock', 'unknown-package', 'refused', 'no-balance'] as const)(
    'that Zendit refuses (%s) buys nothing',
    async (kind) => {
      simulator.addFault({ kind, operation: 'order' })
      const wanted = request()
      const expected = kind === 'no-balance' ? /refused|retry/ : /refused/
      expect((await order(wanted)).kind).toMatch(expected)
      expect(takenWith(wanted.key)).toBe(0)
    },
  )

  it.each(['rate-limited', 'unauthorized'] as const)('is tried again after %s', async (kind) => {
    simulator.addFault({ kind, operation: 'order' })
    const wanted = request()
    expect(await order(wanted)).toMatchObject({ kind: 'retry' })
    simulator.clearFaults()
    expect(await order(wanted)).toMatchObject({ kind: 'delivered' })
  })

  it('is not sent while the account’s rate limit is used up', async () => {
    const wanted = request()
    const limited = create({ perSecond: 8 })
    expect(await limited.order([wanted])).toEqual([{ kind: 'retry', message: expect.stringMatching(/^not sent/) }])
    expect(takenWith(wanted.key)).toBe(0)
  })

  it('counts as ordered until it is delivered', async () => {
    simulator.addFault({ kind: 'delivered-later', operation: 'order', delayMs: 60_000 })
    const wanted = request()
    expect(await order(wanted)).toMatchObject({ kind: 'ordered', reference: wanted.key })
    expect(await query(wanted)).toMatchObject({ kind: 'ordered' })
    simulator.advanceClock(61_000)
    expect(await query(wanted)).toMatchObject({ kind: 'delivered' })
  })

  it('is refused if its delivery fails', async () => {
    simulator.addFault({ kind: 'delivery-fails', operation: 'order', delayMs: 60_000 })
    const wanted = request()
    expect((await order(wanted)).kind).toMatch(/ordered|refused/)
    simulator.advanceClock(61_000)
    expect(await query(wanted)).toMatchObject({ kind: 'refused' })
  })

  it.each(['unauthorized', 'rate-limited', 'down', 'request-lost', 'answer-garbled'] as const)(
    'stays in doubt while a query fails (%s)',
    async (kind) => {
      const { wanted } = await buy()
      simulator.addFault({ kind, operation: 'query' })
      expect(await query(wanted)).toMatchObject({ kind: 'unknown' })
    },
  )
})

describe('a top-up', () => {
  it('is added to its eSIM once, and a query finds it', async () => {
    const { wanted, esim } = await buy()
    const topUp = { ...request(), topUp: { key: wanted.key, iccid: esim.iccid, matchingId: esim.matchingId } }
    simulator.addFault({ kind: 'answer-lost', operation: 'topUp' })
    expect(await supplier.topUp!([topUp])).toMatchObject([{ kind: 'unknown' }])
    simulator.clearFaults()
    expect(await query(topUp)).toMatchObject({ kind: 'toppedUp' })
    expect(await supplier.topUp!([topUp])).toMatchObject([{ kind: 'toppedUp', charged: { currencyCode: 'USD' } }])
    expect(simulator.counters().toppedUpByKey[topUp.key]).toBe(1)
    const sold = simulator.esims().find(({ iccid }) => iccid === esim.iccid)!
    expect(sold.productCodes).toHaveLength(2)
  })
})

describe('an eSIM cancellation', () => {
  it('refunds the eSIM once, even if it is repeated', async () => {
    const bought = await buy()
    const before = simulator.counters().balance
    expect(await supplier.cancel(supplied(bought), 'CANCEL-1')).toEqual({ kind: 'cancelled' })
    const after = simulator.counters().balance
    expect(after).toBeGreaterThan(before)
    expect(await supplier.cancel(supplied(bought), 'CANCEL-1')).toEqual({ kind: 'cancelled' })
    expect(simulator.counters().balance).toBe(after)
  })

  it('is refused for an eSIM in use', async () => {
    const bought = await buy()
    simulator.changeEsim({ iccid: bought.esim.iccid, status: 'IN_USE', usedBytes: 1_000_000 })
    expect(await supplier.cancel(supplied(bought), 'CANCEL-1')).toMatchObject({ kind: 'refused' })
  })

  it.each(['rate-limited', 'unauthorized'] as const)(
    'that may be repeated (%s) does not count as refused',
    async (kind) => {
      const bought = await buy()
      simulator.addFault({ kind, operation: 'cancel' })
      expect(await supplier.cancel(supplied(bought), 'CANCEL-1')).toMatchObject({ kind: 'unknown' })
      simulator.clearFaults()
      expect(await supplier.cancel(supplied(bought), 'CANCEL-1')).toEqual({ kind: 'cancelled' })
    },
  )

  it.each(['answer-lost', 'request-lost', 'server-error-after'] as const)(
    'is completed by a repeat if no usable answer arrives (%s)',
    async (kind) => {
      const bought = await buy()
      simulator.addFault({ kind, operation: 'cancel' })
      simulator.addFault({ kind, operation: 'refund' })
      expect((await supplier.cancel(supplied(bought), 'CANCEL-1')).kind).not.toBe('refused')
      simulator.clearFaults()
      expect(await supplier.cancel(supplied(bought), 'CANCEL-1')).toEqual({ kind: 'cancelled' })
    },
  )
})

describe('the account', () => {
  it('provides all pages of a catalogue', async () => {
    const products = []
    for await (const product of readableProducts(supplier)) products.push(product)
    expect(products).toHaveLength(2_100)
    expect(new Set(products.map((product) => product.productCode)).size).toBe(2_100)
    for (const product of products) {
      expect(product.countries.length).toBeGreaterThan(0)
      expect(product.cost).toBeGreaterThan(0n)
    }
  })

  it('provides no catalogue if one of its pages is broken', async () => {
    simulator.addFault({ kind: 'answer-garbled', operation: 'catalogue', skip: 1 })
    const read = async () => {
      for await (const _ of readableProducts(supplier)) {
        // only read
      }
    }
    await expect(read()).rejects.toThrow(/page 2 of the list cannot be read/)
  })

  it('reports its balance in units of 1/10 000', async () => {
    simulator.setBalance(12_345_600)
    expect(await supplier.balance!()).toEqual({ kind: 'balance', amount: 12_345_600n, currencyCode: 'USD' })
  })

  it('lists every completed purchase once', async () => {
    const since = new Date(Date.now() - 3_600_000)
    const { wanted, esim } = await buy()
    const keys = new Map<string, string>()
    for await (const record of readable(supplier.list!(since))) keys.set(record.key, record.iccid)
    expect(keys.get(wanted.key)).toBe(esim.iccid)
    const later = []
    for await (const record of supplier.list!(new Date(Date.now() + 86_400_000_000))) later.push(record)
    expect(later).toEqual([])
  })

  it('reports usage, and the start and end of use', async () => {
    const fresh = await createSimulator('zendit', { catalogueSize: 3 })
    const config = { url: fresh.url, apiKey: fresh.credentials.apiKey! }
    const other = zenditSupplier('zendit', config, { outbound, db: FULL })
    const wanted = { ...request(), productCode: await firstProduct(other) }
    const [bought] = await other.order([wanted])
    if (bought?.kind !== 'delivered') throw new Error(`it answered ${bought?.kind}`)
    const { iccid } = bought.esim
    fresh.changeEsim({ iccid, status: 'IN_USE', usedBytes: 250_000_000 })
    await new Promise((resolve) => setTimeout(resolve, 1_100)) // the time in an answer has no milliseconds
    const [report] = await other.report!([supplied({ wanted, esim: bought.esim })])
    await fresh.close()
    expect(report).toMatchObject({ kind: 'reported', report: { esimStatus: 'IN_USE', usage: 250_000_000n } })
    const { activateTime, expiredTime } = (report as { report: ProfileReport }).report
    expect(Number(expiredTime) - Number(activateTime)).toBeGreaterThanOrEqual(86_400_000)
  })

  it('passes its test, and a fault is reported with its remedy', async () => {
    expect(await supplier.test()).toBeUndefined()
    expect(await create({ apiKey: 'wrong' }).test()).toMatch(/^Credentials: .*Copy the API key/)
    expect(await create({ url: 'http://127.0.0.1:1/v1' }).test()).toMatch(/^Connection: /)
    expect(await create({ url: simulator.url.replace('/v1', '/v9') }).test()).toMatch(
      /^Protocol: .*must end with the version/,
    )
  })
})

describe('an event', () => {
  const receive = (body: string) => supplier.receive!({ headers: {}, body: Buffer.from(body) })

  it('triggers a query of the purchase that it identifies', async () => {
    expect(await receive('{"transactionId":"ORDER-1-1","status":"DONE"}')).toEqual({
      kind: 'changed',
      keys: ['ORDER-1-1'],
    })
  })

  it.each(['', '[]', '{"transactionId":7}', '{"status":"DONE"}', `{"transactionId":"${'K'.repeat(65)}"}`])(
    'is refused without a transactionId (%s)',
    async (body) => {
      expect(await receive(body)).toMatchObject({ kind: 'refused' })
    },
  )

  it('is refused from an unlisted address if any addresses are set', async () => {
    const listed = create({ eventAddresses: ['203.0.113.0/24', '2001:db8::/32'] })
    const from = (address: string | undefined) =>
      listed.receive!({ headers: {}, body: Buffer.from('{"transactionId":"ORDER-1-1"}'), address })
    expect(await from('203.0.113.9')).toEqual({ kind: 'changed', keys: ['ORDER-1-1'] })
    expect(await from('2001:db8::7')).toMatchObject({ kind: 'changed' })
    for (const address of ['203.0.114.9', '::1', undefined]) {
      expect(await from(address)).toMatchObject({ kind: 'refused', message: expect.stringContaining('eventAddresses') })
    }
    expect([supplier.eventsUnproven, listed.eventsUnproven]).toEqual([true, false])
  })
})
