import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemIds } from '../../../src/lib/ids.ts'
import { createOutbound } from '../../../src/lib/outbound/outbound.ts'
import { esimAccessSupplier } from '../../../src/suppliers/esim-access/esim-access.ts'
import type {
  Outcome,
  SuppliedEsim,
  Supplier,
  SupplierProduct,
  SupplierRequest,
} from '../../../src/suppliers/supplier.ts'
import { createTestDatabase, type TestDatabase } from '../../harness/databases/database.ts'
import { createShop, type Shop } from '../../harness/shop.ts'

/* The supplier at its wholesaler's simulator, where purchases are counted. */

let database: TestDatabase
let shop: Shop
let simulator: Simulator
let supplier: Supplier
const outbound = createOutbound()
const products: SupplierProduct[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  simulator = await createSimulator('esim-access', { catalogueSize: 5 })
  const { accessCode = '', secretKey = '' } = simulator.credentials
  const eventAddresses = ['192.0.2.0/24']
  const config = { url: simulator.url, accessCode, secretKey, perSecond: 1_000, timeoutMs: 5_000, eventAddresses }
  supplier = esimAccessSupplier('wholesaler', config, { ...shop, outbound })
  for await (const product of supplier.catalogue!()) products.push(product)
})
afterAll(async () => {
  await simulator.close()
  await outbound.close()
  await shop.close()
  await database.drop()
})
beforeEach(() => simulator.clearFaults())

let keys = 0
const base = () => products.find(({ packageType, isDayPass }) => packageType === 'BASE' && !isDayPass)!
const added = () => products.find(({ packageType, isDayPass }) => packageType === 'TOPUP' && !isDayPass)!

function requestOf(changes: Partial<SupplierRequest> = {}): SupplierRequest {
  keys += 1
  const { productCode } = base()
  return { tenantId: 'T', orderId: systemIds.uuid(), itemNo: 1, key: `KEY-${keys}`, productCode, ...changes }
}

async function buy(request = requestOf()): Promise<SuppliedEsim> {
  const [outcome] = await supplier.order([request])
  if (outcome?.kind !== 'delivered') throw new Error(`it answered ${JSON.stringify(outcome)}`)
  const { iccid, matchingId } = outcome.esim
  return { ...request, reference: outcome.reference, iccid, matchingId, shown: true }
}

const topUpOf = ({ key, reference, iccid, matchingId }: SuppliedEsim) => ({
  ...requestOf({ productCode: added().productCode }),
  topUp: { key, reference, iccid, matchingId },
})

const takenOf = ({ key }: { key: string }) => simulator.counters().takenByKey[key] ?? 0

describe('an order', () => {
  it('that is delivered later is ordered, queried by its reference, and never refused', async () => {
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1 })
    const request = requestOf()
    const [outcome] = await supplier.order([request])
    expect(outcome).toMatchObject({ kind: 'ordered', reference: expect.any(String) })
    const { reference } = outcome as Extract<Outcome, { kind: 'ordered' }>
    for (const purpose of ['RESUME', 'CHECK'] as const) {
      expect((await supplier.query([{ ...request, reference }], purpose))[0]!.kind).toBe('ordered')
    }
    simulator.deliver(reference)
    expect((await supplier.query([{ ...request, reference }], 'RESUME'))[0]).toMatchObject({
      kind: 'delivered',
      reference,
    })
    expect(takenOf(request)).toBe(1)
  })

  it('whose answer was lost stays in doubt beside a pending one of the same minute, and is found after it', async () => {
    simulator.addFault({ kind: 'answer-lost', operation: 'order', times: 1 })
    const lost = requestOf()
    expect((await supplier.order([lost]))[0]!.kind).toBe('unknown')
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1 })
    const [pending] = await supplier.order([requestOf()])
    expect((await supplier.query([lost], 'CHECK'))[0]!.kind).toBe('unknown')
    simulator.deliver((pending as Extract<Outcome, { kind: 'ordered' }>).reference)
    expect((await supplier.query([lost], 'CHECK'))[0]!.kind).toBe('delivered')
    expect(takenOf(lost)).toBe(1)
  })

  it('is repeated with the same key without a second purchase', async () => {
    const request = requestOf()
    await buy(request)
    expect((await supplier.order([request]))[0]!.kind).toBe('delivered')
    expect(takenOf(request)).toBe(1)
  })

  it('of a day pass buys its days, and its charge is that of all days', async () => {
    const pass = products.find(({ packageType, isDayPass }) => packageType === 'BASE' && isDayPass)!
    const guard = { cost: pass.cost, salePrice: pass.cost, currencyCode: 'USD' }
    const before = simulator.counters().debited
    const [outcome] = await supplier.order([requestOf({ productCode: pass.productCode, periodNum: 3, guard })])
    expect(outcome).toMatchObject({ esim: { charged: { amount: 3n * pass.cost, currencyCode: 'USD' } } })
    expect(simulator.counters().debited - before).toBe(Number(3n * pass.cost))
  })

  it('is bought at another price up to the sale price, and refused above it', async () => {
    const { cost } = base()
    const cheaper = requestOf({ guard: { cost: cost - 1n, salePrice: cost, currencyCode: 'USD' } })
    expect((await supplier.order([cheaper]))[0]).toMatchObject({
      kind: 'delivered',
      esim: { charged: { amount: cost } },
    })
    const dearer = requestOf({ guard: { cost: cost - 2n, salePrice: cost - 1n, currencyCode: 'USD' } })
    expect((await supplier.order([dearer]))[0]).toMatchObject({ kind: 'refused', price: { amount: cost } })
    expect([takenOf(cheaper), takenOf(dearer)]).toEqual([1, 0])
  })
})

describe('a top-up', () => {
  it.each(['answer-lost', 'server-error-after', 'answer-garbled', 'answer-cut'] as const)(
    'with the fault %s is in doubt, then found, and added once',
    async (kind) => {
      const request = topUpOf(await buy())
      simulator.addFault({ kind, operation: 'topUp', times: 1 })
      expect((await supplier.topUp!([request]))[0]!.kind).toBe('unknown')
      expect((await supplier.query([request], 'RESUME'))[0]!.kind).toBe('toppedUp')
      expect((await supplier.topUp!([request]))[0]!.kind).toBe('toppedUp')
      expect(simulator.counters().toppedUpByKey[request.key]).toBe(1)
    },
  )

  it('that was never executed is reported as not bought', async () => {
    const request = topUpOf(await buy())
    simulator.addFault({ kind: 'request-lost', operation: 'topUp', times: 1 })
    expect((await supplier.topUp!([request]))[0]!.kind).toBe('unknown')
    expect((await supplier.query([request], 'RESUME'))[0]!.kind).toBe('retry')
    expect(simulator.counters().toppedUpByKey[request.key]).toBeUndefined()
  })

  it('is refused for a cancelled eSIM, even if its ICCID was sold again', async () => {
    const esim = await buy()
    expect(await supplier.cancel(esim)).toEqual({ kind: 'cancelled' })
    const other = await buy()
    expect(other.iccid).toBe(esim.iccid)
    const request = topUpOf(esim)
    expect((await supplier.topUp!([request]))[0]!.kind).toBe('refused')
    expect(simulator.counters().toppedUpByKey[request.key]).toBeUndefined()
  })
})

describe('an action', () => {
  it('whose answer was lost is done when it is repeated', async () => {
    const esim = await buy()
    simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', profile: 'ENABLED' })
    for (const action of ['suspend', 'unsuspend', 'revoke'] as const) {
      simulator.addFault({ kind: 'answer-lost', operation: action, times: 1 })
      expect((await supplier[action]!(esim, 'A'))!.kind).toBe('unknown')
      expect(await supplier[action]!(esim, 'A')).toEqual({ kind: 'done' })
    }
  })

  it('cancels an eSIM once and never another one with its ICCID', async () => {
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

it('a report has usage and status, and the list names every eSIM with its key', async () => {
  const esim = await buy()
  simulator.changeEsim({ iccid: esim.iccid, status: 'IN_USE', profile: 'ENABLED', usedBytes: 12_345 })
  const [outcome] = await supplier.report!([esim])
  expect(outcome).toMatchObject({ report: { esimStatus: 'IN_USE', smdpStatus: 'ENABLED', usage: 12_345n } })
  const listed: string[] = []
  for await (const { key } of supplier.list!(new Date(Date.now() - 3_600_000))) listed.push(key)
  expect(listed).toContain(esim.key)
})

it('an event only names the eSIM to query, and one from another address is refused', async () => {
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

it('the test names the problem and what to do about it', async () => {
  expect(await supplier.test()).toBeUndefined()
  simulator.addFault({ kind: 'unauthorized' })
  expect(await supplier.test()).toMatch(/^Credentials: 401001.*Check accessCode/)
  const nowhere = { url: 'http://127.0.0.1:1', accessCode: 'A', secretKey: 'S' }
  expect(await esimAccessSupplier('nowhere', nowhere, { ...shop, outbound }).test()).toMatch(/^Connection: .*Check url/)
})
