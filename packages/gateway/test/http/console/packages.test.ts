import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '#platform/audit/audit.ts'
import { addSupplier, pauseSupplier } from '#suppliers/manage-suppliers.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'

type SignedInPerson = Awaited<ReturnType<typeof signedInAs>>

let testbed: ConsoleTestbed
let operator: SignedInPerson
let tenantId: string
beforeAll(async () => {
  testbed = await startConsole()
  operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  tenantId = await addTenant(testbed, 'Payer Ltd')
  for (const name of ['first', 'second']) await addSupplier(testbed.deps, { name, type: 'sandbox', config: {} }, SYSTEM)
  await testbed.deps.suppliers.refresh()
})
afterAll(() => testbed.stop())

const JAPAN = {
  packageCode: 'JP_1_7',
  name: 'Japan, 1 GB, 7 days',
  dataType: 'TOTAL',
  volume: 1_073_741_824,
  duration: 7,
  locationCodes: ['JP'],
  prices: [{ currencyCode: 'USD', price: 45_000, retailPrice: 74_900 }],
  suppliers: [
    { supplier: 'first', productCode: 'J1', costPrice: 30_000, costCurrency: 'USD' },
    { supplier: 'second', productCode: 'J1', costPrice: 25_000, costCurrency: 'USD' },
  ],
}

async function change(...[method, path, body]: Parameters<SignedInPerson['call']>): Promise<void> {
  expect(await operator.call(method, path, body)).toMatchObject({ status: 200 })
}

describe('a package', () => {
  it('can be added only once, and its faults are reported by field', async () => {
    const faulty = await operator.call('POST', '/packages', { ...JAPAN, volume: null, locationCodes: ['UK'] })
    expect(faulty).toMatchObject({ status: 422, body: { code: 'PACKAGE_INVALID' } })
    const fields = faulty.body.data.details.map((detail: { field: string }) => detail.field)
    expect(fields.sort()).toEqual(['locationCodes[0]', 'volume'])
    await change('POST', '/packages', JAPAN)
    const again = await operator.call('POST', '/packages', JAPAN)
    expect(again).toMatchObject({ status: 422, body: { data: { details: [{ field: 'packageCode' }] } } })
    const { body } = await operator.call('GET', '/packages/JP_1_7')
    expect(body.package).toMatchObject({ ...JAPAN, slug: 'JP_1_7', status: 'ON_SALE' })
  })

  it('cannot be changed by a stale edit', async () => {
    const read = async () => (await operator.call('GET', '/packages/JP_1_7')).body
    const { revision } = await read()
    await change('PUT', '/packages/JP_1_7', { revision, package: { name: 'Japan light' } })
    const stale = await operator.call('PUT', '/packages/JP_1_7', { revision, package: { name: 'Overwritten' } })
    expect(stale).toMatchObject({ status: 409, body: { code: 'CHANGED_MEANWHILE' } })
    expect(stale.body.message).toMatch(/JP_1_7 has changed since/)
    const current = await read()
    expect(current.package.name).toBe('Japan light')
    // A price that was set elsewhere is also a change to the package.
    await change('POST', '/packages/sale', { packageCodes: ['JP_1_7'], onSale: false })
    const second = await operator.call('PUT', '/packages/JP_1_7', { revision: current.revision, package: JAPAN })
    expect(second.body.code).toBe('CHANGED_MEANWHILE')
    await change('PUT', '/packages/JP_1_7', { revision: (await read()).revision, package: JAPAN })
    await change('POST', '/packages/sale', { packageCodes: ['JP_1_7'], onSale: true })
  })

  it('is listed with each dealer’s price and the rule that decides the price', async () => {
    await change('POST', '/price-plans', { planName: 'GOLD', displayName: 'Gold partners 2026' })
    await change('PUT', '/price-plans/GOLD/rules', { percent: '-5' })
    const validFrom = new Date(testbed.clock.now() + 86_400_000).toISOString()
    await change('PUT', '/price-plans/GOLD/rules', { locationCode: 'JP', percent: '-10', validFrom })
    await change('PUT', `/tenants/${tenantId}/price-plan`, { planName: 'GOLD' })
    const buyers = (await operator.call('GET', '/packages/JP_1_7/buyers')).body
    const decided = { price: 42_750, source: 'PLAN', planName: 'GOLD', cost: 25_000, currencyCode: 'USD' }
    expect(buyers.buyers).toMatchObject([{ tenantId, clientName: 'Payer Ltd', ...decided, rule: { percent: '-5' } }])
    const path = `/packages/JP_1_7/explanation?tenantId=${tenantId}`
    expect((await operator.call('GET', path)).body).toMatchObject({
      ...decided,
      steps: [
        { source: 'OWN', state: 'NONE' },
        { source: 'PLAN', rule: { locationCode: 'JP', validFrom }, state: 'NOT_YET', price: null },
        { source: 'PLAN', rule: { percent: '-5' }, state: 'DECIDES', price: 42_750 },
        { source: 'LIST', state: 'OVERRIDDEN', price: 45_000 },
      ],
    })
    const later = await operator.call('GET', `${path}&at=${validFrom}`)
    expect(later.body).toMatchObject({ price: 40_500, rule: { locationCode: 'JP' } })
  })
})

describe('margins', () => {
  const costs = async () => {
    const path = `/packages/JP_1_7/explanation?tenantId=${tenantId}`
    const answers = await Promise.all(
      ['/packages/JP_1_7', '/packages/JP_1_7/buyers', path].map((each) => operator.call('GET', each)),
    )
    const [{ listPrices }, { buyers }, { cost }] = answers.map(({ body }) => body) as never as [
      { listPrices: { currencyCode: string; cost: number | null }[] },
      { buyers: { cost: number | null }[] },
      { cost: number | null },
    ]
    const preview = await operator.call('POST', '/price-plans/GOLD/preview', {
      rule: { packageCode: 'JP_1_7', price: 10_000, currencyCode: 'USD' },
      currencyCode: 'USD',
    })
    return [
      listPrices.map((row) => `${row.currencyCode} ${row.cost}`),
      buyers[0]!.cost,
      cost,
      preview.body.lines[0].cost,
    ]
  }

  it('are computed for the cheapest supplier that is not paused, and are unknown without a cost', async () => {
    const { revision } = (await operator.call('GET', '/packages/JP_1_7')).body
    const prices = [...JAPAN.prices, { currencyCode: 'EUR', price: 40_000, retailPrice: null }]
    await change('PUT', '/packages/JP_1_7', { revision, package: { prices } })
    const pause = async (name: string, paused: boolean) => {
      await pauseSupplier(testbed.deps, { name, paused }, SYSTEM)
      await testbed.deps.suppliers.refresh()
    }
    expect(await costs()).toEqual([['EUR null', 'USD 25000'], 25_000, 25_000, 25_000])
    await pause('second', true)
    expect(await costs()).toEqual([['EUR null', 'USD 30000'], 30_000, 30_000, 30_000])
    await pause('first', true)
    expect(await costs()).toEqual([['EUR null', 'USD null'], null, null, null])
    await pause('first', false)
    await pause('second', false)
    const current = (await operator.call('GET', '/packages/JP_1_7')).body.revision
    await change('PUT', '/packages/JP_1_7', { revision: current, package: { prices: JAPAN.prices } })
  })
})

describe('a package on sale', () => {
  it('says that it is not sold while its suppliers are out of funds', async () => {
    const lacksMoney = async () => (await operator.call('GET', '/packages/JP_1_7')).body.lacksMoney
    const set = (lacks: boolean) =>
      testbed.deps.db.query(sql`update packages set lacks_money = ${lacks} where package_code = 'JP_1_7'`)
    expect(await lacksMoney()).toBe(false)
    await set(true)
    expect(await lacksMoney()).toBe(true)
    await set(false)
  })
})

describe('a price plan', () => {
  it('shows in its preview how many packages and dealers the preview leaves out', async () => {
    await change('POST', '/price-plans', { planName: 'BLIND' })
    const { body } = await operator.call('POST', '/tenants', { clientName: 'Euro Ltd', currencyCode: 'EUR' })
    for (const id of [tenantId, body.tenantId]) await change('PUT', `/tenants/${id}/price-plan`, { planName: 'BLIND' })
    const input = { rule: { percent: '-50' }, currencyCode: 'USD' }
    const known = await operator.call('POST', '/price-plans/BLIND/preview', input)
    expect(known.body).toMatchObject({ dealers: 1, otherDealers: 1, belowCost: 1, unknownCosts: 0 })
    const pause = async (paused: boolean) => {
      for (const name of ['first', 'second']) await pauseSupplier(testbed.deps, { name, paused }, SYSTEM)
      await testbed.deps.suppliers.refresh()
    }
    await pause(true)
    const unknown = await operator.call('POST', '/price-plans/BLIND/preview', input)
    expect(unknown.body).toMatchObject({ belowCost: 0, unknownCosts: 1 })
    await pause(false)
    for (const id of [tenantId, body.tenantId]) await change('PUT', `/tenants/${id}/price-plan`, { planName: null })
    await change('DELETE', '/price-plans/BLIND')
  })

  it('has a preview that shows old and new prices and losses, and saves nothing', async () => {
    const rule = { supplier: 'first', percent: '-50' }
    await change('POST', '/price-plans', { planName: 'DEEP' })
    await change('PUT', `/tenants/${tenantId}/price-plan`, { planName: 'DEEP' })
    const preview = await operator.call('POST', '/price-plans/DEEP/preview', { rule, currencyCode: 'USD' })
    expect(preview.body).toMatchObject({
      ...{ dealers: 1, packages: 1, changed: 1, cheaper: 1, dearer: 0, belowCost: 1 },
      lines: [{ packageCode: 'JP_1_7', before: 45_000, after: 22_500, cost: 25_000 }],
    })
    expect(preview.body).toMatchObject({ unknownCosts: 0, otherDealers: 0 })
    expect((await operator.call('GET', '/price-plans/DEEP/rules')).body.rules).toEqual([])
    await change('PUT', '/price-plans/DEEP/rules', rule)
    expect((await operator.call('GET', `/tenants/${tenantId}/prices`)).body.prices).toMatchObject([{ price: 22_500 }])
    const removed = { rule: { supplier: 'first' }, currencyCode: 'USD' }
    const removal = await operator.call('POST', '/price-plans/DEEP/removal-preview', removed)
    expect(removal.body).toMatchObject({
      ...{ dealers: 1, packages: 1, changed: 1, cheaper: 0, dearer: 1, belowCost: 0 },
      lines: [{ packageCode: 'JP_1_7', before: 22_500, after: 45_000, cost: 25_000 }],
    })
    expect((await operator.call('GET', '/price-plans/DEEP/rules')).body.rules).toMatchObject([{ supplier: 'first' }])
    const unknown = { rule: { supplier: 'first', currencyCode: 'USD' }, currencyCode: 'USD' }
    const mistyped = { rule: { supplier: 'first' }, currencyCode: 'UDS' }
    const noCurrency = await operator.call('POST', '/price-plans/DEEP/removal-preview', mistyped)
    expect(noCurrency).toMatchObject({ status: 422, body: { message: expect.stringContaining('ISO 4217') } })
    const refused = await operator.call('POST', '/price-plans/DEEP/removal-preview', unknown)
    expect(refused).toMatchObject({ status: 422, body: { message: expect.stringContaining('has no such rule') } })
    await change('DELETE', '/price-plans/DEEP/rules?supplier=first')
    expect((await operator.call('GET', `/tenants/${tenantId}/prices`)).body.prices).toMatchObject([{ price: 45_000 }])
  })

  it.each([
    ['a location that does not exist', { locationCode: 'ZZ', percent: '-5' }, 'locationCode'],
    ['two kinds of packages', { locationCode: 'JP', packageCode: 'JP_1_7', percent: '-5' }, 'locationCode'],
    ['a fixed price for a location', { locationCode: 'JP', price: 5, currencyCode: 'USD' }, 'price'],
    ['an end in the past', { percent: '-5', validUntil: '2026-01-01T00:00:00.000Z' }, 'validUntil'],
    [
      'an end before its beginning',
      { percent: '-5', validFrom: '2099-01-01T00:00:00.000Z', validUntil: '2098-01-01T00:00:00.000Z' },
      'validUntil',
    ],
  ])('refuses a rule for %s and reports the fault at its field', async (_, rule, field) => {
    const refused = await operator.call('PUT', '/price-plans/DEEP/rules', rule)
    expect(refused).toMatchObject({ status: 422, body: { data: { details: [{ field }] } } })
  })

  it('may have a display name with spaces, which is kept when the plan is renamed', async () => {
    await change('PATCH', '/price-plans/GOLD', { planName: 'GOLD_2' })
    const { plans } = (await operator.call('GET', '/price-plans')).body
    expect(plans).toMatchObject([{ planName: 'DEEP' }, { planName: 'GOLD_2', displayName: 'Gold partners 2026' }])
    await change('PUT', '/price-plans/GOLD_2/display-name', { displayName: null })
    expect((await operator.call('GET', '/price-plans/GOLD_2')).body.displayName).toBeNull()
  })
})
