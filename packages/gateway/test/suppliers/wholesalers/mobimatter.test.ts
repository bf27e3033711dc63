import { createServer } from 'node:http'
import { createSimulator, type FaultKind, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOutbound } from '../../../src/lib/outbound/outbound.ts'
import type { MobimatterConfig } from '../../../src/suppliers/mobimatter/client.ts'
import { mobimatterSupplier } from '../../../src/suppliers/mobimatter/mobimatter.ts'
import type { Outcome, Supplier, SupplierProduct, SupplierRequest } from '../../../src/suppliers/supplier.ts'
import { createTestDatabase, type TestDatabase } from '../../harness/databases/database.ts'
import { addSupplier, createShop, type Shop, waitUntil } from '../../harness/shop.ts'

/* The supplier at its wholesaler's simulator, where purchases are counted. */

const TIMEOUT_MS = 400
let database: TestDatabase
let shop: Shop
let simulator: Simulator
let config: MobimatterConfig
let supplier: Supplier
const outbound = createOutbound()
const products: SupplierProduct[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  simulator = await createSimulator('mobimatter', { catalogueSize: 5 })
  const { apiKey = '', merchantId = '', webhookPublicKey = '' } = simulator.credentials
  config = { url: simulator.url, apiKey, merchantId, webhookPublicKey, timeoutMs: TIMEOUT_MS }
  await addSupplier(shop, 'wholesaler', 'mobimatter', config)
  supplier = create()
  for await (const product of supplier.catalogue!()) products.push(product)
})
afterAll(async () => {
  await simulator.close()
  await outbound.close()
  await shop.close()
  await database.drop()
})
beforeEach(() => simulator.clearFaults())

function create(changes: Partial<MobimatterConfig> = {}): Supplier {
  return mobimatterSupplier('wholesaler', { ...config, ...changes }, { ...shop, outbound })
}

/** At a simulator of its own. */
async function openAccount(name: string): Promise<Account> {
  const own = await createSimulator('mobimatter', { catalogueSize: 5 })
  const { apiKey = '', merchantId = '' } = own.credentials
  const ownConfig = { ...config, url: own.url, apiKey, merchantId }
  await addSupplier(shop, name, 'mobimatter', ownConfig)
  return { simulator: own, supplier: mobimatterSupplier(name, ownConfig, { ...shop, outbound }) }
}

let serial = 0
function requestOf(changes: Partial<SupplierRequest> = {}): SupplierRequest {
  serial += 1
  const { productCode } = products.find(({ packageType }) => packageType === 'BASE')!
  return { tenantId: 'T', orderId: `ORDER-${serial}`, itemNo: 1, key: `ORDER-${serial}-1`, productCode, ...changes }
}

interface Account {
  simulator: Simulator
  supplier: Supplier
}

/** What tests do with an account. */
function createActions(account: () => Account) {
  async function order(request: SupplierRequest, by = account().supplier): Promise<Outcome> {
    const [outcome] = await (request.topUp ? by.topUp!([request as never]) : by.order([request]))
    return outcome!
  }

  async function query(request: SupplierRequest, purpose: 'RESUME' | 'CHECK' = 'RESUME'): Promise<Outcome> {
    const [outcome] = await account().supplier.query([request], purpose)
    return outcome!
  }

  /** As fulfilment does it: what is unknown is queried, what was not bought is ordered again. */
  async function untilDecided(request: SupplierRequest): Promise<Outcome> {
    let outcome = await order(request)
    for (let step = 0; step < 10; step++) {
      if (outcome.kind === 'unknown' || outcome.kind === 'ordered') outcome = await query(request)
      else if (outcome.kind === 'retry') outcome = await order(request)
      else return outcome
    }
    throw new Error(`it is not decided: ${JSON.stringify(outcome)}`)
  }

  /** On a busy machine a query may find no answer in time. */
  function untilAnswered(request: SupplierRequest, purpose?: 'CHECK'): Promise<Outcome> {
    return waitUntil(async () => {
      const outcome = await query(request, purpose)
      return outcome.kind !== 'unknown' && outcome
    })
  }

  async function buy() {
    const request = requestOf()
    const outcome = await order(request)
    if (outcome.kind !== 'delivered') throw new Error(JSON.stringify(outcome))
    const { iccid, matchingId } = outcome.esim
    return { ...request, reference: outcome.reference, iccid, matchingId, shown: true }
  }

  function lose(operation: string, kind: FaultKind | undefined): void {
    if (kind !== undefined) account().simulator.addFault({ kind, operation, times: 1, delayMs: 2 * TIMEOUT_MS })
  }

  /** Waits until what was sent late has taken effect. */
  async function untilLateRequestsEnd(): Promise<void> {
    const requests = () => account().simulator.requests()
    await waitUntil(async () => requests().every(({ faults, status }) => !faults.includes('slow-request') || status))
  }

  const takenOf = ({ key }: { key: string }) => account().simulator.counters().takenByKey[key] ?? 0
  return { order, query, untilDecided, untilAnswered, buy, lose, untilLateRequestsEnd, takenOf }
}

const { order, query, untilDecided, buy, takenOf } = createActions(() => ({ simulator, supplier }))

type Bought = Awaited<ReturnType<typeof buy>>

function topUpOf({ key, reference, iccid, matchingId }: Bought) {
  const { productCode } = products.find(({ packageType }) => packageType === 'TOPUP')!
  return requestOf({ productCode, topUp: { key, reference, iccid, matchingId } })
}

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

/* Concurrently, each with an account of its own, because late requests and answers take most of the time. */
describe.each(LOSSES)('with the fault %s of the first step', { concurrent: true }, (created) => {
  let account: Account
  const actions = createActions(() => account)
  const { order, untilDecided, untilAnswered, buy, lose, untilLateRequestsEnd, takenOf } = actions
  beforeAll(async () => {
    account = await openAccount(`first-step-${created}`)
  })
  afterAll(() => account.simulator.close())
  beforeEach(() => account.simulator.clearFaults())

  it.sequential.each(LOSSES)('the two steps buy one eSIM if the second has the fault %s', async (completed) => {
    lose('order', created)
    lose('complete', completed)
    const request = requestOf()
    expect(await untilDecided(request)).toMatchObject({ kind: 'delivered' })
    await untilLateRequestsEnd()
    expect(takenOf(request)).toBe(1)
    expect(await untilAnswered(request)).toMatchObject({ kind: 'delivered' })
  })

  // The second step is not sent without an answer to the first one: an order that is tried once has one fault.
  const SECONDS = created === undefined ? LOSSES : [undefined]

  it.sequential.each(SECONDS)(
    'the two steps buy nothing more after a check if the second has the fault %s',
    async (completed) => {
      lose('order', created)
      lose('complete', completed)
      const request = requestOf()
      const outcome = await order(request)
      const checked = await untilAnswered(request, 'CHECK')
      expect(checked.kind).toBe(takenOf(request) === 1 ? 'delivered' : 'retry')
      if (outcome.kind === 'delivered') expect(checked.kind).toBe('delivered')
      const before = takenOf(request)
      await untilLateRequestsEnd()
      expect(takenOf(request)).toBe(before)
      expect(await untilAnswered(request, 'CHECK')).toMatchObject({ kind: checked.kind })
    },
  )

  it.sequential.each(SECONDS)('a top-up is added once if the second has the fault %s', async (completed) => {
    const request = topUpOf(await buy())
    lose('topUp', created)
    lose('complete', completed)
    expect(await untilDecided(request)).toMatchObject({ kind: 'toppedUp', charged: { currencyCode: 'USD' } })
    await untilLateRequestsEnd()
    expect(account.simulator.counters().toppedUpByKey[request.key]).toBe(1)
  })
})

describe('the two steps', () => {
  it('of two workers with one key buy one eSIM', async () => {
    const request = requestOf()
    const other = create()
    await Promise.all([order(request), order(request, other), order(request), order(request, other)])
    expect(await untilDecided(request)).toMatchObject({ kind: 'delivered' })
    expect(takenOf(request)).toBe(1)
  })

  it('begin again after a hold that has lapsed', async () => {
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
  it('is delivered with its charge, exactly, and its number as reference', async () => {
    const before = simulator.counters().debited
    const outcome = await order(requestOf())
    const amount = BigInt(simulator.counters().debited - before)
    expect(outcome).toMatchObject({ esim: { charged: { amount, currencyCode: 'USD' } } })
    const { reference } = outcome as Extract<Outcome, { kind: 'delivered' }>
    expect(simulator.orders().at(-1)).toMatchObject({ reference, state: 'delivered' })
  })

  it('that is Processing is ordered until it is delivered', async () => {
    simulator.addFault({ kind: 'delivered-later', operation: 'complete', times: 1 })
    const request = requestOf()
    const outcome = await order(request)
    expect(outcome).toMatchObject({ kind: 'ordered', reference: expect.any(String), charged: { currencyCode: 'USD' } })
    for (const purpose of ['RESUME', 'CHECK'] as const) expect((await query(request, purpose)).kind).toBe('ordered')
    simulator.deliver((outcome as Extract<Outcome, { kind: 'ordered' }>).reference)
    expect(await query(request)).toMatchObject({ kind: 'delivered' })
    expect(takenOf(request)).toBe(1)
  })

  it.each(['order', 'complete'])('that is refused in its step %s leaves no money held', async (operation) => {
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
  it('finds the first order of its eSIM without a reference, and is refused without such an order', async () => {
    const esim = await buy()
    expect(await order(topUpOf({ ...esim, reference: undefined }))).toMatchObject({ kind: 'toppedUp' })
    const unknown = topUpOf({ ...esim, reference: undefined, key: 'ANOTHER' })
    expect(await order(unknown)).toMatchObject({ kind: 'refused' })
    expect(simulator.counters().toppedUpByKey[unknown.key]).toBeUndefined()
  })
})

describe('an event', () => {
  const event = async (body: string, headers: Record<string, string>) =>
    supplier.receive!({ headers, body: Buffer.from(body) })

  it('is a hint to query the order that it names, if it is signed', async () => {
    const received: { body: string; headers: Record<string, string> }[] = []
    const receiver = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      received.push({ body, headers: request.headers as Record<string, string> })
      response.end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as { port: number }
    simulator.setEventsUrl(`http://127.0.0.1:${port}/`)
    try {
      const { key } = await buy()
      await expect.poll(() => received.length).toBe(1)
      const { body, headers } = received[0]!
      expect(await event(body, headers)).toEqual({ kind: 'changed', keys: [key] })
      expect(await event(body.replace('COMPLETED', 'FAILED'), headers)).toMatchObject({ kind: 'refused' })
      expect(await event(body, { host: 'example.com' })).toMatchObject({ kind: 'refused' })
      const { webhookPublicKey: _, ...others } = config
      const keyless = mobimatterSupplier('wholesaler', others, { ...shop, outbound })
      expect(await keyless.receive!({ headers, body: Buffer.from(body) })).toMatchObject({ kind: 'refused' })
    } finally {
      simulator.setEventsUrl(null)
      receiver.closeAllConnections()
      receiver.close()
    }
  })
})

describe('the account', () => {
  it('has a catalogue of packages for eSIMs and for top-ups', () => {
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

  it('has no catalogue if the answer is broken', async () => {
    simulator.addFault({ kind: 'answer-garbled', operation: 'catalogue' })
    const read = async () => {
      for await (const _ of supplier.catalogue!()) {
        // only read
      }
    }
    await expect(read()).rejects.toThrow(/the catalogue cannot be read/)
  })

  it('has its balance in 1/10 000', async () => {
    simulator.setBalance(12_345_600)
    expect(await supplier.balance!()).toEqual({ kind: 'balance', amount: 12_345_600n, currencyCode: 'USD' })
    simulator.addFault({ kind: 'request-lost', operation: 'balance' })
    expect(await supplier.balance!()).toMatchObject({ kind: 'silent', down: true })
    simulator.setBalance(100_000_000)
  })

  it('passes its test, and a fault is named with its remedy', async () => {
    expect(await supplier.test()).toBeUndefined()
    expect(await create({ apiKey: 'wrong' }).test()).toMatch(/^Credentials: .*Copy apiKey and merchantId/)
    expect(await create({ url: 'http://127.0.0.1:1' }).test()).toMatch(/^Connection: .*Check the url/)
    expect(await create({ url: `${simulator.url}/api/v2` }).test()).toMatch(/^Protocol: .*without \/api\/v2/)
  })
})
