import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminFailure, adminJson } from '../harness/processes/admin-in-process.ts'

/* The operator's commands, from a wholesaler's account to packages on sale. */

let shop: AdminTestbed
let simulator: Simulator

beforeAll(async () => {
  shop = await createAdminTestbed()
  simulator = await createSimulator('zendit', { catalogueSize: 40 })
  const dailySpendLimit = { amount: '100.00', currencyCode: 'USD' }
  const config = shop.file(
    'zendit.json',
    JSON.stringify({ url: simulator.url, ...simulator.credentials, dailySpendLimit }),
  )
  await adminJson('supplier', 'add', 'zen', '--type', 'zendit', '--config', config)
})
afterAll(async () => {
  await shop.close()
  await simulator.close()
})

it('a catalogue can be read, searched, priced by a rule, previewed and sold', async () => {
  expect(await adminJson('supplier', 'sync', 'zen')).toMatchObject({ outcome: 'DONE', listed: 40, added: 40 })
  const { productList } = await adminJson('supplier', 'products', '--supplier', 'zen', '--country', 'jp')
  expect(productList.length).toBeGreaterThan(1)
  const [{ productCode, cost }] = productList
  const { costList } = await adminJson('supplier', 'costs', 'zen', productCode)
  expect(costList).toMatchObject([{ cost, currencyCode: 'USD' }])
  const options = ['--countries', 'JP', '--data', '1GB-3GB', '--days', '1-30', '--currency', 'usd', '--percent', '25']
  const set = await adminJson('rule', 'set', 'japan', ...options, '--min-margin', '0.30', '--round', '.99')
  expect(set).toMatchObject({
    ruleName: 'japan',
    isApplied: false,
    rule: {
      ...{ percent: '25', minMargin: 3_000, rounding: '.99', supplierOrder: 'CHEAPEST', currencyCode: 'USD' },
      filter: { countries: ['JP'], volumeMin: 1_000_000_000, volumeMax: 3 * 1024 ** 3, unlimited: false, daysMax: 30 },
    },
  })
  const preview = await adminJson('rule', 'preview')
  expect(preview.counts).toMatchObject({ ADDED: preview.lines.length, BLOCKED: 0 })
  const { stdout } = await admin('rule', 'preview')
  expect(stdout).toContain(`To apply exactly this: rule apply ${preview.basis}`)
  expect(stdout).toMatch(/^JP_1GB_7 +ADDED +\d+\.99 USD +\d+\.\d\d +\d+\.\d\d +zen$/m)
  expect((await admin('rule', 'preview', '--csv', '-')).stdout).toMatch(
    /^JP_1GB_7,ADDED,Japan 1 GB 7 days,japan,USD,,/m,
  )
  expect(await adminJson('rule', 'apply', preview.basis)).toMatchObject({ added: preview.lines.length, changed: 0 })
  expect(await adminJson('package', 'show', 'JP_1GB_7')).toMatchObject({ status: 'ON_SALE', currencyCode: 'USD' })
  expect(await adminJson('rule', 'list')).toMatchObject({
    ruleList: [{ isApplied: true, packages: preview.lines.length }],
  })
  expect((await shop.audited('rule.apply'))[0]).toMatchObject({ after: { added: preview.lines.length } })
})

it('a held catalogue is accepted by stating the time at which it was held', async () => {
  simulator.addFault({ kind: 'catalogue-short', operation: 'catalogue' })
  const held = await adminFailure('supplier', 'sync', 'zen')
  simulator.clearFaults()
  expect(held).toMatch(/^The catalogue of zen is held: 36 of 40 products are missing\. Nothing was changed\./)
  const [, time] = / --accept (\S+)$/.exec(held)!
  expect((await admin('supplier', 'sync')).stdout).toMatch(/^zen +40 .* HELD .* 36 of 40 products are missing$/m)
  expect(await adminJson('supplier', 'sync', 'zen', '--accept', time!)).toMatchObject({ listed: 4, removed: 36 })
  expect(await adminJson('supplier', 'sync', 'zen')).toMatchObject({ listed: 40, added: 36 })
})

it('the command fails with the cause if a catalogue cannot be read', async () => {
  simulator.addFault({ kind: 'unauthorized', operation: 'catalogue' })
  const failed = await adminFailure('supplier', 'sync', 'zen')
  simulator.clearFaults()
  expect(failed).toMatch(/unauthorized: Fault unauthorized\. Nothing was changed\.$/)
  expect(await adminFailure('supplier', 'sync', 'sandbox')).toMatch(/of type sandbox have no catalogue/)
  expect(await adminFailure('supplier', 'sync', 'nobody')).toMatch(/There is no usable supplier nobody/)
})

it('a catalogue’s schedule can be set and removed', async () => {
  await adminJson('supplier', 'sync', 'zen', '--every', '1h')
  const state = async () => (await adminJson('supplier', 'sync')).syncList[0]
  expect(await state()).toMatchObject({ everyMinutes: 60 })
  await adminJson('supplier', 'sync', 'zen', '--every', 'never')
  expect(await state()).toMatchObject({ everyMinutes: null, dueAt: null })
  expect(await adminFailure('supplier', 'sync', 'zen', '--every', '1m')).toMatch(/from 15 minutes to 30 days/)
})

it.each<[string, string[], RegExp]>([
  ['a percentage below zero', ['--percent', '-5'], /must be 0 or more/],
  ['an unknown rounding', ['--round', '.3/.9'], /evenly spaced/],
  ['an unknown country', ['--countries', 'UK'], /UK is not an ISO 3166-1 alpha-2 country code/],
  ['an unknown placeholder', ['--code-template', '{country}'], /\{country\} is unknown: use \{place\}/],
  ['a fixed order without suppliers', ['--order', 'fixed'], /needs a list of suppliers/],
])('a rule with %s is refused', async (_, options, message) => {
  const failed = await adminFailure('rule', 'set', 'japan', ...options)
  expect(failed).toMatch(message)
})

it('exchange rates are entered with their date, listed and removed', async () => {
  await adminJson('price', 'rate', 'set', 'eur', 'usd', '1.0825', '--date', '2026-11-20')
  const { rateList } = await adminJson('price', 'rate', 'list')
  expect(rateList).toMatchObject([
    { costCurrency: 'EUR', saleCurrency: 'USD', rate: '1.0825', ratedAt: '2026-11-20T00:00:00.000Z' },
  ])
  await adminJson('price', 'rate', 'remove', 'EUR', 'USD')
  expect((await adminJson('price', 'rate', 'list')).rateList).toEqual([])
  expect(await shop.audited('exchange_rate.set')).toHaveLength(2)
  expect(await adminFailure('price', 'rate', 'set', 'EUR', 'USD', '0')).toMatch(/^Enter a rate above zero/)
})
