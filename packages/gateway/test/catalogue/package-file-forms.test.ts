import { Readable } from 'node:stream'
import { findEncoding } from '@dealer-esim/lib/table-files/decode-text.ts'
import type { TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { parseColumnMap } from '@dealer-esim/lib/table-files/table-columns.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { importPackages } from '#catalogue/files/import-packages.ts'
import { findDocuments } from '#catalogue/packages/read-packages.ts'
import { type CatalogueTestbed, createCatalogueTestbed } from '../harness/catalogue-testbed.ts'

let testbed: CatalogueTestbed
beforeAll(async () => {
  testbed = await createCatalogueTestbed()
})
afterAll(() => testbed.close())

const imported = (file: string | Buffer, answers: TableAnswers = {}) =>
  importPackages(
    testbed.deps,
    { format: 'csv', source: Readable.from([Buffer.from(file)]), dryRun: false, answers },
    testbed.by,
  )

const find = async (code: string) => (await testbed.db.tx((tx) => findDocuments(tx, [code]))).get(code)

const HEAD = 'packageCode,name,dataType,volume,duration,locationCodes,price:USD,supplier1,productCode1'
const row = (cells: Record<string, string>) =>
  HEAD.split(',')
    .map((name) => cells[name] ?? DEFAULTS[name])
    .join(',')
const DEFAULTS: Record<string, string> = {
  ...{ packageCode: 'E1', name: 'Japan', dataType: 'TOTAL', volume: '1GB', duration: '7', locationCodes: 'JP' },
  ...{ 'price:USD': '4.50', supplier1: 'sandbox', productCode1: 'X' },
}

test('a file with names in Windows-1252 is refused until a person has checked its rows', async () => {
  const file = Buffer.from(`${HEAD}\n${row({ packageCode: 'COTE', name: 'C\xF4te d\x92Alba' })}\n`, 'latin1')
  const report = await imported(file)
  expect(report).toMatchObject({ imported: false, errors: [{ row: 2, reason: expect.stringMatching(/not in UTF-8/) }] })
  expect(report.question).toMatchObject({
    kind: 'ENCODING',
    choices: expect.arrayContaining([{ encoding: 'windows-1252', rows: [expect.stringContaining('Côte d’Alba')] }]),
  })
  expect(await find('COTE')).toBeUndefined()
  expect(await imported(file, { encoding: findEncoding('windows-1252') })).toMatchObject({ imported: true, added: 1 })
  expect(await find('COTE')).toMatchObject({ name: 'Côte d’Alba' })
})

test('prices and sizes with decimal commas are read correctly from a spreadsheet file', async () => {
  const file = [HEAD, row({ packageCode: 'COMMA', 'price:USD': '4,50', volume: '1,5GB' })]
    .map((line, i) =>
      i === 0 ? line.replaceAll(',', ';') : line.replaceAll(',', ';').replace('4;50', '4,50').replace('1;5', '1,5'),
    )
    .join('\r\n')
  expect(await imported(file)).toMatchObject({ imported: true, errors: [] })
  expect(await find('COMMA')).toMatchObject({ volume: 1_610_612_736, prices: [{ price: 45_000 }] })
})

test.each([
  ['1,250', 'This could mean 1.25 or 1250: enter the one that you mean.'],
  ['1.250', 'This could mean 1.25 or 1250: enter the one that you mean.'],
  ['1.250,00', /could mean/],
])(
  'in a semicolon-separated file, the price %s is refused because it could mean two amounts',
  async (price, reason) => {
    const { imported: done, errors } = await imported(`packageCode;price:USD\nCOMMA;${price}\n`)
    expect(done).toBe(false)
    const text = typeof reason === 'string' ? reason : expect.stringMatching(reason)
    expect(errors).toMatchObject([{ row: 2, column: 'price:USD', value: price, reason: text }])
  },
)

test('a price below one cannot contain a thousands separator, so three decimals are unambiguous', async () => {
  await imported(`packageCode;price:USD\nCOMMA;0,125\n`)
  expect(await find('COMMA')).toMatchObject({ prices: [{ price: 1_250 }] })
})

test.each([
  ['0.1GB', 107_374_182],
  ['0.3 GB', 322_122_547],
  ['1.1GB', 1_181_116_006],
  ['500MB', 524_288_000],
])('a volume of %s is rounded to bytes', async (volume, bytes) => {
  expect(await imported(`${HEAD}\n${row({ packageCode: 'SIZE', volume })}\n`)).toMatchObject({ imported: true })
  expect(await find('SIZE')).toMatchObject({ volume: bytes })
})

test('a volume of three bytes is flagged as doubtful', async () => {
  const report = await imported(`${HEAD}\n${row({ packageCode: 'TINY', volume: '3' })}\n`)
  expect(report).toMatchObject({
    doubtful: 1,
    changes: [{ lines: expect.arrayContaining([{ kind: 'VOLUME', before: null, after: 3, warnings: ['FEW_BYTES'] }]) }],
  })
})

test.each([
  ['an unlimited volume', { dataType: 'UNLIMITED', volume: 'Unlimited' }, 'volume', /^Leave it empty/],
  ['a volume with a fraction of a byte', { volume: '0.1' }, 'volume', /not a size/],
  ['a country in small letters', { locationCodes: 'jp' }, 'locationCodes', /in capitals/],
])('%s produces one error that says what to do', async (_, cells, column, reason) => {
  const report = await imported(`${HEAD}\n${row({ packageCode: 'WRONG', ...cells })}\n`)
  expect(report.errors).toMatchObject([{ row: 2, column, reason: expect.stringMatching(reason) }])
  expect(report.errors).toHaveLength(1)
})

test('accepts headers in any case, and another program’s headers with a column map', async () => {
  expect(await imported(`Package Code,PRICE:usd\nSIZE,9.00\n`)).toMatchObject({ imported: true, changed: 1 })
  const file = 'SKU,Cost,Sale price\nSIZE,1,8.00\n'
  const { question } = await imported(file)
  expect(question).toMatchObject({ kind: 'COLUMNS', headers: [{ header: 'SKU', example: 'SIZE' }, {}, {}] })
  const columnMap = parseColumnMap('packageCode=SKU,price:USD=Sale price')
  expect(await imported(file, { columnMap })).toMatchObject({ imported: true, changed: 1, ignoredColumns: ['Cost'] })
  expect(await find('SIZE')).toMatchObject({ prices: [{ price: 80_000 }] })
})

test.each([
  ['cut', Buffer.from('PK\x03\x04\x14\0\x06\0\b\0\0\0!\0[Content_Types].xml', 'latin1'), /workbook cannot be read/],
  ['xls', Buffer.from('\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1', 'latin1'), /\.xls/],
])('the message identifies a workbook (%s) and says how to save the file', async (_, file, reason) => {
  expect((await imported(file)).errors).toMatchObject([{ row: 0, reason: expect.stringMatching(reason) }])
})

test('a name garbled by another program is refused', async () => {
  const file = `${HEAD}\n${row({ packageCode: 'D1', name: 'C\uFFFDte' })}\n${row({ packageCode: 'D2', name: 'CÃ´te' })}\n`
  expect((await imported(file)).errors).toMatchObject([
    { row: 2, column: 'name', value: 'C\uFFFDte' },
    { row: 3, column: 'name', value: 'CÃ´te' },
  ])
})
test.each(['price:UDS', 'retailPrice:USX', 'price:usb'])(
  'the column %s is refused because its currency does not exist',
  async (header) => {
    const { imported: done, errors } = await imported(`packageCode,${header}\nE1,4.50\n`)
    expect(done).toBe(false)
    expect(errors).toMatchObject([{ row: 1, reason: expect.stringMatching(/ISO 4217/) }])
  },
)

test('a cost in a nonexistent currency is refused', async () => {
  const file = `${HEAD},costPrice1,costCurrency1\n${row({ packageCode: 'COST' })},1.00,UDS\n`
  expect((await imported(file)).errors).toMatchObject([
    { row: 2, column: 'costCurrency1', reason: expect.stringMatching(/ISO 4217/) },
  ])
})

test('a price in yen is a whole number', async () => {
  const file = (price: string) => `${HEAD},price:JPY\n${row({ packageCode: 'YEN' })},${price}\n`
  expect((await imported(file('450.5'))).errors).toMatchObject([
    { row: 2, column: 'price:JPY', value: '450.5', reason: expect.stringMatching(/whole/) },
  ])
  expect(await imported(file('450'))).toMatchObject({ imported: true })
})
