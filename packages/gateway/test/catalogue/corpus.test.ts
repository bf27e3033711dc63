import { createReadStream, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { importPackages } from '#catalogue/files/import-packages.ts'
import { findDocuments } from '#catalogue/packages/read-packages.ts'
import { parseEsims } from '#stock/stock-csv.ts'
import { type CatalogueTestbed, createCatalogueTestbed } from '../harness/catalogue-testbed.ts'

const FOLDER = join(import.meta.dirname, 'corpus')

let testbed: CatalogueTestbed
beforeAll(async () => {
  testbed = await createCatalogueTestbed()
})
beforeEach(async () => {
  for (const table of ['package_suppliers', 'list_prices', 'packages']) {
    await testbed.db.query({ text: `delete from ${table} where package_code in ('COTE_1_7', 'KOLN_1_7')` })
  }
})
afterAll(() => testbed.close())

const imported = (file: string, answers: TableAnswers = {}) =>
  importPackages(
    testbed.deps,
    { format: 'csv', source: createReadStream(join(FOLDER, file)), dryRun: false, answers },
    testbed.by,
  )

const PACKAGES: [file: string, encoding?: TableAnswers['encoding']][] = [
  ['libreoffice-semicolons.csv'],
  ['libreoffice-windows-1252.csv', 'windows-1252'],
  ['libreoffice-windows-1252-tabs.csv', 'windows-1252'],
  ['excel-csv-utf-8.csv'],
  ['excel-csv.csv', 'windows-1252'],
  ['excel-german-csv.csv', 'windows-1252'],
  ['excel-unicode-text.txt'],
  ['excel-csv-macintosh.csv', 'macintosh'],
  ['excel-separator-line.csv'],
  ['libreoffice.xlsx'],
]

test.each(PACKAGES)(
  '%s imports both packages, once a person has chosen the encoding if it is uncertain',
  async (file, encoding) => {
    if (encoding !== undefined) {
      const { question } = await imported(file)
      const choices = question?.kind === 'ENCODING' ? question.choices : []
      expect(choices.find((choice) => choice.encoding === encoding)?.rows[0]).toContain('Côte d’Azur')
    }
    expect(await imported(file, { encoding })).toMatchObject({ imported: true, added: 2, errors: [] })
    const documents = await testbed.db.tx((tx) => findDocuments(tx, ['COTE_1_7', 'KOLN_1_7']))
    expect([...documents.values()]).toMatchObject([
      { name: 'Côte d’Azur', volume: 1_073_741_824, prices: [{ currencyCode: 'USD', price: 45_000 }] },
      { name: 'Köln, 1 GB', volume: 1_610_612_736, prices: [{ currencyCode: 'USD', price: 122_500 }] },
    ])
  },
)

const OTHERS: [file: string, advice: RegExp][] = [
  ['libreoffice.xls', /Excel workbook in the old format \(\.xls\)/],
  ['libreoffice.ods', /OpenDocument spreadsheet \(\.ods\)/],
  ['portal.xls', /web page/],
]

test.each(OTHERS)('%s is refused with a message that says how to save the file', async (file, advice) => {
  const report = await imported(file)
  expect(report).toMatchObject({ imported: false, errors: [{ row: 0, reason: expect.stringMatching(advice) }] })
})

async function esims(file: string) {
  const rows = []
  for await (const row of parseEsims(createReadStream(join(FOLDER, file)))) rows.push(row)
  return rows
}

test('esim-go.csv is accepted as it is', async () => {
  expect(await esims('esim-go.csv')).toMatchObject([
    { row: 2, esim: { iccid: '8985200000000010126', ac: 'LPA:1$rsp.example.com$AB-12' } },
  ])
})

test('ICCIDs that a spreadsheet has changed are refused', async () => {
  await expect(esims('excel-cut-iccids.csv')).rejects.toThrow(/row 2, iccid: All ICCIDs .* zeros after the 15th digit/)
  expect(await esims('libreoffice-rounded-iccids.csv')).toMatchObject([
    { row: 2, column: 'iccid', reason: expect.stringMatching(/digits are lost/) },
    { row: 3, column: 'iccid', reason: expect.stringMatching(/digits are lost/) },
  ])
})

test('every file in the corpus is tested', () => {
  const tested = [...PACKAGES, ...OTHERS].map(([file]) => file)
  tested.push('esim-go.csv', 'excel-cut-iccids.csv', 'libreoffice-rounded-iccids.csv', 'README.md', '.gitattributes')
  expect(readdirSync(FOLDER).sort()).toEqual(tested.sort())
})
