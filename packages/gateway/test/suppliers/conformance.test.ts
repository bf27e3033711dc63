import { makeIccid } from '@dealer-esim/contract'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import { type Form, formsOf, SIMULATOR_KINDS, type SimulatorKind } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { createGate } from '#suppliers/supplier-gate.ts'
import type { ConfiguredSupplier, Suppliers } from '#suppliers/supplier-registry.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, createShop, type Shop } from '../harness/shop.ts'
import { createSimulatorFixtures } from '../wholesalers/simulator-fixtures.ts'
import {
  type CaseResult,
  COUNT,
  type Conformance,
  countAgain,
  expectRecordsToAgree,
  findRefunded,
  ORDERS,
  runCase,
  runToReview,
  runTwice,
  WAIT_MAX_MS,
  withPatience,
} from './conformance-cases.ts'
import {
  countTopUps,
  expectTopUpsToAgree,
  repeatTopUps,
  runPendingTopUps,
  runTopUps,
  runTopUpsToReview,
  TOP_UPS,
  type TopUpResult,
  topUpPackageOf,
} from './conformance-topups.ts'
import {
  createEs2plusFixtures,
  createGatewayFixtures,
  createSandboxFixtures,
  createStockFixtures,
  type FixtureFactory,
  type SupplierFixture,
} from './supplier-fixtures.ts'

/*
 * Every type of supplier passes the same suite, and wholesalers also pass it with answer forms that are drawn for each run.
 * For manual runs, `CONFORMANCE=all` tests each simulator in each of its forms, and `CONFORMANCE=airalo` or
 * `CONFORMANCE=keyed` tests only those with this in their name. Most of the time is spent waiting for time-outs and
 * deadlines. So every case has its own supplier, dealer and breaker, many cases run concurrently, and each test awaits its
 * case.
 */
const NAMED = process.env.CONFORMANCE
/** This many simulators use a different answer form in each run. */
const FORMS_DRAWN = 2

const TYPES: [name: string, create: (shop: Shop) => Promise<FixtureFactory>][] = [
  ...(NAMED === undefined || NAMED === 'all' ? usualTypes() : []),
  ...drawForms().map(([kind, form]): (typeof TYPES)[number] => [
    `${kind} in the form ${form}`,
    (shop) => createSimulatorFixtures(shop, kind, [form]),
  ]),
]

const CASES = ['none', 'refuse', 'half', 'late', 'lost', 'dies', 'twice', 'refunded'] as const
type Case = (typeof CASES)[number]

/** The cases for top-ups. `none` also includes answers that arrive twice. */
const TOP_UP_CASES = ['none', 'refuse', 'late', 'lost', 'dies', 'pending', 'refunded'] as const
type TopUpCase = (typeof TOP_UP_CASES)[number]

const ALL = ORDERS * COUNT
/** A supplier that buys eSIMs one by one gets only a single order in these cases. */
const IN_DOUBT: ReadonlySet<Case> = new Set(['late', 'lost', 'dies'])
/** Only the late case has a short time-out: a busy machine must not make the others late. */
const TIMEOUTS_MS: Partial<Record<Case | TopUpCase, number>> = {
  late: 2_000,
  lost: 5_000,
  dies: 5_000,
  refunded: 5_000,
}
const TIMEOUT_MS = 30_000
/** With more on a busy machine, they would wait for each other's connections. */
const CASES_AT_ONCE_MAX = 40
const TYPES_PREPARED_AT_ONCE_MAX = 8
const CONNECTIONS_MIN = 20
/** Cases wait for their turn. */
const ROUNDS = Math.ceil(TYPES.length / 12)
const TEST_OPTIONS = { timeout: (WAIT_MAX_MS + 60_000) * ROUNDS }

/** Each type with the usual form of its answers. */
function usualTypes(): typeof TYPES {
  return [
    ['sandbox', createSandboxFixtures],
    ['stock', createStockFixtures],
    ['es2plus with ICCIDs of ours', (shop) => createEs2plusFixtures(shop, true)],
    ['es2plus with ICCIDs of the SM-DP+', (shop) => createEs2plusFixtures(shop, false)],
    ['gateway', createGatewayFixtures],
    ...SIMULATOR_KINDS.map((kind): (typeof TYPES)[number] => [kind, (shop) => createSimulatorFixtures(shop, kind)]),
  ]
}

/** Simulators and their answer forms: drawn with a printed seed, or given in CONFORMANCE. */
function drawForms(): [SimulatorKind, Form][] {
  const all = SIMULATOR_KINDS.flatMap((kind) => formsOf(kind).map((form): [SimulatorKind, Form] => [kind, form]))
  if (NAMED !== undefined) return all.filter((one) => NAMED === 'all' || one.join(' ').includes(NAMED))
  const seed = Number(process.env.CONFORMANCE_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const drawn = Array.from({ length: FORMS_DRAWN }, (_, index) => all[(seed + index * 17) % all.length]!)
  console.info(`CONFORMANCE_SEED=${seed}: ${drawn.map((one) => one.join(' in the form ')).join(', ')}`)
  return drawn
}

let database: TestDatabase
let shop: Shop
let conformance: Conformance
let loop: Loop
const factories: FixtureFactory[] = []
const fixtures = new Map<string, SupplierFixture>()
const byName = new Map<string, ConfiguredSupplier>()
const results = new Map<string, Promise<CaseResult>>()
const topUpResults = new Map<string, Promise<TopUpResult>>()

beforeAll(async () => {
  database = await createTestDatabase()
  const own = await createShop(database.url, 'local', Math.max(CONNECTIONS_MIN, Math.ceil(TYPES.length / 2)))
  shop = { ...own, db: withPatience(own.db) }
  factories.push(...(await Promise.all(TYPES.map(([, create]) => create(shop)))))
  const atOnce = createSlots(TYPES_PREPARED_AT_ONCE_MAX)
  await Promise.all(factories.map((factory, index) => atOnce(() => addFixtures(factory, index))))
  const suppliers: Suppliers = {
    get: (name) => byName.get(name),
    all: () => [...byName.values()],
    refresh: async () => {},
  }
  conformance = { shop: { ...shop, suppliers: suppliers as Shop['suppliers'] }, fixtures }
  loop = fulfilmentLoop(conformance.shop)
  startCases()
  findAllRefunded()
  for (const one of [...results.values(), ...topUpResults.values()]) one.catch(() => {}) // its own test reports the error
}, 120_000 * ROUNDS)

const keyOf = (index: number, name: Case) => `${index}-${name}`
const topUpKeyOf = (index: number, name: TopUpCase) => `${index}-topup-${name}`

/** A supplier for each case of a type. */
async function addFixtures(factory: FixtureFactory, index: number): Promise<void> {
  for (const name of CASES) await addFixture(factory, keyOf(index, name), TIMEOUTS_MS[name])
  for (const name of TOP_UP_CASES) {
    const { topUpProduct } = await addFixture(factory, topUpKeyOf(index, name), TIMEOUTS_MS[name])
    if (topUpProduct === undefined) break // the only case of a type that cannot top up
  }
}

/** A supplier and its packages. */
async function addFixture(factory: FixtureFactory, key: string, timeoutMs = TIMEOUT_MS): Promise<SupplierFixture> {
  const fixture = await factory.create(key, timeoutMs)
  const { supplier, product, topUpProduct = product } = fixture
  fixtures.set(key, fixture)
  byName.set(key, { supplier, gate: createGate(supplier.traits, shop.clock), paused: false })
  await addPackage(shop.db, key, [{ supplier: key, productCode: product }])
  await addPackage(shop.db, topUpPackageOf(key), [{ supplier: key, productCode: topUpProduct }])
  return fixture
}

/** Starts the cases, the longest ones first. */
function startCases(): void {
  const atOnce = createSlots(CASES_AT_ONCE_MAX)
  for (const name of [...CASES].reverse()) {
    for (const index of TYPES.keys()) {
      const key = keyOf(index, name)
      results.set(
        key,
        atOnce(() => runOne(key, name)),
      )
    }
  }
  for (const name of [...TOP_UP_CASES].reverse()) {
    for (const index of TYPES.keys()) {
      const key = topUpKeyOf(index, name)
      if (!fixtures.has(key)) continue
      topUpResults.set(
        key,
        atOnce(() => runTopUpCase(key, name)),
      )
    }
  }
}

function runTopUpCase(key: string, name: TopUpCase): Promise<TopUpResult> {
  if (name === 'refunded') return runTopUpsToReview(conformance, key)
  return name === 'pending' ? runPendingTopUps(conformance, key) : runTopUps(conformance, key, name)
}

function runOne(key: string, name: Case): Promise<CaseResult> {
  if (name === 'refunded') return runToReview(conformance, key)
  if (name === 'twice') return runTwice(conformance, key)
  const isOne = fixtures.get(key)!.isSerial === true && IN_DOUBT.has(name)
  return runCase(conformance, key, name, { orders: isOne ? 1 : ORDERS, count: COUNT })
}

/** Runs at most `slots` at the same time, in order. */
function createSlots(slots: number) {
  let free = slots
  const waiting: (() => void)[] = []
  return async <Result>(run: () => Promise<Result>): Promise<Result> => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await run()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

/** Lets one pass of reconciliation find all refunded items, once every case has refunded its own. */
function findAllRefunded(): void {
  const isRefunded = ([key]: [string, unknown]) => key.endsWith('-refunded')
  const [cases, topUps] = [[...results].filter(isRefunded), [...topUpResults].filter(isRefunded)]
  const found = Promise.allSettled([...cases, ...topUps].map(([, running]) => running)).then(() =>
    findRefunded(conformance.shop, refundedSuppliers()),
  )
  for (const [key, running] of cases) {
    results.set(
      key,
      Promise.all([running, found]).then(([one]) => countAgain(shop, one)),
    )
  }
  for (const [key, running] of topUps) {
    const counted = Promise.all([running, found]).then(([one]) => countTopUps(shop, one.fixture, one.tenantId))
    topUpResults.set(key, counted)
  }
}

/** Those that can answer a query about a lost purchase. */
function refundedSuppliers(): string[] {
  return [...fixtures].flatMap(([key, { canAnswerQueries }]) =>
    key.endsWith('-refunded') && canAnswerQueries ? [key] : [],
  )
}

afterAll(async () => {
  await loop?.stop(10_000)
  await Promise.all([...fixtures.values()].map((fixture) => fixture.close()))
  await Promise.all(factories.map((factory) => factory.close()))
  await shop.close()
  await database.drop()
})

describe.each(TYPES.map(([name], index) => ({ name, index })))('$name', TEST_OPTIONS, ({ index }) => {
  async function outcome(name: Case): Promise<CaseResult> {
    const one = await results.get(keyOf(index, name))!
    await expectRecordsToAgree(shop, one)
    return one
  }

  it('delivers every eSIM', async () => {
    const { statusCounts, delivered, sold } = await outcome('none')
    expect(statusCounts).toEqual({ DELIVERED: ORDERS })
    expect(delivered).toHaveLength(ALL)
    expect(sold).toHaveLength(ALL)
  })

  it('sells nothing when it refuses, and everything is refunded', async () => {
    const { statusCounts, refused, sold } = await outcome('refuse')
    expect(statusCounts).toEqual({ FAILED: ORDERS })
    expect(refused).toBe(ALL)
    expect(sold).toEqual([])
  })

  it('may deliver half of an order and refuse the rest', async () => {
    const { delivered, refused, sold } = await outcome('half')
    expect(delivered).toHaveLength(ALL / 2)
    expect(sold).toHaveLength(ALL / 2)
    expect(refused).toBe(ALL / 2)
  })

  it('may answer after our time-out without a second purchase or a refund', async () => {
    const { fixture, all, delivered, review, refused, sold } = await outcome('late')
    expect(refused).toBe(0)
    expect(sold).toHaveLength(all)
    expect(delivered.length + review).toBe(all)
    if (fixture.canAnswerQueries) expect(delivered).toHaveLength(all)
  })

  it('may lose its answer after a purchase: an eSIM found by a query is delivered, otherwise the item is reviewed', async () => {
    const { fixture, all, delivered, review, refused, sold } = await outcome('lost')
    expect(refused).toBe(0)
    expect(sold).toHaveLength(all)
    expect(fixture.canAnswerQueries ? delivered.length : review).toBe(all)
  })

  it('may crash halfway: eSIMs already bought are delivered, and the rest are bought once', async () => {
    const { fixture, all, delivered, review, refused, sold } = await outcome('dies')
    expect(refused).toBe(0)
    expect(fixture.canAnswerQueries ? delivered.length : review).toBe(all)
    expect(sold).toHaveLength(fixture.canAnswerQueries ? all : all / 2)
  })

  it('may answer twice: the second answer changes nothing', async () => {
    const { statusCounts, delivered, orphans, sold } = await outcome('twice')
    expect(statusCounts).toEqual({ DELIVERED: 1 })
    expect([delivered.length, orphans.length, sold.length]).toEqual([1, 0, 1])
  })

  it('does not cancel another eSIM sold under the same key', async () => {
    const { fixture, tenantId, delivered, sold } = await outcome('twice')
    const [order] = await shop.db.query<{ orderId: string }>({
      text: 'select order_id from orders where tenant_id = $1',
      values: [tenantId],
    })
    const item = { tenantId, orderId: order!.orderId, itemNo: 1, productCode: fixture.product }
    const named = { iccid: makeIccid('8985444', index), matchingId: 'ANOTHER', shown: false }
    expect(delivered).not.toContain(named.iccid)
    const { kind } = await fixture.supplier.cancel({ ...item, key: itemKeyOf(item.orderId, 1), ...named })
    expect(kind).not.toBe('cancelled')
    expect(await fixture.listSold()).toEqual(sold)
  })

  it('may deliver after our refund: the eSIM becomes an orphan and is cancelled where possible', async () => {
    const { fixture, statusCounts, delivered, refused, orphans, sold, soldAtEnd } = await results.get(
      keyOf(index, 'refunded'),
    )!
    expect(statusCounts).toEqual({ FAILED: 1 })
    expect([delivered.length, refused, sold.length]).toEqual([0, 1, 1])
    // Without its ICCID, the eSIM cannot be found again: the supplier's statement was wrong, and only the supplier can
    // notice.
    if (!fixture.canAnswerQueries) return expect(orphans).toEqual([])
    await outcome('refunded')
    expect(orphans).toEqual(sold)
    expect(soldAtEnd).toHaveLength(fixture.canCancel ? 0 : 1)
  })

  async function topUps(name: TopUpCase): Promise<TopUpResult> {
    const one = await topUpResults.get(topUpKeyOf(index, name))!
    await expectTopUpsToAgree(shop, one)
    return one
  }
  const canTopUp = () => fixtures.get(topUpKeyOf(index, 'none'))!.topUpProduct !== undefined

  it('delivers every top-up, or refuses each one clearly if it cannot top up', async () => {
    const { statusCounts, added, reasons, fixture } = await topUps('none')
    expect(typeof fixture.supplier.topUp).toBe(canTopUp() ? 'function' : 'undefined')
    expect(statusCounts).toEqual({ [canTopUp() ? 'DELIVERED' : 'FAILED']: TOP_UPS })
    expect(added).toBe(canTopUp() ? TOP_UPS : 0)
    expect(reasons).toEqual(canTopUp() ? [] : ['the supplier cannot top up an eSIM'])
    expect(await fixture.listSold()).toHaveLength(TOP_UPS)
  })

  it('may answer a top-up twice: the second answer changes nothing', async ({ skip }) => {
    if (!canTopUp()) skip()
    const first = await topUps('none')
    const again = await repeatTopUps(conformance.shop, first)
    expect(again).toEqual(first)
  })

  it('tops up nothing when it refuses, and every top-up is refunded', async ({ skip }) => {
    if (!canTopUp()) skip()
    const { statusCounts, added, refused } = await topUps('refuse')
    expect(statusCounts).toEqual({ FAILED: TOP_UPS })
    expect([added, refused]).toEqual([0, TOP_UPS])
  })

  const LOSSES = { late: 'comes late', lost: 'is lost', dies: 'is lost in a crash half-way' } as const
  for (const name of ['late', 'lost', 'dies'] as const) {
    it(`tops up once if the answer ${LOSSES[name]}`, async ({ skip }) => {
      if (!canTopUp()) skip()
      const { statusCounts, added, delivered } = await topUps(name)
      expect(statusCounts).toEqual({ DELIVERED: TOP_UPS })
      expect([added, delivered]).toEqual([TOP_UPS, TOP_UPS])
    })
  }

  it('may carry out a top-up later, and is then queried by reference without refund or repeat', async ({ skip }) => {
    if (!canTopUp()) skip()
    const { statusCounts, added } = await topUps('pending')
    expect(statusCounts).toEqual({ DELIVERED: TOP_UPS })
    expect(added).toBe(TOP_UPS)
  })

  it('may carry out a top-up after our refund, which is reported', async ({ skip }) => {
    if (!canTopUp()) skip()
    const { statusCounts, added, refused, orphans } = await topUps('refunded')
    expect(statusCounts).toEqual({ FAILED: TOP_UPS })
    expect([added, refused, orphans]).toEqual([TOP_UPS, TOP_UPS, TOP_UPS])
  })
})
