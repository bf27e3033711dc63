import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createOutbound, type Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import {
  createSimulator,
  type Form,
  formsOf,
  SIMULATOR_KINDS,
  type Simulator,
  type SimulatorKind,
} from '@dealer-esim/wholesaler-simulators'
import type {
  Charge,
  DeliveredEsim,
  Outcome,
  Supplier,
  SupplierProduct,
  SupplierRequest,
} from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addSupplier, createShop, type Shop } from '../harness/shop.ts'
import { CREATE, chooseProducts, SIMULATED } from './simulator-fixtures.ts'

/*
 * Each wholesaler in each form of its answers: each sale is debited once, at the cost in the catalogue, and its charge is
 * that cost or unknown. The conformance suite has the same forms with faults and workers, but draws few of them in a run.
 */

let database: TestDatabase
let shop: Shop
let outbound: Outbound
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  outbound = createOutbound()
})
afterAll(async () => {
  await outbound.close()
  await shop.close()
  await database.drop()
})

const USUAL = 'usual'
const CASES = SIMULATOR_KINDS.flatMap((kind) =>
  [USUAL, ...formsOf(kind)].map((form) => [kind, form] as [SimulatorKind, Form | typeof USUAL]),
)
/** Different refusals in turn: enough for all codes of a form. */
const REFUSALS = 6

describe.each(CASES)('%s in the form %s', (kind, form) => {
  const name = `${kind}-${form}`.slice(0, 40)
  const buys = SIMULATED[kind].buys ?? 'order'
  let simulator: Simulator
  let supplier: Supplier
  let base: SupplierProduct
  let topUp: SupplierProduct
  /** Others for new eSIMs: eSIM Go sells nothing more of one that is in doubt. */
  let others: SupplierProduct[]
  let keys = 0

  beforeAll(async () => {
    const currencyCode = form === 'currency-prices' ? 'EUR' : 'USD'
    simulator = await createSimulator(kind, { catalogueSize: 30, currencyCode, forms: form === USUAL ? [] : [form] })
    const isLimited = kind === 'esim-access' || kind === 'esim-go'
    const more = { ...(isLimited && { perSecond: 1_000 }), ...(kind === 'airalo' && { currencyCode }) }
    const config = { url: simulator.url, ...simulator.credentials, ...more }
    await addSupplier(shop, name, kind, config)
    supplier = CREATE[kind](name, config as never, { ...shop, outbound })
    const products: SupplierProduct[] = []
    for await (const product of readableProducts(supplier)) products.push(product)
    const chosen = chooseProducts(products)
    base = chosen.base
    topUp = chosen.topUp
    others = products.filter((one) => one.packageType === 'BASE' && !one.isDayPass && one !== base)
  })
  beforeEach(() => simulator.clearFaults())
  afterAll(() => simulator.close())

  const requestOf = (members: Partial<SupplierRequest> = {}): SupplierRequest => {
    const { productCode } = members.topUp ? topUp : base
    return { tenantId: 'T', orderId: systemIds.uuid(), itemNo: 1, key: `KEY-${++keys}`, productCode, ...members }
  }
  const requestOfOther = () => requestOf({ productCode: others.pop()!.productCode })
  const order = async (request: SupplierRequest): Promise<Outcome> =>
    (await (request.topUp ? supplier.topUp!([request as never]) : supplier.order([request])))[0]!
  const query = async (request: SupplierRequest) => (await supplier.query([request], 'RESUME'))[0]!
  /** Queries a purchase in doubt until it is decided. */
  async function untilDecided(request: SupplierRequest, first: Outcome): Promise<Outcome> {
    let outcome = first
    const isOpen = () => outcome.kind === 'unknown' || outcome.kind === 'ordered'
    for (let queries = 0; queries < 20 && isOpen(); queries++) outcome = await query(request)
    return outcome
  }
  const isUnknownOr = (cost: bigint) => (charged: Charge | undefined) =>
    charged === undefined || (charged.amount === cost && charged.currencyCode === base.currencyCode)
  async function buy() {
    const request = requestOf()
    const outcome = await order(request)
    if (outcome.kind !== 'delivered') throw new Error(`it answered ${JSON.stringify(outcome)}`)
    return { ...request, ...outcome.esim, esim: outcome.esim, reference: outcome.reference, shown: true }
  }

  it('sells an eSIM at the cost in the catalogue, and reports that charge or none', async () => {
    const before = simulator.counters().balance
    const { esim, reference, ...request } = await buy()
    expect(before - simulator.counters().balance).toBe(Number(base.cost))
    expect(esim.charged).toSatisfy(isUnknownOr(base.cost))
    expect(esim.smdpAddress).toMatch(/^[a-z0-9.-]+\.example$/)
    expect(esim).toMatchObject(SAID[`${kind} ${form}`]?.(esim) ?? {})
    expect(esim.confirmationCode !== undefined).toBe(form === 'confirmation-codes')
    expect(esim.kycUrl !== undefined).toBe(form === 'identity-pages')
    for (const named of [reference, undefined]) {
      const found = await query({ ...request, reference: named })
      expect(found).toMatchObject({ kind: 'delivered', esim: { iccid: esim.iccid } })
      if (found.kind === 'delivered') expect(found.esim.charged).toSatisfy(isUnknownOr(base.cost))
    }
  })

  it('tops up an eSIM at the cost in the catalogue, and reports that charge or none', async () => {
    const { key, reference, iccid, matchingId } = await buy()
    const { balance, toppedUp } = simulator.counters()
    const request = requestOf({ topUp: { key, reference, iccid, matchingId } })
    const outcome = await untilDecided(request, await order(request))
    expect(outcome.kind).toBe('toppedUp')
    if (outcome.kind === 'toppedUp') expect(outcome.charged).toSatisfy(isUnknownOr(topUp.cost))
    const after = simulator.counters()
    expect([balance - after.balance, after.toppedUp - toppedUp]).toEqual([Number(topUp.cost), 1])
  })

  it('refuses an order if nothing is in stock, but never because of the account or the network', async () => {
    const { taken } = simulator.counters()
    simulator.addFault({ kind: 'out-of-stock', operation: buys })
    for (let refusals = 0; refusals < REFUSALS; refusals++) {
      expect(await order(requestOfOther()), `refusal ${refusals}`).toMatchObject({ kind: 'refused' })
    }
    for (const fault of ['unauthorized', 'rate-limited', 'down'] as const) {
      simulator.clearFaults()
      simulator.addFault({ kind: fault, operation: buys })
      expect(['retry', 'unknown'], fault).toContain((await order(requestOfOther())).kind)
    }
    simulator.clearFaults()
    expect(simulator.counters().taken).toBe(taken)
  })

  it('is refused, and nothing is debited, where an order fails after it was accepted', async ({ skip }) => {
    if (!STATES_FAILURE.has(kind)) skip()
    const before = simulator.counters().balance
    const request = requestOfOther()
    simulator.addFault({ kind: 'delivery-fails', operation: buys, times: 1 })
    expect(await untilDecided(request, await order(request))).toMatchObject({ kind: 'refused' })
    expect(await query(request)).toMatchObject({ kind: 'refused' })
    expect(simulator.counters().balance).toBe(before)
  })

  it('refuses a top-up that the state of the eSIM does not allow', async ({ skip }) => {
    if (kind !== 'esim-access') skip()
    const { key, reference, iccid, matchingId } = await buy()
    simulator.changeEsim({ iccid, status: 'USED_EXPIRED' })
    const { balance } = simulator.counters()
    expect(await order(requestOf({ topUp: { key, reference, iccid, matchingId } }))).toMatchObject({ kind: 'refused' })
    expect(simulator.counters().balance).toBe(balance)
  })

  it('leaves an order in doubt or finds it if the server failed after the purchase, and buys it once', async () => {
    const before = simulator.counters().balance
    const request = requestOf()
    simulator.addFault({ kind: 'server-error-after', operation: buys, times: 1 })
    const first = await order(request)
    expect(['unknown', 'ordered', 'delivered']).toContain(first.kind)
    expect(await untilDecided(request, first)).toMatchObject({ kind: 'delivered' })
    expect(before - simulator.counters().balance).toBe(Number(base.cost))
  })

  it('reports when an eSIM was installed, in any time zone', async ({ skip }) => {
    if (!STATES_INSTALLATION.has(kind) && form !== 'esim-details') skip()
    const esim = await buy()
    const from = Math.floor(Date.now() / 1_000) * 1_000 // some times have no fraction of a second
    simulator.changeEsim({ iccid: esim.iccid, profile: 'INSTALLATION' })
    const until = Date.now()
    const zone = process.env.TZ
    process.env.TZ = 'America/New_York'
    const [reported] = await supplier.report!([esim])
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
    const time = reported!.kind === 'reported' ? reported!.report.installationTime?.getTime() : undefined
    expect(time).toBeGreaterThanOrEqual(from)
    expect(time).toBeLessThanOrEqual(until)
  })

  it('reports an eSIM that has ended, used or not', async () => {
    const [used, unused] = [await buy(), await buy()]
    const usedBytes = Number(base.volume ?? 2_000_000_000n) / 2
    simulator.changeEsim({ iccid: used.iccid, status: 'IN_USE', usedBytes })
    simulator.changeEsim({ iccid: used.iccid, status: 'USED_EXPIRED' })
    simulator.changeEsim({ iccid: unused.iccid, status: 'UNUSED_EXPIRED' })
    const [ended, lapsed] = await supplier.report!([used, unused])
    const isMeasured = form !== 'recycled-usage' && base.volume !== null
    if (isMeasured) expect(ended).toMatchObject({ kind: 'reported', report: { usage: BigInt(usedBytes) } })
    if (form === 'recycled-usage') expect(ended).not.toHaveProperty('report.usage')
    if (!STATES_END.has(kind)) return
    expect(ended).toMatchObject({ report: { esimStatus: 'USED_EXPIRED' } })
    const isKnown = form === 'recycled-usage' ? 'USED_EXPIRED' : 'UNUSED_EXPIRED'
    expect(lapsed).toMatchObject({ report: { esimStatus: isKnown } })
  })
})

/** The others state when an eSIM will end, but not that it has. */
const STATES_END: ReadonlySet<SimulatorKind> = new Set(['airalo', 'esim-access', 'esim-go'])
/** The others state that an order is accepted, and no more of one that fails later. */
const STATES_FAILURE: ReadonlySet<SimulatorKind> = new Set(['airalo', 'mobimatter', 'zendit'])
/** The others do not state it, Zendit only in one form. */
const STATES_INSTALLATION: ReadonlySet<SimulatorKind> = new Set(['esim-access', 'mobimatter'])

/** What the answer to an order says of the eSIM besides its code, in the forms that differ in it. */
const SAID: Record<string, (esim: DeliveredEsim) => Partial<DeliveredEsim>> = {
  'airalo usual': () => ({ apn: 'internet' }),
  'airalo stated-terms': () => ({ msisdn: expect.stringMatching(PHONE_NUMBER) }),
  'airalo system-apns': () => ({ apn: 'android.airalo.example' }),
  'airalo apple-links': () => ({ smdpAddress: 'smdp.airalo.example', matchingId: expect.stringMatching(/^\w{32}$/) }),
  'esim-access usual': () => ({ apn: 'internet' }),
  'esim-access stated-terms': () => ({ msisdn: expect.stringMatching(PHONE_NUMBER) }),
  'mobimatter usual': () => ({ apn: 'internet' }),
  'mobimatter stated-terms': () => ({ msisdn: expect.stringMatching(PHONE_NUMBER) }),
  'mobimatter identity-pages': ({ iccid }) => ({ kycUrl: `https://kyc.mobimatter.example/${iccid}` }),
  'mobimatter one-click-links': () => ({ smdpAddress: 'smdp.mobimatter.example' }),
  'zendit esim-details': () => ({ apn: 'zendit.example', msisdn: expect.stringMatching(PHONE_NUMBER) }),
}
const PHONE_NUMBER = /^\+44\d{10}$/
