import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import { exportPackages, type FileFormat } from '#catalogue/files/export-packages.ts'
import { importPackages } from '#catalogue/files/import-packages.ts'
import { listDocumentBatches, type PackageFilter } from '#catalogue/packages/read-packages.ts'
import { type CatalogueTestbed, createCatalogueTestbed, packageInput } from '../harness/catalogue-testbed.ts'

let testbed: CatalogueTestbed
beforeAll(async () => {
  testbed = await createCatalogueTestbed()
  await seedDemoCatalogue({ db: testbed.db, ids: testbed.deps.ids })
})
afterAll(() => testbed.close())

async function exported(format: FileFormat, filter: PackageFilter = {}): Promise<string> {
  let file = ''
  await exportPackages(testbed.db, format, filter, async (text) => {
    file += text
  })
  return file
}

async function* pieces(file: string, size = 65_536) {
  const bytes = Buffer.from(file)
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const imported = (format: FileFormat, file: string, options: { dryRun?: boolean; size?: number } = {}) =>
  importPackages(
    testbed.deps,
    { format, source: pieces(file, options.size), dryRun: options.dryRun ?? false },
    testbed.by,
  )

async function everything() {
  const documents = []
  for await (const batch of listDocumentBatches(testbed.db)) documents.push(...batch)
  return documents
}

const version = async () => (await testbed.freshCatalogue().latest()).version

describe.each<FileFormat>(['csv', 'json'])('%s', (format) => {
  test('importing an export again changes nothing', async () => {
    const before = await version()
    const file = await exported(format)
    const report = await imported(format, file)
    expect(report).toMatchObject({ imported: true, rows: 1221, added: 0, changed: 0, unchanged: 1221, errors: [] })
    expect(await version()).toBe(before)
  })

  test('an export into an empty catalogue reproduces the catalogue', async () => {
    const file = await exported(format)
    const other = await createCatalogueTestbed()
    const report = await importPackages(other.deps, { format, source: pieces(file), dryRun: false }, other.by)
    expect(report).toMatchObject({ imported: true, added: 1221 })
    const documents = []
    for await (const batch of listDocumentBatches(other.db)) documents.push(...batch)
    expect(documents).toEqual(await everything())
    await other.close()
  })

  test('any text survives export and import unchanged, including formulas and quotes', async () => {
    const nasty = fc
      .string({
        unit: fc.constantFrom(...'=+-@\'",;\n\r\t |é日\u{1F5FC}a1'.split(/(?:)/u)),
        minLength: 1,
        maxLength: 12,
      })
      .filter((text) => !/\r/.test(text))
    const line = nasty.map((text) => text.replace(/[\n\t]/g, ' '))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(line, nasty, line), { minLength: 1, maxLength: 5 }), async (texts) => {
        await testbed.put(
          ...texts.map(([name, description, speed], i) => ({ packageCode: `TEXT_${i}`, name, description, speed })),
        )
        const filter = { packageCodes: texts.map((_, i) => `TEXT_${i}`) }
        const report = await imported(format, await exported(format, filter), { size: 7 })
        expect(report).toMatchObject({ imported: true, unchanged: texts.length, added: 0, changed: 0, errors: [] })
      }),
      { numRuns: 25 },
    )
    await testbed.db.query({ text: `delete from package_suppliers where package_code like 'TEXT%'` })
    await testbed.db.query({ text: `delete from packages where package_code like 'TEXT%'` })
  })
})

test('an export contains no spreadsheet formulas', async () => {
  await testbed.put({ packageCode: 'FORMULA', name: '=1+1', description: '@SUM(A1)', status: 'OFF_SALE' })
  const file = await exported('csv', { packageCodes: ['FORMULA'] })
  expect(file).toContain(`,'=1+1,'@SUM(A1),`)
})

test('an export contains exactly the packages that match its filters', async () => {
  const codes = async (filter: PackageFilter) =>
    (JSON.parse(await exported('json', filter)) as { packageCode: string }[]).map((item) => item.packageCode)
  expect(await codes({ locationCode: 'JP', keyword: '1 gb 7' })).toEqual([
    'ASIA_1_7',
    'ASIA_1_7_TOPUP',
    'GLOBAL_1_7',
    'GLOBAL_1_7_TOPUP',
    'JAPAN_KOREA_1_7',
    'JAPAN_KOREA_1_7_TOPUP',
    'JP_1_7',
    'JP_1_7_TOPUP',
    'JP_D1_7',
  ])
  expect(await codes({ packageCodes: ['JP_1_7', 'NO_SUCH'] })).toEqual(['JP_1_7'])
  expect((await codes({ locationCode: '!GL' })).length).toBe(8)
  expect(await codes({ supplier: 'nobody' })).toEqual([])
  expect(await codes({ status: 'OFF_SALE' })).toEqual(['FORMULA'])
  expect((await codes({ dataType: 'UNLIMITED', locationCode: 'JP' })).length).toBe(3)
})

describe('a file with errors', () => {
  test('changes nothing, and each error is reported by row and column (CSV)', async () => {
    const before = await version()
    const file = [
      'packageCode,name,dataType,volume,duration,locationCodes,price:USD,retailPrice:USD,supplier1,productCode1,costPrice1',
      'N1,Good,TOTAL,1,7,JP,4.50,,sandbox,x,',
      'N2,Bad price,TOTAL,1,7,JP,"4,50",,sandbox,x,',
      '',
      'N3,No supplier,TOTAL,1,7,JP,4.50,,,,',
      'N4,Bad country,TOTAL,1,7,JP UK,4.50,,sandbox,x,1.00',
      'N1,Again,TOTAL,1,7,JP,4.50,,sandbox,x,',
      'N6,Too few cells,TOTAL',
      ',No code,UNLIMITED,,7,JP,4.50,,sandbox,x,',
      'N8,,TOTAL,,7.5,JP,,9.00,sandbox,x,',
    ].join('\r\n')
    const report = await imported('csv', file)
    expect(report).toMatchObject({ imported: false, rows: 8, errorRows: 7 })
    expect(report.errors.map(({ row, column, packageCode }) => [row, column, packageCode])).toEqual([
      [3, 'price:USD', 'N2'],
      [5, 'supplier1', 'N3'],
      [6, 'locationCodes', 'N4'],
      [6, 'costCurrency1', 'N4'],
      [7, 'packageCode', 'N1'],
      [8, '', null],
      [9, 'packageCode', null],
      [10, 'duration', 'N8'],
      [10, 'name', 'N8'],
      [10, 'price:USD', 'N8'],
    ])
    expect(await version()).toBe(before)
  })

  test('changes nothing, and each error is reported by row and column (JSON)', async () => {
    const file = JSON.stringify([
      packageInput({ packageCode: 'N1', volume: 0 }),
      packageInput({ packageCode: 'N2', prise: 1 }),
      packageInput({ packageCode: 'N3', price: 1.5, currencyCode: 'usd' }),
      packageInput({ packageCode: 'N4', suppliers: [{ supplier: 's', productCode: 'p' }, { supplier: 's' }] }),
      'N5',
      packageInput({ packageCode: 'N6', slug: 'japan-1-gb-7-days' }),
      packageInput({ packageCode: 'N7', price: 10 }),
      packageInput({
        packageCode: 'N8',
        prices: [
          { currencyCode: 'USD', price: 1 },
          { currencyCode: 'USD', price: 2 },
        ],
      }),
    ])
    const report = await imported('json', file, { dryRun: true })
    expect(report.errors.map(({ row, column }) => [row, column])).toEqual([
      [1, 'volume'],
      [2, 'prise'],
      [3, 'currencyCode'],
      [3, 'price'],
      [4, 'suppliers[1].productCode'],
      [5, ''],
      [6, 'slug'],
      [7, 'currencyCode'],
      [8, 'prices[1].currencyCode'],
    ])
    for (const { reason } of report.errors) expect(reason).toMatch(/^\S.*\.$/)
  })

  test.each<[FileFormat, string, number, RegExp]>([
    ['json', '', 0, /not a JSON array/],
    ['json', '{"packageCode":"X"}', 0, /not a JSON array/],
    ['json', '[{"packageCode":"X"}', 1, /incomplete/],
    ['json', '[{"packageCode":}]', 1, /Not valid JSON/],
    ['json', '[{},]', 2, /Not valid JSON/],
    ['json', '[]x', 0, /not a JSON array/],
    ['csv', '', 0, /empty/],
    ['csv', 'name\nx', 1, /packageCode/],
    ['csv', 'packageCode,nome\n', 1, /nome/],
    ['csv', 'packageCode,name,name\n', 1, /repeated/],
  ])('%s %j is reported as unreadable in row %i', async (format, file, row, reason) => {
    const report = await imported(format, file)
    expect(report.imported).toBe(false)
    expect(report.errors.at(-1)).toMatchObject({ row, column: '', reason: expect.stringMatching(reason) })
  })
})

describe('a row for an existing package', () => {
  const read = async () => JSON.parse(await exported('json', { packageCodes: ['JP_1_7'] }))[0]

  test('keeps the value if a cell is empty, and clears it if the cell contains a hyphen', async () => {
    const before = await read()
    const dry = await imported('csv', 'packageCode,price:USD\nJP_1_7,4.75', { dryRun: true })
    expect(dry).toMatchObject({ imported: false, changed: 1 })
    expect(dry.changes).toMatchObject([
      {
        packageCode: 'JP_1_7',
        change: 'CHANGED',
        before: { prices: [{ currencyCode: 'USD', price: 45_000, retailPrice: 74_900 }] },
        after: { prices: [{ currencyCode: 'USD', price: 47_500, retailPrice: 74_900 }] },
        lines: [{ kind: 'PRICE', currencyCode: 'USD', before: 45_000, after: 47_500, warnings: [] }],
      },
    ])
    expect(await read()).toEqual(before)
    const empty = 'packageCode,name,volume,price:USD,description,cancellable,supplier1,productCode1\nJP_1_7,,,,,,,'
    expect(await imported('csv', empty)).toMatchObject({ errorRows: 0, unchanged: 1 })
    expect(await read()).toEqual(before)
    await imported('csv', 'packageCode,price:USD,description,unusedValidTime,volume\nJP_1_7,4.75,-,90,1.5GB')
    const volume = 1.5 * 1024 ** 3
    expect(await read()).toEqual({ ...before, price: 47_500, description: null, unusedValidTime: 90, volume })
    await imported('csv', 'packageCode,price:USD,volume\nJP_1_7,-,1GB')
    const { price: _, retailPrice: __, currencyCode: ___, ...unpriced } = before
    expect(await read()).toEqual({ ...unpriced, description: null, unusedValidTime: 90 })
    await imported('json', JSON.stringify([{ ...before, lastUpdateTime: '2026-01-01T00:00:00.000Z' }]))
    expect(await read()).toEqual(before)
  })

  test('with an error is reported with the offending value, and unknown suppliers are reported too', async () => {
    const file = 'packageCode,volume,price:USD,supplier1,productCode1\nJP_1_7,1 gig,-3,typo,x\nJP_D1_7,2 TB,1,typo2,x'
    const report = await imported('csv', file, { dryRun: true })
    expect(report.errors).toMatchObject([
      { row: 2, column: 'volume', packageCode: 'JP_1_7', value: '1 gig', reason: expect.stringContaining('1GB') },
      { row: 2, column: 'price:USD', value: '-3', reason: expect.stringContaining('below zero') },
    ])
    expect(report.unknownSuppliers).toEqual(['typo', 'typo2'])
  })

  test('is recorded in the audit log with the values before and after', async () => {
    await imported('json', JSON.stringify([{ packageCode: 'JP_1_7', name: 'Nippon' }]))
    const [entry] = await testbed.db.query({
      text: `select actor, before, after from audit_log where action = 'package.change' and subject = 'JP_1_7'
             order by audit_id desc limit 1`,
    })
    expect(entry).toEqual({
      actor: 'cli:tester',
      before: { name: 'Japan, 1 GB, 7 days' },
      after: { name: 'Nippon' },
    })
  })
})

test('an import is refused if the catalogue changes before the import is written', async () => {
  async function* slowly() {
    yield '['
    yield JSON.stringify({ packageCode: 'JP_3_30', name: 'A' })
    await testbed.put({ packageCode: 'JP_5_30', name: 'B' })
    yield ']'
  }
  const importing = importPackages(testbed.deps, { format: 'json', source: slowly(), dryRun: false }, testbed.by)
  await expect(importing).rejects.toMatchObject({ code: 'CATALOGUE_CHANGED' })
  expect(await exported('json', { packageCodes: ['JP_3_30'] })).not.toContain('"A"')
})
