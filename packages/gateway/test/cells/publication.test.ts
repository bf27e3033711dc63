import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { listDocumentBatches } from '#catalogue/packages/read-packages.ts'
import { createPlan, listPlans, removePlanRule, setPlanRule } from '#catalogue/prices/price-plans.ts'
import { type ImportOptions, importPublication } from '#cells/publication/import-publication.ts'
import { readEntries } from '#cells/publication/publication-entries.ts'
import { publishCatalogue } from '#cells/publication/publish-catalogue.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { listRates, setRate } from '#products/rules/exchange-rates.ts'
import { listRules } from '#products/rules/manage-rules.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { createProductsTestbed, type ProductsTestbed } from '../products/products-testbed.ts'

/* The catalogue of one cell is published and then imported by another. */

let main: ProductsTestbed
let other: ProductsTestbed
const INPUTS = ['OWN_1', 'OWN_2'].map((packageCode) =>
  packageInput({ packageCode, currencyCode: 'EUR', price: 40_000 }),
)

beforeAll(async () => {
  main = await createProductsTestbed()
  other = await createProductsTestbed()
  await main.addWholesaler('zen', 'zendit', 60)
  await main.sync('zen')
  await main.setRule('base', { currencyCode: 'USD', percent: '25', filter: { countries: ['JP', 'FR'] } })
  await main.apply()
  await putPackages(main, INPUTS, SYSTEM)
  await createPlan(main, 'gold', SYSTEM, 'Gold partners')
  await setPlanRule(main, { planName: 'gold' }, { percent: -100_000n }, SYSTEM)
  await setPlanRule(main, { planName: 'gold', packageCode: 'OWN_1' }, { price: 35_000n, currencyCode: 'EUR' }, SYSTEM)
  const dated = { planName: 'gold', locationCode: 'JP', validFrom: new Date('2031-01-01T00:00:00Z') }
  await setPlanRule(main, dated, { percent: -50_000n, validUntil: new Date('2031-02-01T00:00:00Z') }, SYSTEM)
  await setRate(main, { costCurrency: 'GBP', saleCurrency: 'USD' }, { rate: 1_270_000n, ratedAt: new Date() }, SYSTEM)
})
afterAll(async () => {
  await main.close()
  await other.close()
})

async function publish(from: ProductsTestbed = main, cell = 'main', key?: Buffer): Promise<string> {
  let text = ''
  await publishCatalogue(from.db, { cell, key }, async (part) => {
    text += part
  })
  return text
}

function importInto(to: ProductsTestbed, text: string, options: Partial<ImportOptions> & { key?: Buffer } = {}) {
  const { key } = options
  const all = { cell: 'eu1', dryRun: false, takeOthersOffSale: false, allowOlder: false, ...options }
  return importPublication(to, readEntries(Readable.from([text]), key), all, SYSTEM)
}

async function stateOf({ db }: { db: Db }) {
  const packages = []
  for await (const batch of listDocumentBatches(db)) packages.push(...batch)
  const rates = (await listRates(db)).map(({ updatedAt: _, ...rate }) => rate)
  const rules = (await listRules(db)).map(({ ruleName, rule }) => ({ ruleName, rule }))
  const [row] = await db.query<{ version: bigint }>({ text: 'select version from catalogue_version' })
  return { catalogue: { packages, plans: await listPlans(db), rates, rules }, version: row!.version }
}

describe('a published catalogue', () => {
  it('is the same in the importing cell, and a second import writes nothing', async () => {
    const text = await publish()
    const before = await stateOf(other)
    const dry = await importInto(other, text, { dryRun: true })
    expect(await stateOf(other)).toEqual(before)
    const report = await importInto(other, text)
    expect(report).toEqual(dry)
    expect(report).toMatchObject({ changed: 0, plans: { added: 1 }, saleRules: 1, unknownSuppliers: ['zen'] })
    expect(report.added).toBeGreaterThan(10)
    const { catalogue, version } = await stateOf(other)
    expect(catalogue).toEqual((await stateOf(main)).catalogue)
    expect(await importInto(other, text)).toMatchObject({ added: 0, changed: 0, unchanged: report.added })
    expect((await stateOf(other)).version).toBe(version)
  })

  it('applies changes and removals, and keeps rows that exist only in the importing cell', async () => {
    await putPackages(other, [packageInput({ packageCode: 'ONLY_HERE', currencyCode: 'EUR', price: 10_000 })], SYSTEM)
    await createPlan(other, 'local', SYSTEM)
    await putPackages(
      main,
      [
        {
          packageCode: 'OWN_1',
          prices: [
            { currencyCode: 'EUR', price: null },
            { currencyCode: 'USD', price: 50_000 },
          ],
        },
        { packageCode: 'OWN_2', name: 'Renamed' },
      ],
      SYSTEM,
    )
    await removePlanRule(main, { planName: 'gold' }, null, SYSTEM)
    const text = await publish()
    const report = await importInto(other, text)
    expect(report).toMatchObject({ added: 0, changed: 2, plans: { added: 0, rulesRemoved: 1 } })
    expect(report).toMatchObject({ notPublished: ['ONLY_HERE'], isTakenOffSale: false })
    const { catalogue } = await stateOf(other)
    const expected = (await stateOf(main)).catalogue
    expect(catalogue.packages.filter(({ packageCode }) => packageCode !== 'ONLY_HERE')).toEqual(expected.packages)
    expect(catalogue.plans.map(({ planName }) => planName)).toEqual(['gold', 'local'])
    expect(catalogue.plans[0]).toEqual(expected.plans[0])
    expect(catalogue.packages.find(({ packageCode }) => packageCode === 'ONLY_HERE')!.status).toBe('ON_SALE')
    await importInto(other, text, { takeOthersOffSale: true })
    const after = (await stateOf(other)).catalogue.packages
    expect(after.find(({ packageCode }) => packageCode === 'ONLY_HERE')!.status).toBe('OFF_SALE')
  })

  it('ends a rule that was due to end between publication and import', async () => {
    const planName = `ending-${randomUUID().slice(0, 8)}`
    const ending = { planName }
    await createPlan(main, planName, SYSTEM)
    await setPlanRule(main, ending, { percent: -300_000n }, SYSTEM)
    await importInto(other, await publish())
    const validUntil = new Date(Date.now() + 2_000)
    await setPlanRule(main, ending, { percent: -300_000n, validUntil }, SYSTEM)
    const text = await publish()
    expect(text).toContain(validUntil.toISOString())
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, validUntil.getTime() + 50 - Date.now())))
    await importInto(other, text)
    expect(await listPlans(other.db, planName)).toMatchObject([{ rules: [] }])
    await removePlanRule(main, ending, null, SYSTEM)
  })

  it('assigns packages to their sale rule only once the cell has read the products', async () => {
    const owned = async () => (await other.db.query({ text: 'select 1 from rule_packages' })).length
    expect(await owned()).toBe(0)
    await other.addWholesaler('zen', 'zendit', 60)
    await other.sync('zen')
    const onSale = async () => (await other.db.query({ text: 'select 1 from packages where on_sale' })).length
    const before = await onSale()
    await importInto(other, await publish())
    expect(await owned()).toBeGreaterThan(8)
    const preview = await other.preview()
    expect(preview.counts).toMatchObject({ ADDED: 0, OFF_SALE: 0, BLOCKED: 0 })
    await other.sync('zen')
    expect(await onSale()).toBe(before)
  })
})

describe('a publication is refused without importing anything if it', () => {
  const refuse = async (text: string, message: RegExp, options: Parameters<typeof importInto>[2] = {}) => {
    const before = await stateOf(other)
    await expect(importInto(other, text, options)).rejects.toThrow(message)
    expect(await stateOf(other)).toEqual(before)
  }

  it('is incomplete, damaged or in a different format', async () => {
    await setOnSale(main, { packageCodes: ['OWN_2'] }, false, SYSTEM)
    const lines = (await publish()).trimEnd().split('\n')
    await refuse(lines.slice(0, -1).join('\n'), /it is incomplete/)
    await refuse([...lines.slice(0, 3), ...lines.slice(4)].join('\n'), /entries are missing/)
    await refuse(lines.slice(1).join('\n'), /must begin with its head/)
    await refuse([lines[0], '{', ...lines.slice(1)].join('\n'), /Line 2 of the file/)
    await refuse('', /it is incomplete/)
    const withLine = (line: string) => [lines[0], line, ...lines.slice(1)].join('\n')
    await refuse(withLine('null'), /not a publication entry/)
    await refuse(withLine('{"saleRule":null}'), /Line 2 of the file: saleRule/)
    await refuse(withLine('{"saleRule":{"ruleName":"R","rule":{},"applied":null}}'), /saleRule\.rule/)
    await refuse(withLine('{"package":5,"madeBy":null}'), /package/)
    await refuse(lines.join('\n').replace('"format":1', '"format":2'), /head\.format/)
    await refuse(lines.join('\n').replace('"duration":7', '"duration":-7'), /package\.duration/)
  })

  it('was changed, or has no digest made with this cell’s key', async () => {
    const [key, stranger] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const
    const signed = await publish(main, 'main', key)
    const changed = signed.replace('"price":50000', '"price":50001')
    expect(changed).not.toBe(signed)
    const fault = /was changed, or written with a different key/
    await refuse(changed, fault, { key })
    await refuse(signed.replace(/"publishedAt":"[^"]*"/, '"publishedAt":"2099-01-01T00:00:00.000Z"'), fault, { key })
    await refuse(signed, fault, { key: stranger })
    await refuse(signed.replace(/"digest":"[^"]*"/, '"digest":""'), fault, { key })
    await refuse(await publish(), /has no digest/, { key })
    for (const options of [{ key }, {}]) await importInto(other, signed, { ...options, dryRun: true })
  })

  it('comes from this cell, or is older than the last import', async () => {
    const older = await publish()
    await refuse(older, /This publication comes from this cell, main/, { cell: 'main' })
    await importInto(other, await publish())
    await refuse(older, /a later one has already been imported/)
    await importInto(other, older, { allowOlder: true })
  })

  it('has a price plan rule for a supplier that this cell does not have', async () => {
    await main.addWholesaler('acc', 'esim-access', 20)
    await setPlanRule(main, { planName: 'gold', supplier: 'acc' }, { percent: 10_000n }, SYSTEM)
    await refuse(await publish(), /price plan gold cannot be set here[\s\S]*acc/)
  })
})
