import type { Simulator } from '@dealer-esim/wholesaler-simulators'
import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { findDocuments } from '#catalogue/packages/read-packages.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { applyRules } from '#products/rules/apply-rules.ts'
import { parseRate, setRate } from '#products/rules/exchange-rates.ts'
import { deleteRule, releasePackages } from '#products/rules/manage-rules.ts'
import { addSupplier } from '../harness/shop.ts'
import { createProductsTestbed, type ProductsTestbed } from './products-testbed.ts'

/* Sale rules make packages from products, exactly as previewed, and packages follow changed costs. */

const RULE = { currencyCode: 'USD', percent: '25', minMargin: 3_000, rounding: '.49/.99' } as const
const COUNTRIES = ['JP', 'FR', 'ES'] as const
let testbed: ProductsTestbed
let zendit: Simulator
let access: Simulator

beforeAll(async () => {
  testbed = await createProductsTestbed()
  zendit = await testbed.addWholesaler('zen', 'zendit', 200)
  access = await testbed.addWholesaler('acc', 'esim-access', 200)
  await testbed.sync('zen')
  await testbed.sync('acc')
})
afterAll(() => testbed.close())

async function find(packageCode: string) {
  return (await findDocuments(testbed.db, [packageCode])).get(packageCode)
}

async function version(): Promise<bigint> {
  const [row] = await testbed.db.query<{ version: bigint }>({ text: 'select version from catalogue_version' })
  return row!.version
}

/** Sets the cost of a supplier's product, and reads the supplier's catalogue. */
async function setCost(simulator: Simulator, supplier: string, productCode: string, price: number) {
  simulator.changeProduct({ code: productCode, price })
  return testbed.sync(supplier)
}

describe('rules', () => {
  it('combine the same product from several suppliers into one package, cheapest supplier first', async () => {
    await testbed.setRule('base', { ...RULE, filter: { countries: [...COUNTRIES], countriesMax: 1 } })
    const preview = await testbed.preview()
    const before = await version()
    expect(preview.counts).toMatchObject({ CHANGED: 0, OFF_SALE: 0, BLOCKED: 0, UNCHANGED: 0 })
    expect(preview.counts.ADDED).toBeGreaterThan(9)
    await applyRules(testbed, preview.basis, SYSTEM)
    expect(await version()).toBe(before + 1n)
    const line = preview.lines.find(({ packageCode }) => packageCode === 'JP_1GB_7')!
    const made = (await find('JP_1GB_7'))!
    expect(made).toMatchObject({
      ...{ name: 'Japan 1 GB 7 days', dataType: 'TOTAL', duration: 7, locationCodes: ['JP'], status: 'ON_SALE' },
      ...{ suppliers: line.suppliers, prices: [{ currencyCode: 'USD', price: line.priceAfter }] },
    })
    const [first, second] = made.suppliers
    expect([first!.supplier, second!.supplier].sort()).toEqual(['acc', 'zen'])
    expect(first!.costPrice).toBeLessThanOrEqual(second!.costPrice!)
    const price = made.prices[0]!.price
    expect(price % 5_000).toBe(4_900)
    expect(price).toBeGreaterThanOrEqual(first!.costPrice! * 1.25)
    expect(line.margin).toBe(price - first!.costPrice!)
  })

  it('do not change anything when they are applied again', async () => {
    const before = await version()
    const preview = await testbed.apply()
    expect(preview.counts).toMatchObject({ ADDED: 0, CHANGED: 0, ON_SALE: 0, OFF_SALE: 0 })
    expect(await version()).toBe(before)
  })

  it('are applied only if the result is the same as in the preview', async () => {
    await testbed.setRule('base', { percent: '30' })
    const preview = await testbed.preview()
    expect(preview.repriced).toBeGreaterThan(5)
    await testbed.setRule('base', { percent: '31' })
    await expect(applyRules(testbed, preview.basis, SYSTEM)).rejects.toMatchObject({ code: 'PREVIEW_OUTDATED' })
    await putPackages(testbed, [{ packageCode: 'JP_1GB_7', prices: [{ currencyCode: 'USD', price: 990_000 }] }], SYSTEM)
    await testbed.setRule('base', { percent: '30' })
    await expect(applyRules(testbed, preview.basis, SYSTEM)).rejects.toMatchObject({ code: 'PREVIEW_OUTDATED' })
    await testbed.setRule('base', { percent: '25' })
    const again = await testbed.apply()
    expect(again.lines).toMatchObject([{ packageCode: 'JP_1GB_7', priceBefore: 990_000, warnings: ['PRICE_FALLS'] }])
  })

  it('describe what a product includes and its fair use policy, unless an operator has written a description', async () => {
    const product: SupplierProduct = {
      ...{ productCode: 'KZ', name: 'Kazakhstan', packageType: 'BASE', countries: ['KZ'], volume: null },
      ...{ isDayPass: false, durationDays: 9, cost: 20_000n, currencyCode: 'USD' },
      ...{ fupPolicy: '1 Mbps after 2 GB a day', included: '100 minutes of calls and 20 SMS' },
    }
    let listed = product
    const sync = () =>
      testbed.syncFrom('talk', {
        catalogue: async function* () {
          yield listed
        },
      })
    await addSupplier(testbed, 'talk', 'zendit', { apiKey: 'key' })
    await sync()
    await testbed.setRule('talk', { ...RULE, position: 5, suppliers: ['talk'] })
    await testbed.apply()
    const made = { fupPolicy: '1 Mbps after 2 GB a day', smsStatus: 1 }
    expect(await find('KZ_UNL_9')).toMatchObject({ ...made, description: 'Includes 100 minutes of calls and 20 SMS.' })
    listed = { ...product, included: '20 SMS' }
    await sync()
    await testbed.apply()
    expect(await find('KZ_UNL_9')).toMatchObject({ description: 'Includes 20 SMS.' })
    await putPackages(testbed, [{ packageCode: 'KZ_UNL_9', description: 'For the steppe.' }], SYSTEM)
    listed = product
    await sync()
    await testbed.apply()
    expect(await find('KZ_UNL_9')).toMatchObject({ ...made, description: 'For the steppe.' })
    await deleteRule(testbed, 'talk', { keepPackages: false }, SYSTEM)
  })

  it('do not change a package that was not made by a rule, or that an operator released', async () => {
    await putPackages(testbed, [{ ...(await find('JP_1GB_7'))!, packageCode: 'KR_1GB_7', slug: 'by-hand' }], SYSTEM)
    await testbed.setRule('base', { filter: { countries: [...COUNTRIES, 'KR'] } })
    const { lines } = await testbed.apply()
    expect(lines.find(({ packageCode }) => packageCode === 'KR_1GB_7')).toMatchObject({ change: 'BLOCKED' })
    expect(await find('KR_1GB_7')).toMatchObject({ slug: 'by-hand', locationCodes: ['JP'] })
    expect(await releasePackages(testbed, ['FR_1GB_7', 'NONE'], SYSTEM)).toEqual(['FR_1GB_7'])
    const released = (await testbed.preview()).lines.find(({ packageCode }) => packageCode === 'FR_1GB_7')
    expect(released).toMatchObject({ change: 'BLOCKED', reason: expect.stringContaining('not made by a rule') })
  })

  it('leave a package off sale if an operator took it off sale', async () => {
    await setOnSale(testbed, { packageCodes: ['ES_1GB_7'] }, false, SYSTEM)
    await testbed.setRule('base', { percent: '26' })
    await testbed.apply()
    expect(await find('ES_1GB_7')).toMatchObject({ status: 'OFF_SALE' })
  })

  it('block a code that would mix different products, and say what to do', async () => {
    await testbed.setRule('mixed', {
      ...RULE,
      position: 5,
      filter: { countries: ['IT'] },
      codeTemplate: 'MIXED_{data}',
    })
    const { lines } = await testbed.preview()
    const mixed = lines.find(({ packageCode }) => packageCode === 'MIXED_1GB')
    expect(mixed).toMatchObject({ change: 'BLOCKED', reason: expect.stringContaining('add {area}, {data} or {days}') })
    await deleteRule(testbed, 'mixed', { keepPackages: false }, SYSTEM)
  })

  it('sell products with costs in another currency only at an exchange rate entered by an operator', async () => {
    await testbed.setRule('euro', { ...RULE, currencyCode: 'EUR', position: 5, filter: { countries: ['PT'] } })
    const without = await testbed.preview()
    expect(without.skipped.NO_RATE).toBeGreaterThan(0)
    expect(without.lines.filter(({ ruleName }) => ruleName === 'euro')).toEqual([])
    const ratedAt = new Date(Date.now() - 40 * 86_400_000)
    const pair = { costCurrency: 'USD', saleCurrency: 'EUR' }
    await setRate(testbed, pair, { rate: parseRate('0.92'), ratedAt }, SYSTEM)
    const preview = await testbed.preview()
    expect(preview.oldRates).toEqual([{ ...pair, ratedAt }])
    const line = preview.lines.find(({ ruleName }) => ruleName === 'euro')!
    const cost = BigInt(line.suppliers[0]!.costPrice!)
    expect(BigInt(line.cost!)).toBe((cost * 920_000n + 999_999n) / 1_000_000n)
    expect(line.suppliers[0]!.costCurrency).toBe('USD')
    const audited = await testbed.db.query({
      text: `select subject, after from audit_log where action = 'exchange_rate.set'`,
    })
    expect(audited).toEqual([{ subject: 'USD EUR', after: { rate: '0.92', ratedAt: ratedAt.toISOString() } }])
    await deleteRule(testbed, 'euro', { keepPackages: false }, SYSTEM)
  })

  it('take packages off sale when their rule is deleted, unless the deletion keeps them', async () => {
    await testbed.setRule('short', { ...RULE, position: 1, filter: { countries: ['DE'], countriesMax: 1 } })
    await testbed.apply()
    expect(await find('DE_1GB_7')).toMatchObject({ status: 'ON_SALE' })
    await deleteRule(testbed, 'short', { keepPackages: false }, SYSTEM)
    const { counts } = await testbed.apply()
    expect(counts.OFF_SALE).toBeGreaterThan(0)
    expect(await find('DE_1GB_7')).toMatchObject({ status: 'OFF_SALE' })
    await testbed.setRule('kept', { ...RULE, position: 1, filter: { countries: ['GB'], countriesMax: 1 } })
    await testbed.apply()
    await deleteRule(testbed, 'kept', { keepPackages: true }, SYSTEM)
    expect((await testbed.apply()).counts).toMatchObject({ OFF_SALE: 0 })
    expect(await find('GB_1GB_7')).toMatchObject({ status: 'ON_SALE' })
  })
})

describe('when costs change', () => {
  const routeOf = async (supplier: string) =>
    (await find('JP_1GB_7'))!.suppliers.find((route) => route.supplier === supplier)!

  it('the suppliers are reordered immediately, and the price changes if the rule says so', async () => {
    await testbed.setRule('base', { whenCostsChange: 'REPRICE' })
    await testbed.apply()
    const { suppliers, prices } = (await find('JP_1GB_7'))!
    const [first, second] = suppliers
    const simulatorOf = (name: string) => (name === 'zen' ? zendit : access)
    const dearer = second!.costPrice! + 5_000
    const result = await setCost(simulatorOf(first!.supplier), first!.supplier, first!.productCode, dearer)
    expect(result).toMatchObject({ outcome: 'DONE', followed: { rerouted: 1, offSale: [], doubtful: [] } })
    const now = (await find('JP_1GB_7'))!
    expect(now.suppliers.map(({ supplier }) => supplier)).toEqual([second!.supplier, first!.supplier])
    expect(now.suppliers[1]!.costPrice).toBe(dearer)
    expect(now.prices[0]!.price).toBeGreaterThanOrEqual(prices[0]!.price)
    expect((await testbed.preview()).counts).toMatchObject({ ADDED: 0, CHANGED: 0 })
  })

  it('a package that loses its margin goes off sale if the rule keeps prices, and returns automatically', async () => {
    await testbed.setRule('base', { whenCostsChange: 'OFF_SALE' })
    await testbed.apply()
    const { prices } = (await find('JP_1GB_7'))!
    const old = { zen: await routeOf('zen'), acc: await routeOf('acc') }
    const price = prices[0]!.price
    zendit.changeProduct({ code: old.zen.productCode, price })
    access.changeProduct({ code: old.acc.productCode, price })
    const results = [await testbed.sync('zen'), await testbed.sync('acc')]
    expect(results.flatMap((result) => ('followed' in result ? result.followed.offSale : []))).toEqual(['JP_1GB_7'])
    expect(await find('JP_1GB_7')).toMatchObject({ status: 'OFF_SALE', prices })
    expect((await testbed.alerts('PACKAGES_OFF_SALE')).at(-1)).toMatch(/Off sale, because .*: JP_1GB_7\./)
    const back = await setCost(zendit, 'zen', old.zen.productCode, old.zen.costPrice!)
    expect(back).toMatchObject({ followed: { onSale: ['JP_1GB_7'] } })
    expect(await find('JP_1GB_7')).toMatchObject({ status: 'ON_SALE', prices })
  })

  it('a price cut of more than half is left to an operator', async () => {
    await testbed.setRule('base', { whenCostsChange: 'REPRICE' })
    await testbed.apply()
    const { prices } = (await find('JP_1GB_7'))!
    const { productCode, costPrice } = await routeOf('zen')
    const result = await setCost(zendit, 'zen', productCode, 100)
    expect(result).toMatchObject({ followed: { doubtful: ['JP_1GB_7'] } })
    expect(await find('JP_1GB_7')).toMatchObject({ prices, suppliers: [{ supplier: 'zen', costPrice: 100 }, {}] })
    await setCost(zendit, 'zen', productCode, costPrice!)
  })

  it('a supplier whose product no longer exists is not tried; without any supplier, the package goes off sale', async () => {
    const old = { zen: await routeOf('zen'), acc: await routeOf('acc') }
    zendit.changeProduct({ code: old.zen.productCode, isListed: false })
    await testbed.sync('zen')
    expect((await find('JP_1GB_7'))!.suppliers.map(({ supplier }) => supplier)).toEqual(['acc'])
    access.changeProduct({ code: old.acc.productCode, isListed: false })
    expect(await testbed.sync('acc')).toMatchObject({ followed: { offSale: ['JP_1GB_7'] } })
    expect(await find('JP_1GB_7')).toMatchObject({ status: 'OFF_SALE' })
    zendit.changeProduct({ code: old.zen.productCode, isListed: true })
    expect(await testbed.sync('zen')).toMatchObject({ followed: { onSale: ['JP_1GB_7'] } })
    expect(await find('JP_1GB_7')).toMatchObject({ status: 'ON_SALE', suppliers: [{ supplier: 'zen' }] })
  })

  it('a changed rule has no effect until it is applied', async () => {
    await testbed.setRule('base', { percent: '400', filter: { countries: ['CN'] } })
    const { prices } = (await find('JP_2GB_7')) ?? (await find('JP_1GB_7'))!
    const { productCode, costPrice } = await routeOf('zen')
    const result = await setCost(zendit, 'zen', productCode, costPrice! + 100)
    expect(result).toMatchObject({ followed: { rerouted: 1, offSale: [] } })
    expect((await find('JP_1GB_7'))!.prices[0]!.price).toBeLessThan(prices[0]!.price * 2)
    expect(await find('CN_1GB_7')).toBeUndefined()
  })
})
