import { randomUUID } from 'node:crypto'
import type { EsimAction } from '@dealer-esim/contract'
import type { ProfileReport, SuppliedEsim, TopUpRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EsimState } from '#esims/actions/action-esim.ts'
import { refuseAction } from '#esims/actions/decide-action.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createShop, type Shop, waitUntil } from '../harness/shop.ts'
import {
  createEs2plusFixtures,
  createGatewayFixtures,
  createSandboxFixtures,
  createStockFixtures,
  type FixtureFactory,
  type SupplierFixture,
} from './supplier-fixtures.ts'

/*
 * Every type of supplier passes the same suite for what happens to an eSIM after its sale: top-ups, actions and usage,
 * counted at the supplier. A type has no method for what it cannot do, and such requests are refused immediately.
 */

interface Type {
  name: string
  create(shop: Shop): Promise<FixtureFactory>
  /** The actions that it supports; none: it cannot top up either. */
  actions: EsimAction[]
  /** The products used for top-ups. */
  topUp: string
  refusedTopUp: string
  unknownTopUp: string
}

const ALL: EsimAction[] = ['CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE']
const NONE = { topUp: '', refusedTopUp: '', unknownTopUp: '' }
const SANDBOX = { topUp: 'SANDBOX_TOPUP', refusedTopUp: 'SANDBOX_REFUSED', unknownTopUp: 'SANDBOX_UNKNOWN' }
const UPSTREAM = {
  topUp: 'SANDBOX_TOPUP',
  refusedTopUp: 'SANDBOX_TOPUP_REFUSED',
  unknownTopUp: 'SANDBOX_TOPUP_UNKNOWN',
}
const TYPES: Type[] = [
  { name: 'sandbox', create: createSandboxFixtures, actions: ALL, ...SANDBOX },
  { name: 'gateway', create: createGatewayFixtures, actions: ALL, ...UPSTREAM },
  { name: 'stock', create: createStockFixtures, actions: [], ...NONE },
  { name: 'es2plus', create: (shop) => createEs2plusFixtures(shop, true), actions: ['CANCEL'], ...NONE },
]
const WAIT_MAX_MS = 40_000
const TEST_TIMEOUT_MS = 90_000

let database: TestDatabase
let shop: Shop
const factories: FixtureFactory[] = []
const fixtures = new Map<string, SupplierFixture>()

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  for (const { name, create } of TYPES) {
    const factory = await create(shop)
    factories.push(factory)
    fixtures.set(name, await factory.create(`${name}-after-sale`, 10_000))
  }
})
afterAll(async () => {
  for (const fixture of fixtures.values()) await fixture.close()
  for (const factory of factories) await factory.close()
  await shop.close()
  await database.drop()
})

describe.each(TYPES)('$name', ({ name, actions }) => {
  it.each(ALL)('can %s an eSIM, or the dealer immediately gets 200015', (action) => {
    const state: EsimState = {
      esimStatus: action === 'SUSPEND' || action === 'UNSUSPEND' ? 'IN_USE' : 'GOT_RESOURCE',
      suspended: action === 'UNSUSPEND',
      createdAt: new Date(),
      ...{ smdpStatus: null, toppedUpAt: null, openActionId: null, openTopUpId: null },
    }
    const policy = { cancellable: true, withinDays: null, feePercent: 0 }
    const refusal = refuseAction(action, state, fixtures.get(name)!.supplier, policy, new Date())
    expect(refusal).toEqual(actions.includes(action) ? undefined : { code: '200015', parts: { data: { action } } })
  })

  it('has methods for both top-ups and usage, or for neither', () => {
    const { supplier, countDone } = fixtures.get(name)!
    const expected = countDone === undefined ? 'undefined' : 'function'
    expect([typeof supplier.topUp, typeof supplier.report]).toEqual([expected, expected])
  })
})

describe.each(TYPES.slice(0, 2))('after the sale, the supplier of type $name', (type) => {
  const fixtureOf = () => fixtures.get(type.name)!
  const topUpOf = (esim: SuppliedEsim, productCode = type.topUp): TopUpRequest => {
    const topUp = { key: esim.key, iccid: esim.iccid, matchingId: esim.matchingId }
    return { ...esim, key: randomUUID(), productCode, topUp }
  }

  /** Returns the kind of an outcome. As in fulfilment, an exception is an unknown outcome. */
  const kindOf = async (answer: Promise<{ kind: string }[] | { kind: string }>): Promise<string> => {
    const outcome = await answer.catch(() => ({ kind: 'unknown' }))
    return (Array.isArray(outcome) ? outcome[0]! : outcome).kind
  }
  const topUp = (request: TopUpRequest) => kindOf(fixtureOf().supplier.topUp!([request]))
  const query = (request: TopUpRequest) => kindOf(fixtureOf().supplier.query([request], 'RESUME'))
  const act = (action: EsimAction, esim: SuppliedEsim, key: string) => {
    const { supplier } = fixtureOf()
    const method = action.toLowerCase() as 'cancel' | 'suspend' | 'unsuspend' | 'revoke'
    return kindOf(supplier[method]!(esim, key)).then((kind) => (kind === 'cancelled' ? 'done' : kind))
  }
  const count = (esim: SuppliedEsim, what: EsimAction | 'TOPUP') => fixtureOf().countDone!(esim.iccid, what)

  /** Repeats a question until its answer is known. */
  const known = (ask: () => Promise<string>) =>
    waitUntil(
      async () => {
        const kind = await ask()
        return kind !== 'unknown' && kind
      },
      WAIT_MAX_MS,
      200,
    )

  async function withLostAnswers<Result>(run: () => Promise<Result>): Promise<Result> {
    fixtureOf().fault = 'lost'
    try {
      return await run()
    } finally {
      fixtureOf().fault = 'none'
    }
  }

  async function buy(productCode = 'SANDBOX_USAGE'): Promise<SuppliedEsim> {
    const { supplier } = fixtureOf()
    const orderId = randomUUID()
    const item = { tenantId: randomUUID(), orderId, itemNo: 1, key: `${orderId}-1`, productCode }
    let [outcome] = await supplier.order([item])
    if (outcome!.kind === 'unknown') {
      outcome = await waitUntil(
        async () => {
          const [again] = await supplier.query([item], 'RESUME')
          return again!.kind === 'delivered' && again
        },
        WAIT_MAX_MS,
        200,
      )
    }
    if (outcome?.kind !== 'delivered') throw new Error(`it answered ${JSON.stringify(outcome)}`)
    return { ...item, iccid: outcome.esim.iccid, matchingId: outcome.esim.matchingId, shown: true }
  }

  const inUse = (esim: SuppliedEsim): Promise<ProfileReport> =>
    waitUntil(
      async () => {
        const [outcome] = await fixtureOf().supplier.report!([esim])
        const report = outcome?.kind === 'reported' && outcome.report
        return report && report.esimStatus === 'IN_USE' && (report.usage ?? 0n) > 0n && report
      },
      WAIT_MAX_MS,
      500,
    )

  it(
    'tops up once per key, however often the top-up is sent',
    async () => {
      const esim = await buy()
      const request = topUpOf(esim)
      expect(await query(request)).toBe('retry')
      expect(await count(esim, 'TOPUP')).toBe(0)
      await Promise.all([topUp(request), topUp(request)])
      expect(await known(() => query(request))).toBe('toppedUp')
      expect(await known(() => topUp(request))).toBe('toppedUp')
      expect(await count(esim, 'TOPUP')).toBe(1)
      expect(await known(() => topUp(topUpOf(esim)))).toBe('toppedUp')
      expect(await count(esim, 'TOPUP')).toBe(2)
    },
    TEST_TIMEOUT_MS,
  )

  it(
    'may lose the answer to a top-up: a query finds the one top-up that was made',
    async () => {
      const esim = await buy()
      const request = topUpOf(esim)
      expect(await withLostAnswers(() => topUp(request))).toBe('unknown')
      expect(await known(() => query(request))).toBe('toppedUp')
      expect(await count(esim, 'TOPUP')).toBe(1)
    },
    TEST_TIMEOUT_MS,
  )

  it(
    'may refuse a top-up or not know its outcome; neither counts as a top-up',
    async () => {
      const esim = await buy()
      const refused = topUpOf(esim, type.refusedTopUp)
      const first = await topUp(refused)
      expect(first === 'unknown' ? await known(() => query(refused)) : first).toBe('refused')
      expect(await query(refused)).toBe('refused')
      const unknown = topUpOf(esim, type.unknownTopUp)
      expect(await topUp(unknown)).toBe('unknown')
      expect(await query(unknown)).toBe('unknown')
      expect(await count(esim, 'TOPUP')).toBe(0)
    },
    TEST_TIMEOUT_MS,
  )

  it(
    'reports usage, and suspends and resumes without acting on late repeats',
    async () => {
      const esim = await buy()
      expect((await inUse(esim)).usage).toBeGreaterThan(0n)
      const [suspend, unsuspend] = [randomUUID(), randomUUID()]
      expect(await withLostAnswers(() => act('SUSPEND', esim, suspend))).toBe('unknown')
      expect(await known(() => act('SUSPEND', esim, suspend))).toBe('done')
      expect(await withLostAnswers(() => act('UNSUSPEND', esim, unsuspend))).toBe('unknown')
      expect(await known(() => act('UNSUSPEND', esim, unsuspend))).toBe('done')
      expect(await known(() => act('SUSPEND', esim, suspend))).toBe('done')
      expect([await count(esim, 'SUSPEND'), await count(esim, 'UNSUSPEND')]).toEqual([1, 1])
    },
    TEST_TIMEOUT_MS,
  )

  it.each(['CANCEL', 'REVOKE'] as const)(
    'may lose the answer to a %s: repeating the request finds that it was carried out',
    async (action) => {
      const esim = await buy()
      const key = randomUUID()
      expect(await withLostAnswers(() => act(action, esim, key))).toBe('unknown')
      expect(await known(() => act(action, esim, key))).toBe('done')
      expect(await known(() => topUp(topUpOf(esim)))).toBe('refused')
      const opposite = action === 'CANCEL' ? 'REVOKE' : 'CANCEL'
      expect(await known(() => act(opposite, esim, randomUUID()))).toBe('refused')
      expect(await known(() => act('SUSPEND', esim, randomUUID()))).toBe('refused')
      const done = await Promise.all([...ALL, 'TOPUP' as const].map((what) => count(esim, what)))
      expect(done).toEqual([action === 'CANCEL' ? 1 : 0, 0, 0, action === 'REVOKE' ? 1 : 0, 0])
    },
    TEST_TIMEOUT_MS,
  )

  it(
    'may refuse an action or not know its outcome; neither counts as carried out',
    async () => {
      const refusing = await buy('SANDBOX_ACTION_REFUSED')
      const key = randomUUID()
      expect(await known(() => act('CANCEL', refusing, key))).toBe('refused')
      expect(await act('CANCEL', refusing, key)).toBe('refused')
      const silent = await buy('SANDBOX_ACTION_UNKNOWN')
      const lost = randomUUID()
      expect([await act('CANCEL', silent, lost), await act('CANCEL', silent, lost)]).toEqual(['unknown', 'unknown'])
      expect([await count(refusing, 'CANCEL'), await count(silent, 'CANCEL')]).toEqual([0, 0])
    },
    TEST_TIMEOUT_MS,
  )

  it(
    'identifies an eSIM by its key and ICCID, and does not change any other eSIM',
    async () => {
      const esim = await buy()
      const another = { ...esim, iccid: '8999900000000000999' }
      expect(await known(() => act('REVOKE', another, randomUUID()))).toBe('refused')
      expect(await count(esim, 'REVOKE')).toBe(0)
    },
    TEST_TIMEOUT_MS,
  )
})
