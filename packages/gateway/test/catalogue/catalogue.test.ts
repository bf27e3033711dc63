import { MONEY_MAX, operations } from '@dealer-esim/contract'
import { joinTransaction } from '@dealer-esim/lib/postgres/db.ts'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Buyer, Snapshot } from '#catalogue/catalogue.ts'
import { beginChange } from '#catalogue/catalogue-version.ts'
import { setOnSale } from '#catalogue/packages/put-packages.ts'
import {
  createGroup,
  listGroups,
  setGroupPlan,
  setTenantGroup,
  setTenantPlan,
} from '#catalogue/prices/price-assignments.ts'
import { createPlan, listPlans, removePlanRule, setPlanRule } from '#catalogue/prices/price-plans.ts'
import { setListPrices, setOwnPrice } from '#catalogue/prices/prices.ts'
import { deleteGroup, deletePlan, renameGroup, renamePlan } from '#catalogue/prices/rename-delete.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import { type CatalogueTestbed, createCatalogueTestbed } from '../harness/catalogue-testbed.ts'

let testbed: CatalogueTestbed
beforeAll(async () => {
  testbed = await createCatalogueTestbed()
})
afterAll(() => testbed.close())

/** The current snapshot. Expects a catalogue that followed every change to equal one that loads everything. */
async function now(): Promise<Snapshot> {
  following ??= testbed.freshCatalogue()
  const followed = await following.latest()
  const fresh = await testbed.freshCatalogue().latest()
  expect(followed.version).toBe(fresh.version)
  for (const buyer of [retail, gold, grouped, special, euro]) {
    for (const request of [{}, { updatedSince: new Date(0).toISOString() }]) {
      const { asOf, ...answer } = listPackages(followed, buyer, request)
      expect(listPackages(fresh, buyer, request)).toMatchObject(answer)
      expect(Check(operations['package/list'].answer, { asOf, ...answer })).toBe(true)
    }
  }
  return followed
}
let following: ReturnType<CatalogueTestbed['freshCatalogue']> | undefined

const prices = (snapshot: Snapshot, buyer: Buyer, request = {}) =>
  Object.fromEntries(
    listPackages(snapshot, buyer, request).packageList.map((item) => [
      item.packageCode,
      item.status === 'ON_SALE' ? item.price : 'OFF_SALE',
    ]),
  )

const offered = (snapshot: Snapshot, buyer: Buyer, code: string) => {
  const offer = snapshot.offer(buyer, code)
  return typeof offer === 'string' ? offer : offer.price
}

let retail: Buyer
let gold: Buyer
let grouped: Buyer
let special: Buyer
let euro: Buyer

beforeAll(async () => {
  retail = await testbed.addTenant('USD')
  gold = await testbed.addTenant('USD')
  grouped = await testbed.addTenant('USD')
  special = await testbed.addTenant('USD')
  euro = await testbed.addTenant('EUR')
  await testbed.put(
    {
      packageCode: 'A',
      prices: [
        { currencyCode: 'USD', price: 45_000 },
        { currencyCode: 'EUR', price: 41_005 },
      ],
    },
    { packageCode: 'B', price: 100_000, currencyCode: 'USD', retailPrice: 150_000 },
    { packageCode: 'C', price: 12_345, currencyCode: 'USD' },
    { packageCode: 'NOBODY' },
    { packageCode: 'NEVER', status: 'OFF_SALE', price: 1, currencyCode: 'USD' },
  )
})

describe('each tenant pays its own price', () => {
  beforeAll(async () => {
    await createPlan(testbed.deps, 'GOLD', testbed.by)
    await setPlanRule(testbed.deps, { planName: 'GOLD', packageCode: null }, { percent: -100_000n }, testbed.by)
    await setPlanRule(
      testbed.deps,
      { planName: 'GOLD', packageCode: 'B' },
      { price: 70_000n, currencyCode: 'USD' },
      testbed.by,
    )
    await createPlan(testbed.deps, 'PARTNERS', testbed.by)
    await setPlanRule(testbed.deps, { planName: 'PARTNERS', packageCode: null }, { percent: -200_000n }, testbed.by)
    await setPlanRule(
      testbed.deps,
      { planName: 'PARTNERS', packageCode: 'C' },
      { price: 9_999n, currencyCode: 'EUR' },
      testbed.by,
    )
    await createGroup(testbed.deps, 'NORTH', testbed.by)
    await setGroupPlan(testbed.deps, 'NORTH', 'PARTNERS', testbed.by)
    await setTenantPlan(testbed.deps, gold.tenantId, 'GOLD', testbed.by)
    await setTenantGroup(testbed.deps, gold.tenantId, 'NORTH', testbed.by)
    await setTenantGroup(testbed.deps, grouped.tenantId, 'NORTH', testbed.by)
    await setTenantGroup(testbed.deps, euro.tenantId, 'NORTH', testbed.by)
    await setTenantPlan(testbed.deps, special.tenantId, 'GOLD', testbed.by)
    await setOwnPrice(testbed.deps, { tenantId: special.tenantId, packageCode: 'A', price: 1n }, testbed.by)
  })

  test('prices follow the order of precedence, rounded half up, in the tenant’s currency', async () => {
    const snapshot = await now()
    const expected = new Map<Buyer, Record<string, number>>([
      [retail, { A: 45_000, B: 100_000, C: 12_345 }],
      [gold, { A: 40_500, B: 70_000, C: 11_111 }], // 12 345 less ten percent is 11 110.5
      [grouped, { A: 36_000, B: 80_000, C: 9_876 }],
      [special, { A: 1, B: 70_000, C: 11_111 }],
      [euro, { A: 32_804, C: 9_999 }],
    ])
    for (const [buyer, wanted] of expected) {
      expect(prices(snapshot, buyer)).toEqual(wanted)
      for (const [code, price] of Object.entries(wanted)) expect(offered(snapshot, buyer, code)).toBe(BigInt(price))
    }
  })

  test('a fixed price for all packages applies to each package without another price, including new ones', async () => {
    const flat = await testbed.addTenant('CHF')
    expect(prices(await now(), flat)).toEqual({})
    await createPlan(testbed.deps, 'FLAT', testbed.by)
    await setPlanRule(
      testbed.deps,
      { planName: 'FLAT', packageCode: null },
      { price: 777n, currencyCode: 'CHF' },
      testbed.by,
    )
    await setTenantPlan(testbed.deps, flat.tenantId, 'FLAT', testbed.by)
    expect(prices(await now(), flat)).toEqual({ A: 777, B: 777, C: 777, NOBODY: 777 })
    await testbed.put({ packageCode: 'LATER' })
    for (const snapshot of [await now(), await testbed.freshCatalogue().latest()]) {
      expect(prices(snapshot, flat)).toEqual({ A: 777, B: 777, C: 777, NOBODY: 777, LATER: 777 })
    }
  })

  test('a package without a price in the tenant’s currency is reported as unknown, not as off sale', async () => {
    const snapshot = await now()
    expect(offered(snapshot, euro, 'B')).toBe('310241')
    expect(offered(snapshot, retail, 'NOBODY')).toBe('310241')
    expect(offered(snapshot, retail, 'NO_SUCH')).toBe('310241')
    expect(offered(snapshot, retail, 'NEVER')).toBe('310244')
  })
})

describe('plans and groups', () => {
  test('keep all prices when renamed, and report the change to their tenants once', async () => {
    const before = await now()
    const wanted = [retail, gold, grouped, special, euro].map((buyer) => prices(before, buyer))
    await renamePlan(testbed.deps, 'PARTNERS', 'ALLIES', testbed.by)
    await renameGroup(testbed.deps, 'NORTH', 'ARCTIC', testbed.by)
    await renamePlan(testbed.deps, 'GOLD', 'PLATINUM', testbed.by)
    const after = await now()
    expect([retail, gold, grouped, special, euro].map((buyer) => prices(after, buyer))).toEqual(wanted)
    expect(await listGroups(testbed.db)).toMatchObject([{ groupName: 'ARCTIC', planName: 'ALLIES' }])
    const request = { updatedSince: listPackages(before, retail, {}).asOf }
    expect(prices(after, retail, request)).toEqual({})
    expect(prices(after, euro, request)).toEqual(prices(before, euro))
    // Former names are free again, and now refer to something else.
    await createPlan(testbed.deps, 'GOLD', testbed.by)
    await setTenantPlan(testbed.deps, retail.tenantId, 'GOLD', testbed.by)
    expect(prices(await now(), retail)).toEqual(prices(before, retail))
    await setTenantPlan(testbed.deps, retail.tenantId, null, testbed.by)
    await deletePlan(testbed.deps, 'GOLD', testbed.by)
    await renamePlan(testbed.deps, 'PLATINUM', 'GOLD', testbed.by)
    await renameGroup(testbed.deps, 'ARCTIC', 'NORTH', testbed.by)
    await renamePlan(testbed.deps, 'ALLIES', 'PARTNERS', testbed.by)
    const back = await now()
    expect([retail, gold, grouped, special, euro].map((buyer) => prices(back, buyer))).toEqual(wanted)
  })

  test('are deleted only if no tenant or group uses them', async () => {
    await expect(deletePlan(testbed.deps, 'GOLD', testbed.by)).rejects.toThrow(
      /^2 tenants are on GOLD\. Give them a different plan/,
    )
    await expect(deletePlan(testbed.deps, 'PARTNERS', testbed.by)).rejects.toThrow(/^The group NORTH has it\. Give/)
    await expect(deleteGroup(testbed.deps, 'NORTH', testbed.by)).rejects.toThrow(
      /^3 tenants are in NORTH\. Remove them first/,
    )
    await expect(renamePlan(testbed.deps, 'GOLD', 'PARTNERS', testbed.by)).rejects.toThrow(
      'A price plan named PARTNERS already exists.',
    )
    await expect(renameGroup(testbed.deps, 'SOUTH', 'EAST', testbed.by)).rejects.toThrow(
      'There is no price group SOUTH.',
    )
    await createGroup(testbed.deps, 'SOUTH', testbed.by)
    await setGroupPlan(testbed.deps, 'SOUTH', 'GOLD', testbed.by)
    await deleteGroup(testbed.deps, 'SOUTH', testbed.by)
    await createPlan(testbed.deps, 'BRIEF', testbed.by)
    await setPlanRule(testbed.deps, { planName: 'BRIEF', packageCode: null }, { percent: -500_000n }, testbed.by)
    await deletePlan(testbed.deps, 'BRIEF', testbed.by)
    await expect(setTenantPlan(testbed.deps, retail.tenantId, 'BRIEF', testbed.by)).rejects.toThrow(
      'There is no price plan BRIEF.',
    )
    // A plan under a former name has no rules, and a group no plan.
    await createPlan(testbed.deps, 'BRIEF', testbed.by)
    await createGroup(testbed.deps, 'SOUTH', testbed.by)
    const names = (await listPlans(testbed.db)).map(({ planName, rules }) => [planName, rules.length])
    expect(names).toContainEqual(['BRIEF', 0])
    expect(await listGroups(testbed.db, 'SOUTH')).toMatchObject([{ planName: null }])
    await deletePlan(testbed.deps, 'BRIEF', testbed.by)
    await deleteGroup(testbed.deps, 'SOUTH', testbed.by)
    expect((await listPlans(testbed.db)).map(({ planName }) => planName)).not.toContain('BRIEF')
  })
})

test('changes in one transaction share one version and one time limit', async () => {
  const { db, deps, by } = testbed
  const tenants = [await testbed.addTenant('USD'), await testbed.addTenant('USD')]
  const { version } = await now()
  await db.tx(async (tx) => {
    const joined = { ...deps, db: joinTransaction(db, tx) }
    await createGroup(joined, 'JOINED', by)
    for (const { tenantId } of tenants) await setTenantGroup(joined, tenantId, 'JOINED', by)
    expect(await beginChange(tx)).toBe(await beginChange(tx))
  })
  expect((await now()).version).toBe(version + 1n)
})

describe('the change feed', () => {
  const since = (snapshot: Snapshot) => ({ updatedSince: listPackages(snapshot, retail, {}).asOf })

  test('reports a changed list price only to tenants whose price depends on it', async () => {
    const request = since(await now())
    await setListPrices(testbed.deps, [{ packageCode: 'A', currencyCode: 'EUR', price: 50_000n }], testbed.by)
    const snapshot = await now()
    expect(prices(snapshot, euro, request)).toEqual({ A: 40_000 })
    for (const buyer of [retail, gold, grouped, special]) expect(prices(snapshot, buyer, request)).toEqual({})
  })

  test('reports a changed plan rule to the tenants on that plan', async () => {
    const request = since(await now())
    await setPlanRule(
      testbed.deps,
      { planName: 'GOLD', packageCode: 'B' },
      { price: 69_000n, currencyCode: 'USD' },
      testbed.by,
    )
    const snapshot = await now()
    expect(prices(snapshot, gold, request)).toEqual({ B: 69_000 })
    expect(prices(snapshot, special, request)).toEqual({ B: 69_000 })
    for (const buyer of [retail, grouped, euro]) expect(prices(snapshot, buyer, request)).toEqual({})
  })

  test('reports a tenant’s own price when it is set and when it is removed', async () => {
    const request = since(await now())
    await setOwnPrice(testbed.deps, { tenantId: retail.tenantId, packageCode: 'C', price: 11n }, testbed.by)
    expect(prices(await now(), retail, request)).toEqual({ C: 11 })
    const later = since(await now())
    await setOwnPrice(testbed.deps, { tenantId: retail.tenantId, packageCode: 'C', price: null }, testbed.by)
    expect(prices(await now(), retail, later)).toEqual({ C: 12_345 })
    expect(prices(await now(), gold, request)).toEqual({})
  })

  test('reports all packages in a new or removed plan, even if only this plan priced them', async () => {
    const request = since(await now())
    await setTenantGroup(testbed.deps, euro.tenantId, null, testbed.by)
    const snapshot = await now()
    expect(prices(snapshot, euro)).toEqual({ A: 50_000 })
    expect(prices(snapshot, euro, request)).toEqual({ A: 50_000, C: 'OFF_SALE' })
    await setTenantGroup(testbed.deps, euro.tenantId, 'NORTH', testbed.by)
    expect(prices(await now(), euro, request)).toEqual({ A: 40_000, C: 9_999 })
  })

  test('reports a package that goes off sale or loses its price once to each tenant that could buy it', async () => {
    const request = since(await now())
    expect(await setOnSale(testbed.deps, { packageCodes: ['A'] }, false, testbed.by)).toEqual(['A'])
    await removePlanRule(testbed.deps, { planName: 'PARTNERS', packageCode: 'C' }, 'EUR', testbed.by)
    await setListPrices(testbed.deps, [{ packageCode: 'B', currencyCode: 'USD', price: null }], testbed.by)
    const snapshot = await now()
    expect(prices(snapshot, retail, request)).toEqual({ A: 'OFF_SALE', B: 'OFF_SALE' })
    expect(prices(snapshot, gold, request)).toEqual({ A: 'OFF_SALE', B: 69_000 }) // its list price was checked
    expect(prices(snapshot, euro, request)).toEqual({ A: 'OFF_SALE', C: 'OFF_SALE' }) // B never had a price in EUR
    expect(prices(snapshot, retail, since(snapshot))).toEqual({})
    expect(offered(snapshot, retail, 'A')).toBe('310244')
    expect(offered(snapshot, retail, 'B')).toBe('310241')
    const left = listPackages(snapshot, retail, request).packageList.find((item) => item.packageCode === 'A')
    expect(Object.keys(left!)).toEqual(['packageCode', 'status', 'lastUpdateTime'])
  })

  test('reports a package whose price exceeds the maximum as off sale', async () => {
    const buyer = await testbed.addTenant('SEK')
    await testbed.put({ packageCode: 'DEAR', price: MONEY_MAX, currencyCode: 'SEK' })
    const request = { updatedSince: listPackages(await now(), buyer, {}).asOf }
    await createPlan(testbed.deps, 'DEARER', testbed.by)
    await setPlanRule(testbed.deps, { planName: 'DEARER', packageCode: null }, { percent: 10_000n }, testbed.by)
    expect(prices(await now(), buyer, request)).toEqual({})
    await setTenantPlan(testbed.deps, buyer.tenantId, 'DEARER', testbed.by)
    const snapshot = await now()
    expect(prices(snapshot, buyer)).toEqual({})
    expect(offered(snapshot, buyer, 'DEAR')).toBe('310241')
    expect(prices(snapshot, buyer, request)).toEqual({ DEAR: 'OFF_SALE' })
    expect(prices(snapshot, buyer, { updatedSince: listPackages(snapshot, buyer, {}).asOf })).toEqual({})
    await setTenantPlan(testbed.deps, buyer.tenantId, null, testbed.by)
    expect(prices(await now(), buyer, request)).toEqual({ DEAR: MONEY_MAX })
  })

  test('never lists a package that the tenant could never buy', async () => {
    const request = since(await now())
    await testbed.put(
      { packageCode: 'NOBODY', name: 'Renamed' },
      { packageCode: 'NEVER', status: 'OFF_SALE', name: 'X' },
    )
    expect(prices(await now(), retail, request)).toEqual({})
    expect(prices(await now(), retail, { updatedSince: new Date(0).toISOString() })).not.toHaveProperty('NOBODY')
  })

  test('never lists a package that was off sale whenever the tenant had a price for it', async () => {
    const [yen, other] = [await testbed.addTenant('JPY'), await testbed.addTenant('JPY')]
    const usd = (packageCode: string) => ({ packageCode, price: 10_000, currencyCode: 'USD' })
    await testbed.put({ ...usd('DRAFT'), status: 'OFF_SALE' }, usd('LATE'))
    await setListPrices(testbed.deps, [{ packageCode: 'DRAFT', currencyCode: 'JPY', price: 50_000n }], testbed.by)
    await setOwnPrice(testbed.deps, { tenantId: yen.tenantId, packageCode: 'DRAFT', price: 40_000n }, testbed.by)
    await setOwnPrice(testbed.deps, { tenantId: yen.tenantId, packageCode: 'DRAFT', price: null }, testbed.by)
    await setListPrices(testbed.deps, [{ packageCode: 'DRAFT', currencyCode: 'JPY', price: null }], testbed.by)
    await setOnSale(testbed.deps, { packageCodes: ['DRAFT'] }, true, testbed.by)
    await setOnSale(testbed.deps, { packageCodes: ['LATE'] }, false, testbed.by)
    await setListPrices(testbed.deps, [{ packageCode: 'LATE', currencyCode: 'JPY', price: 50_000n }], testbed.by)
    await setOwnPrice(testbed.deps, { tenantId: yen.tenantId, packageCode: 'LATE', price: 40_000n }, testbed.by)
    const all = { updatedSince: new Date(0).toISOString() }
    const snapshot = await now()
    const [listed, ofOther] = [prices(snapshot, yen, all), prices(snapshot, other, all)]
    for (const packageCode of ['DRAFT', 'LATE']) {
      expect(listed).not.toHaveProperty(packageCode)
      expect(ofOther).not.toHaveProperty(packageCode)
    }
    expect(prices(snapshot, retail, all)).toMatchObject({ DRAFT: 10_000, LATE: 'OFF_SALE' })
    await setOnSale(testbed.deps, { packageCodes: ['LATE'] }, true, testbed.by)
    await setOnSale(testbed.deps, { packageCodes: ['LATE'] }, false, testbed.by)
    expect(prices(await now(), yen, all)).toMatchObject({ LATE: 'OFF_SALE' })
  })

  test('gets no new version from a change without effect', async () => {
    const { version } = await now()
    await testbed.put({ packageCode: 'NOBODY', name: 'Renamed' })
    await setTenantPlan(testbed.deps, gold.tenantId, 'GOLD', testbed.by)
    expect((await now()).version).toBe(version)
  })

  test('lets a poller miss nothing during concurrent changes', async () => {
    const buyer = await testbed.addTenant('USD')
    const poller = testbed.freshCatalogue()
    const known: Record<string, unknown> = prices(await poller.latest(), buyer)
    let { asOf } = listPackages(await poller.latest(), buyer, {})
    let writing = true
    const writers = [1, 2, 3].map(async (writer) => {
      for (let round = 0; round < 15; round++) {
        const packageCode = `W${writer}_${round % 4}`
        await testbed.put({ packageCode, price: writer * 1000 + round, currencyCode: 'USD' })
        if (round % 5 === 4) await setOnSale(testbed.deps, { packageCodes: [packageCode] }, false, testbed.by)
      }
    })
    const done = Promise.all(writers).then(() => {
      writing = false
    })
    for (let last = false; !last; ) {
      last = !writing
      const answer = listPackages(await poller.latest(), buyer, { updatedSince: asOf, pageSize: 500 })
      asOf = answer.asOf
      for (const item of answer.packageList) {
        if (item.status === 'ON_SALE') known[item.packageCode] = item.price
        else delete known[item.packageCode]
      }
    }
    await done
    expect(known).toEqual(prices(await now(), buyer))
  })
})
