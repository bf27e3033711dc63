import { createHmac } from 'node:crypto'
import { createSimulator, type FaultKind, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOutbound } from '../../../src/lib/outbound/outbound.ts'
import type { EsimGoConfig } from '../../../src/suppliers/esim-go/client.ts'
import { esimGoSupplier } from '../../../src/suppliers/esim-go/esim-go.ts'
import type { Outcome, Supplier, SupplierProduct, SupplierRequest } from '../../../src/suppliers/supplier.ts'
import { createTestDatabase, type TestDatabase } from '../../harness/databases/database.ts'
import { addSupplier, createShop, type Shop } from '../../harness/shop.ts'

/* The supplier at its wholesaler's simulator, where purchases are counted. */

const TIMEOUT_MS = 600
let database: TestDatabase
let shop: Shop
let simulator: Simulator
let config: EsimGoConfig
/** Two nodes. */
let supplier: Supplier
let other: Supplier
const outbound = createOutbound()
const products: SupplierProduct[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  simulator = await createSimulator('esim-go', { catalogueSize: 210 })
  config = { url: simulator.url, apiKey: simulator.credentials.apiKey!, timeoutMs: TIMEOUT_MS, perSecond: 1_000 }
  await addSupplier(shop, 'wholesaler', 'esim-go', config)
  supplier = create()
  other = create()
  for await (const product of supplier.catalogue!()) products.push(product)
})
afterAll(async () => {
  await simulator.close()
  await outbound.close()
  await shop.close()
  await database.drop()
})
beforeEach(() => simulator.clearFaults())

function create(changes: Partial<EsimGoConfig> = {}): Supplier {
  return esimGoSupplier('wholesaler', { ...config, ...changes }, { ...shop, outbound })
}

let serial = 0
/** Each test buys a bundle of its own. */
function requestOf(changes: Partial<SupplierRequest> = {}): SupplierRequest {
  serial += 1
  const { productCode } = products[serial]!
  return { tenantId: 'T', orderId: `ORDER-${serial}`, itemNo: 1, key: `ORDER-${serial}-1`, productCode, ...changes }
}

async function order(request: SupplierRequest, by = supplier): Promise<Outcome> {
  const [outcome] = await (request.topUp ? by.topUp!([request as never]) : by.order([request]))
  return outcome!
}

async function query(request: SupplierRequest, purpose: 'RESUME' | 'CHECK' = 'RESUME', by = supplier) {
  const [outcome] = await by.query([request], purpose)
  return outcome!
}

/** As fulfilment does it: what is unknown is queried, what was not bought is ordered again. */
async function untilDecided(request: SupplierRequest, by = supplier): Promise<Outcome> {
  let outcome = await order(request, by)
  for (let step = 0; step < 50; step++) {
    if (outcome.kind === 'unknown' || outcome.kind === 'ordered') outcome = await query(request, 'RESUME', by)
    else if (outcome.kind === 'retry') outcome = await order(request, by)
    else return outcome
  }
  throw new Error(`it is not decided: ${JSON.stringify(outcome)}`)
}

async function buy(request = requestOf()) {
  const outcome = await order(request)
  if (outcome.kind !== 'delivered') throw new Error(JSON.stringify(outcome))
  const { iccid, matchingId } = outcome.esim
  return { ...request, reference: outcome.reference, iccid, matchingId, shown: true }
}

function topUpOf({ key, reference, iccid, matchingId, productCode }: Awaited<ReturnType<typeof buy>>) {
  return requestOf({ productCode, topUp: { key, reference, iccid, matchingId } })
}

const takenOf = ({ productCode }: { productCode: string }) => simulator.counters().takenByProduct[productCode] ?? 0
const iccidsOf = (outcomes: Outcome[]) =>
  new Set(outcomes.map((one) => (one.kind === 'delivered' ? one.esim.iccid : one)))

/** The next order is made, and neither its answer nor the first search arrives. */
function loseOrder(kind: FaultKind = 'answer-lost'): void {
  simulator.addFault({ kind, operation: 'order', times: 1, delayMs: 2 * TIMEOUT_MS })
  simulator.addFault({ kind: 'request-lost', operation: 'list', times: 1 })
}

/** Somebody buys the bundle in eSIM Go's portal. */
async function buyByHand(item: string): Promise<void> {
  const line = { type: 'bundle', quantity: 1, item }
  const response = await fetch(`${simulator.url}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': config.apiKey },
    body: JSON.stringify({ type: 'transaction', assign: true, order: [line] }),
  })
  expect(response.status).toBe(200)
}

describe('a purchase', () => {
  it('has its codes, its charge, exactly, and its reference', async () => {
    const request = requestOf()
    const { cost, currencyCode } = products.find(({ productCode }) => productCode === request.productCode)!
    const outcome = await order(request)
    const sold = simulator.esims().at(-1)!
    expect(outcome).toMatchObject({
      kind: 'delivered',
      esim: { iccid: sold.iccid, matchingId: sold.matchingId, charged: { amount: cost, currencyCode } },
      reference: sold.reference,
    })
  })

  it('that was made is never made again with its key', async () => {
    const request = requestOf()
    const first = await order(request)
    expect(await order(request, other)).toEqual(first)
    expect(takenOf(request)).toBe(1)
  })

  it.each(['answer-lost', 'answer-cut', 'answer-garbled', 'server-error-after', 'slow-answer'] as const)(
    'whose answer fails (%s) is found at once, or by a later search',
    async (kind) => {
      simulator.addFault({ kind, operation: 'order', times: 1, delayMs: 2 * TIMEOUT_MS })
      expect(await order(requestOf())).toMatchObject({ kind: 'delivered' })
      loseOrder(kind)
      const request = requestOf()
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      simulator.clearFaults()
      expect(await query(request, 'CHECK')).toMatchObject({ kind: 'delivered', reference: expect.any(String) })
      expect(await query(request)).toMatchObject({ kind: 'delivered' })
      expect(takenOf(request)).toBe(1)
    },
  )

  it.each(['request-lost', 'server-error-before', 'hang', 'down'] as const)(
    'that may not have arrived (%s) is unknown, and a search shows that nothing was bought',
    async (kind) => {
      simulator.addFault({ kind, operation: 'order' })
      const request = requestOf()
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      simulator.clearFaults()
      expect(await query(request)).toMatchObject({ kind: 'retry' })
      expect(await order(request)).toMatchObject({ kind: 'delivered' })
      expect(takenOf(request)).toBe(1)
    },
  )

  it.each([
    ['out-of-stock', 'refused'],
    ['unknown-package', 'refused'],
    ['no-balance', 'retry'],
    ['rate-limited', 'retry'],
    ['unauthorized', 'retry'],
  ] as const)('with the answer %s is %s, and the next one of the bundle need not wait', async (kind, expected) => {
    simulator.addFault({ kind, operation: 'order', times: 1 })
    const request = requestOf()
    if (kind === 'no-balance') simulator.setBalance(0)
    if (kind === 'no-balance') simulator.clearFaults()
    expect(await order(request)).toMatchObject({ kind: expected })
    simulator.setBalance(100_000_000)
    expect(takenOf(request)).toBe(0)
    expect(await query(request)).toEqual({ kind: 'retry', message: 'the order was never sent' })
    expect(await order(requestOf({ productCode: request.productCode }), other)).toMatchObject({ kind: 'delivered' })
  })

  it('that is delivered later is ordered until then', async () => {
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1 })
    const request = requestOf()
    const outcome = await order(request)
    expect(outcome).toMatchObject({ kind: 'ordered', reference: expect.any(String) })
    for (const purpose of ['RESUME', 'CHECK'] as const) expect((await query(request, purpose)).kind).toBe('ordered')
    // Its order is known, so the next one of the bundle does not wait for it.
    await buy(requestOf({ productCode: request.productCode }))
    simulator.deliver((outcome as Extract<Outcome, { kind: 'ordered' }>).reference)
    expect(await query(request)).toMatchObject({ kind: 'delivered' })
    expect(takenOf(request)).toBe(2)
  })

  it('that ends without an eSIM is in doubt', async () => {
    simulator.addFault({ kind: 'delivery-fails', operation: 'order', times: 1 })
    const request = requestOf()
    await order(request)
    expect(await query(request)).toMatchObject({ kind: 'unknown' })
  })

  it.each(['unauthorized', 'rate-limited', 'request-lost', 'answer-garbled', 'server-error-after'] as const)(
    'stays in doubt while a search fails (%s)',
    async (kind) => {
      loseOrder()
      const request = requestOf()
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      simulator.addFault({ kind, operation: 'list' })
      for (const purpose of ['RESUME', 'CHECK'] as const) expect((await query(request, purpose)).kind).toBe('unknown')
      simulator.clearFaults()
      expect(await query(request)).toMatchObject({ kind: 'delivered' })
    },
  )
})

describe('equal purchases at once', () => {
  it('wait for each other over all nodes, and each gets its own eSIM although answers are lost', async () => {
    const { productCode } = requestOf()
    simulator.addFault({ kind: 'answer-lost', operation: 'order', every: 3 })
    simulator.addFault({ kind: 'answer-lost', operation: 'list', every: 2 })
    const requests = Array.from({ length: 10 }, () => requestOf({ productCode }))
    const outcomes = await Promise.all(
      requests.map((request, index) => untilDecided(request, index % 2 === 0 ? supplier : other)),
    )
    expect(iccidsOf(outcomes).size).toBe(10)
    expect(takenOf({ productCode })).toBe(10)
    for (const [index, request] of requests.entries()) expect(await query(request)).toEqual(outcomes[index])
  })

  it('are not sent while one is in doubt, also not by another node', async () => {
    const first = requestOf()
    simulator.addFault({ kind: 'slow-request', operation: 'order', times: 1, delayMs: 3 * TIMEOUT_MS })
    expect(await order(first)).toMatchObject({ kind: 'unknown' })
    const second = requestOf({ productCode: first.productCode })
    expect(await order(second, other)).toMatchObject({ kind: 'retry', message: /another purchase of this bundle/ })
    await expect.poll(() => takenOf(first), { timeout: 5_000 }).toBe(1)
    const found = await query(first)
    expect(found).toMatchObject({ kind: 'delivered' })
    const bought = await order(second, other)
    expect(iccidsOf([found, bought]).size).toBe(2)
    expect(takenOf(first)).toBe(2)
  })

  it('do not wait for those of other bundles', async () => {
    loseOrder()
    expect(await order(requestOf())).toMatchObject({ kind: 'unknown' })
    expect(await order(requestOf())).toMatchObject({ kind: 'delivered' })
  })

  it('wait at most until the order could no longer be mistaken for theirs', async () => {
    const first = requestOf()
    simulator.addFault({ kind: 'request-lost', operation: 'order', times: 1 })
    expect(await order(first)).toMatchObject({ kind: 'unknown' })
    const second = requestOf({ productCode: first.productCode })
    expect(await order(second)).toMatchObject({ kind: 'retry' })
    await shop.db.query({
      text: `update esim_go_claims set claimed_until = now() where supplier = 'wholesaler' and product_code = $1`,
      values: [first.productCode],
    })
    expect(await order(second)).toMatchObject({ kind: 'delivered' })
  })

  it.each(['RESUME', 'CHECK'] as const)(
    'of which one was made by hand are told apart by a person (%s)',
    async (purpose) => {
      const request = requestOf()
      loseOrder()
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      await buyByHand(request.productCode)
      expect(await query(request, purpose)).toMatchObject({ kind: 'unknown', message: /may be this one/ })
    },
  )

  it('leave an order alone that was made before ours', async () => {
    const request = requestOf()
    await buyByHand(request.productCode)
    for (const operation of ['order', 'list']) simulator.addFault({ kind: 'request-lost', operation, times: 1 })
    expect(await order(request)).toMatchObject({ kind: 'unknown' })
    await shop.db.query({
      text: `update esim_go_orders set sent_at = sent_at + interval '2 minutes' where key = $1`,
      values: [request.key],
    })
    expect(await query(request)).toMatchObject({ kind: 'unknown', message: /may be this one/ })
    expect(takenOf(request)).toBe(1)
  })

  it('of one key by two workers are both recorded, and the second is not taken for another order', async () => {
    const request = requestOf()
    simulator.addFault({ kind: 'slow-request', operation: 'order', times: 1, delayMs: TIMEOUT_MS / 2 })
    const late = order(request)
    await expect.poll(() => simulator.requests().at(-1)?.faults).toEqual(['slow-request'])
    const first = await order(request, other)
    expect(iccidsOf([first, await late]).size).toBe(2)
    expect(takenOf(request)).toBe(2)
    expect(await query(request)).toEqual(first)
    const next = requestOf({ productCode: request.productCode })
    simulator.addFault({ kind: 'request-lost', operation: 'order', times: 1 })
    expect(await order(next)).toMatchObject({ kind: 'unknown' })
    expect(await query(next)).toMatchObject({ kind: 'retry' })
  })

  it('at an account that others use are never matched', async () => {
    const shared = create({ share: 0.5 })
    const request = requestOf()
    simulator.addFault({ kind: 'answer-lost', operation: 'order', times: 1 })
    expect(await order(request, shared)).toMatchObject({ kind: 'unknown' })
    expect(await query(request, 'RESUME', shared)).toMatchObject({ kind: 'unknown', message: /others buy/ })
  })
})

describe('a top-up', () => {
  it.each([undefined, 'answer-lost', 'answer-garbled', 'server-error-after', 'request-lost', 'slow-answer'] as const)(
    'is added once with the fault %s',
    async (kind) => {
      const request = topUpOf(await buy())
      if (kind) simulator.addFault({ kind, operation: 'topUp', times: 1, delayMs: 2 * TIMEOUT_MS })
      const before = simulator.counters().toppedUp
      expect(await untilDecided(request)).toMatchObject({ kind: 'toppedUp', charged: { currencyCode: 'USD' } })
      expect(await query(request)).toMatchObject({ kind: 'toppedUp' })
      expect(simulator.counters().toppedUp - before).toBe(1)
      const sold = simulator.esims().find(({ iccid }) => iccid === request.topUp?.iccid)!
      expect(sold.productCodes).toHaveLength(2)
    },
  )

  it('whose answer was lost is not taken for an eSIM of the same bundle', async () => {
    const esim = await buy()
    const request = topUpOf(esim)
    simulator.addFault({ kind: 'request-lost', operation: 'topUp', times: 1 })
    expect(await order(request)).toMatchObject({ kind: 'unknown' })
    await buyByHand(esim.productCode)
    expect(await query(request)).toMatchObject({ kind: 'retry' })
  })
})

describe('the cancellation of an eSIM', () => {
  it('returns its price, and a repeat changes nothing', async () => {
    const before = simulator.counters().balance
    const esim = await buy()
    for (let turn = 0; turn < 2; turn++) {
      expect(await supplier.cancel(esim, 'A')).toEqual({ kind: 'cancelled' })
      expect(simulator.counters().balance).toBe(before)
    }
  })

  it.each(['answer-lost', 'server-error-after', 'answer-cut'] as const)(
    'whose answer fails (%s) is found in its state',
    async (kind) => {
      const esim = await buy()
      simulator.addFault({ kind, operation: 'cancel', times: 1 })
      expect(await supplier.cancel(esim, 'A')).toEqual({ kind: 'cancelled' })
    },
  )

  it.each(['rate-limited', 'unauthorized', 'request-lost'] as const)(
    'that may be repeated (%s) is not refused',
    async (kind) => {
      const esim = await buy()
      simulator.addFault({ kind, operation: 'cancel', times: 1 })
      expect(await supplier.cancel(esim, 'A')).toMatchObject({ kind: 'unknown' })
      expect(await supplier.cancel(esim, 'A')).toEqual({ kind: 'cancelled' })
    },
  )

  it('is refused in use, with a top-up, and for an eSIM that does not exist', async () => {
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
  it('has a catalogue that is read to its end', async () => {
    expect(products).toHaveLength(210)
    expect(new Set(products.map(({ productCode }) => productCode)).size).toBe(210)
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

  it('has its balance in 1/10 000', async () => {
    simulator.setBalance(12_345_600)
    expect(await supplier.balance!()).toEqual({ kind: 'balance', amount: 12_345_600n, currencyCode: 'USD' })
    simulator.setBalance(100_000_000)
  })

  it('lists our eSIMs under their keys and those of others under their references, but none that may be ours', async () => {
    const ours = await buy()
    await buyByHand(ours.productCode)
    const theirs = simulator.esims().at(-1)!
    const inDoubt = requestOf()
    loseOrder()
    expect(await order(inDoubt)).toMatchObject({ kind: 'unknown' })
    const doubted = simulator.esims().at(-1)!
    const listed = new Map<string, string>()
    for await (const { key, iccid } of supplier.list!(new Date(Date.now() - 3_600_000))) listed.set(iccid, key)
    expect(listed.get(ours.iccid)).toBe(ours.key)
    expect(listed.get(theirs.iccid)).toBe(theirs.reference)
    expect(listed.has(doubted.iccid)).toBe(false)
  })

  it('reports usage, and when the use began and ends', async () => {
    const esim = await buy()
    expect(await supplier.report!([esim])).toMatchObject([{ report: { usage: 0n } }])
    simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', usedBytes: 250_000_000 })
    await expect
      .poll(async () => (await supplier.report!([esim]))[0], { timeout: 5_000 }) // the time of an answer has no milliseconds
      .toMatchObject({ report: { esimStatus: 'IN_USE', usage: 250_000_000n, activateTime: expect.any(Date) } })
    simulator.addFault({ kind: 'request-lost', operation: 'usage' })
    expect(await supplier.report!([esim])).toEqual([{ kind: 'silent', down: true }])
  })

  it('passes its test, and a fault is named with its remedy', async () => {
    expect(await supplier.test()).toBeUndefined()
    expect(await create({ apiKey: 'wrong' }).test()).toMatch(/^Credentials: .*Copy the API key/)
    expect(await create({ url: 'http://127.0.0.1:1/v2.5' }).test()).toMatch(/^Connection: .*Check the url/)
    expect(await create({ url: simulator.url.replace('/v2.5', '/v9') }).test()).toMatch(/^Protocol: .*the version/)
  })
})

it.each(['hex', 'base64'] as const)('an event signed in %s is a hint to query its eSIM', async (encoding) => {
  const { iccid, key } = await buy()
  const send = (body: string, signature: string) =>
    supplier.receive!({ headers: { 'x-signature-sha256': signature }, body: Buffer.from(body) })
  const sign = (body: string) => createHmac('sha256', config.apiKey).update(body).digest(encoding)
  const body = JSON.stringify({ iccid, alertType: 'Utilisation', bundle: {} })
  expect(await send(body, sign(body))).toEqual({ kind: 'changed', keys: [key] })
  const unknown = JSON.stringify({ iccid: '8948000000000000000' })
  expect(await send(unknown, sign(unknown))).toEqual({ kind: 'changed', keys: [] })
  expect(await send(`${body} `, sign(body))).toMatchObject({ kind: 'refused' })
  expect(await send(body, '')).toMatchObject({ kind: 'refused' })
})
