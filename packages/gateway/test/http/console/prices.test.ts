import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setListPrices } from '#catalogue/prices/prices.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { addPackage } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'

type SignedInPerson = Awaited<ReturnType<typeof signedInAs>>

let testbed: ConsoleTestbed
let tenantId: string
let operator: SignedInPerson
let dealer: SignedInPerson
beforeAll(async () => {
  testbed = await startConsole()
  tenantId = await addTenant(testbed, 'Priced Ltd')
  operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  for (const [packageCode, price] of [
    ['JP_1_7', 100_000n],
    ['KR_1_7', 200_000n],
  ] as const) {
    await addPackage(testbed.db, packageCode, [{ supplier: 'anybody', productCode: packageCode }])
    await setListPrices(testbed.deps, [{ packageCode, currencyCode: 'USD', price }], SYSTEM)
  }
})
afterAll(() => testbed.stop())

/** Makes a change as the operator. */
async function change(...[method, path, body]: Parameters<SignedInPerson['call']>): Promise<void> {
  expect(await operator.call(method, path, body)).toMatchObject({ status: 200, body: {} })
}

/** Price and source by package, as shown to the operator. Compares the prices with package/list. */
async function prices() {
  const { body } = await operator.call('GET', `/tenants/${tenantId}/prices`)
  const rows = body.prices as { packageCode: string; price: number; source: string }[]
  const listed = listPackages(await testbed.deps.catalogue.latest(), { tenantId, currencyCode: 'USD' }, {}).packageList
  const offered = Object.fromEntries(listed.map((item) => [item.packageCode, 'price' in item && item.price]))
  expect(offered).toEqual(Object.fromEntries(rows.map((row) => [row.packageCode, row.price])))
  return Object.fromEntries(rows.map((row) => [row.packageCode, `${row.price} ${row.source}`]))
}

describe('price plans', () => {
  it('change a dealer’s prices and offers, and cannot be deleted while in use', async () => {
    await change('POST', '/price-plans', { planName: 'GOLD' })
    await change('PUT', '/price-plans/GOLD/rules', { percent: '-10' })
    await change('PUT', '/price-plans/GOLD/rules', { packageCode: 'KR_1_7', price: 150_000, currencyCode: 'USD' })
    expect(await prices()).toEqual({ JP_1_7: '100000 LIST', KR_1_7: '200000 LIST' })
    await change('PUT', `/tenants/${tenantId}/price-plan`, { planName: 'GOLD' })
    expect(await prices()).toEqual({ JP_1_7: '90000 PLAN', KR_1_7: '150000 PLAN' })
    expect((await operator.call('GET', '/price-plans/GOLD')).body).toMatchObject({
      tenants: [{ tenantId, clientName: 'Priced Ltd' }],
      ruleCount: 2,
    })
    expect((await operator.call('GET', '/price-plans/GOLD/rules')).body.rules).toMatchObject([
      { packageCode: null, percent: '-10' },
      { packageCode: 'KR_1_7', price: 150_000 },
    ])
    await change('PUT', '/price-plans/GOLD/rules', { percent: '-10', rounding: '.49/.99' })
    expect(await prices()).toEqual({ JP_1_7: '89900 PLAN', KR_1_7: '150000 PLAN' })
    await change('PUT', '/price-plans/GOLD/rules', { percent: '-10' })
    const refused = await operator.call('DELETE', '/price-plans/GOLD')
    expect(refused).toMatchObject({ status: 409, body: { code: 'IN_USE' } })

    await change('PATCH', '/price-plans/GOLD', { planName: 'SILVER' })
    await change('DELETE', '/price-plans/SILVER/rules?packageCode=KR_1_7&currencyCode=USD')
    expect(await prices()).toEqual({ JP_1_7: '90000 PLAN', KR_1_7: '180000 PLAN' })
    await change('PUT', `/tenants/${tenantId}/price-plan`, { planName: null })
    await change('DELETE', '/price-plans/SILVER')
    expect((await operator.call('GET', '/price-plans')).body.plans).toEqual([])
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const { entries } = (await admin.call('GET', `/audit?person=${operator.personId}`)).body
    expect(entries.map((entry: { action: string }) => entry.action)).toEqual(
      expect.arrayContaining([
        'price_plan.create',
        'price_plan.set_rule',
        'price_plan.assign',
        'price_plan.rename',
        'price_plan.remove_rule',
        'price_plan.delete',
      ]),
    )
    for (const entry of entries) expect(entry).toMatchObject({ actor: operator.email, address: operator.address })
  })

  it('apply to the dealers in a group unless they have their own prices', async () => {
    await change('POST', '/price-plans', { planName: 'HALF' })
    await change('PUT', '/price-plans/HALF/rules', { percent: '-50' })
    await change('POST', '/price-groups', { groupName: 'FRIENDS' })
    await change('PUT', '/price-groups/FRIENDS/plan', { planName: 'HALF' })
    await change('PUT', `/tenants/${tenantId}/price-group`, { groupName: 'FRIENDS' })
    await change('PUT', `/tenants/${tenantId}/own-prices/JP_1_7`, { price: 1_000 })
    expect(await prices()).toEqual({ JP_1_7: '1000 OWN', KR_1_7: '100000 GROUP' })
    expect((await operator.call('GET', `/tenants/${tenantId}/price-assignment`)).body).toEqual({
      planName: null,
      groupName: 'FRIENDS',
      groupPlanName: 'HALF',
    })
    const own = await operator.call('GET', `/tenants/${tenantId}/prices?source=OWN`)
    expect(own.body.prices).toMatchObject([{ packageCode: 'JP_1_7', listPrice: 100_000 }])
    await change('PATCH', '/price-groups/FRIENDS', { groupName: 'FAMILY' })
    expect((await operator.call('DELETE', '/price-groups/FAMILY')).body.code).toBe('IN_USE')
    await change('DELETE', `/tenants/${tenantId}/own-prices/JP_1_7`)
    expect(await prices()).toEqual({ JP_1_7: '50000 GROUP', KR_1_7: '100000 GROUP' })
  })
})

describe('a dealer', () => {
  it('sees the prices of packages on sale, but not the source of the prices', async () => {
    await operator.call('POST', '/packages/sale', { packageCodes: ['KR_1_7'], onSale: false })
    const { body } = await dealer.call('GET', `/tenants/${tenantId}/prices`)
    expect(body).toEqual({
      currencyCode: 'USD',
      nextCursor: null,
      searchedTo: null,
      prices: [{ packageCode: 'JP_1_7', name: 'Package JP_1_7', status: 'ON_SALE', price: 50_000, retailPrice: null }],
    })
    const filtered = await dealer.call('GET', `/tenants/${tenantId}/prices?source=GROUP`)
    expect(filtered).toMatchObject({ status: 422, body: { code: 'INVALID' } })
    expect((await operator.call('GET', `/tenants/${tenantId}/prices?keyword=kr_`)).body.prices).toMatchObject([
      { packageCode: 'KR_1_7', status: 'OFF_SALE' },
    ])
  })
})

describe('invalid prices', () => {
  it.each([
    ['PUT', '/price-plans/HALF/rules', { percent: 'ten' }, 422],
    ['PUT', '/price-plans/HALF/rules', { percent: '-101' }, 422],
    ['PUT', '/price-plans/HALF/rules', {}, 422],
    ['PUT', '/price-plans/HALF/rules', { percent: '1', price: 1, currencyCode: 'USD' }, 422],
    ['PUT', '/price-plans/HALF/rules', { price: -1, currencyCode: 'USD' }, 422],
    ['PUT', '/price-plans/HALF/rules', { price: 1, currencyCode: 'usd' }, 422],
    ['PUT', '/price-plans/HALF/rules', { percent: '1', packageCode: 'NOTHING' }, 404],
    ['PUT', '/price-plans/NONE/rules', { percent: '1' }, 404],
    ['DELETE', '/price-plans/HALF/rules?packageCode=JP_1_7', undefined, 422],
    ['POST', '/price-plans', { planName: 'HALF' }, 409],
    ['POST', '/price-plans', { planName: 'a b' }, 422],
    ['PUT', '/price-groups/FAMILY/plan', { planName: 'NONE' }, 404],
    ['GET', '/price-groups/NONE', undefined, 404],
  ] as const)('%s %s %j is refused with a message', async (method, path, body, status) => {
    const answer = await operator.call(method, path, body)
    expect(answer).toMatchObject({ status, body: { message: expect.stringMatching(/\.$/) } })
  })

  it.each([{ price: -1 }, { price: 1.5 }, {}])('%j is refused as a dealer’s own price', async (body) => {
    const answer = await operator.call('PUT', `/tenants/${tenantId}/own-prices/JP_1_7`, body)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
  })
})

describe('lists ordered by code', () => {
  it('the pages of a dealer’s price list continue beyond the longest possible code', async () => {
    const longest = ['Y', 'Z'].map((letter) => letter.repeat(64))
    for (const code of longest) {
      await addPackage(testbed.db, code, [])
      const { status } = await operator.call('PUT', `/tenants/${tenantId}/own-prices/${code}`, { price: 1 })
      expect(status).toBe(200)
    }
    const codes: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path = `/tenants/${tenantId}/prices?limit=1${cursor && `&cursor=${cursor}`}`
      const { body } = await operator.call('GET', path)
      codes.push(...body.prices.map((row: { packageCode: string }) => row.packageCode))
      cursor = body.nextCursor
    }
    expect(codes.slice(-2)).toEqual(longest)
    expect(codes).toEqual([...new Set(codes)].sort())
  })

  it('each page of packages reads only its own rows', async () => {
    await testbed.db.query({
      text: `insert into packages (package_code, slug, name, data_type, volume, duration, duration_unit,
               unused_valid_time, activation_policy, ekyc_required, coverage_id, sms_status, allow_loss, on_sale,
               ever_on_sale, sale_changed_at, created_at, updated_at, touched_at)
             select 'L_' || lpad(n::text, 3, '0'), 'l_' || n, 'Long list', 'TOTAL', 1, 7, 'DAY', 180, 'ON_INSTALL', false,
               'test', 0, false, false, false, now(), now(), now(), now()
             from generate_series(1, 160) as n`,
    })
    const { db } = testbed
    let read = 0
    const query: typeof db.query = async (statement) => {
      const rows = await db.query(statement)
      read += rows.length
      return rows as never
    }
    testbed.deps.db = { query, tx: db.tx, pool: db.pool }
    const codes: string[] = []
    const limit = 60 // a page, one extra row, and the session
    for (let cursor: string | null = ''; cursor !== null; ) {
      read = 0
      const { body } = await operator.call('GET', `/packages${cursor && `?cursor=${cursor}`}`)
      expect(read).toBeLessThan(limit)
      codes.push(...body.packages.map((row: { packageCode: string }) => row.packageCode))
      cursor = body.nextCursor
    }
    testbed.deps.db = db
    const all = await db.query<{ code: string }>({ text: 'select package_code as code from packages order by 1' })
    expect(codes).toEqual(all.map((row) => row.code))
  })
})
