import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { findEncoding } from '@dealer-esim/lib/table-files/decode-text.ts'
import type { TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { parseColumnMap } from '@dealer-esim/lib/table-files/table-columns.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { importStock } from '#stock/import-stock.ts'
import { CsvRefused } from '#stock/stock-csv.ts'
import { BY, createStockTestbed, type StockTestbed } from './stock-testbed.ts'

let stock: StockTestbed
beforeAll(async () => {
  stock = await createStockTestbed()
})
beforeEach(() => stock.clear())
afterAll(() => stock.close())

async function load(file: string | Buffer, answers: TableAnswers = {}, batchName?: string) {
  const warnings: string[] = []
  const { codes } = await importStock(
    stock.shop,
    {
      ...{ supplier: 'warehouse', productCode: 'P', batchName, answers },
      ...{ file: Readable.from([Buffer.from(file)]), warn: (message) => warnings.push(message) },
    },
    BY,
  )
  return { codes, warnings: warnings.filter((text) => !text.startsWith('No package sells')) }
}

async function refusal(file: string | Buffer, answers: TableAnswers = {}): Promise<CsvRefused> {
  const error = await load(file, answers).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof CsvRefused)) throw error ?? new Error('it was not refused')
  expect(await stock.shop.db.query({ text: 'select from stock_codes' })).toHaveLength(0)
  return error
}

const stored = () => stock.shop.db.query<{ iccid: string }>({ text: 'select iccid from stock_codes order by code_id' })

const ICCID = makeIccid('8985', 4_711)
const OTHER = makeIccid('8985', 4_712)
const AC = 'LPA:1$smdp.example.com$AB-12'

test.each([
  [
    'a wholesaler’s layout with quotes',
    `"ICCID","Matching ID","RSP URL","Bundle"\n"${ICCID}","AB-12","smdp.example.com","esim_1GB"\n`,
  ],
  [
    'a wholesaler’s layout with underscores',
    `iccid,matching_id,smdp_plus_uri\n${ICCID},AB-12,https://smdp.example.com/\n`,
  ],
  ['semicolons and headers in capitals', `ICCID;AC\r\n${ICCID};${AC}\r\n`],
  ['tabs in UTF-16', Buffer.from(`\uFEFFiccid\tac\r\n${ICCID}\t${AC}\r\n`, 'utf16le')],
  ['empty columns at the end', `iccid,ac,,\n${ICCID},${AC},,\n,,,\n`],
  ['formulas that keep digits', `iccid,ac\n="${ICCID}",${AC}\n`],
  ['formulas in quotes', `iccid,ac\n"=""${ICCID}""",${AC}\n`],
])('%s imports correctly', async (_, file) => {
  expect(await load(file)).toMatchObject({ codes: 1 })
  expect(await stored()).toEqual([{ iccid: ICCID }])
  expect(await stock.order('FORM-1')).toMatchObject([
    { kind: 'delivered', esim: { iccid: ICCID, smdpAddress: 'smdp.example.com', matchingId: 'AB-12' } },
  ])
})

test('for an unknown layout, the import asks the user and reads the file accordingly', async () => {
  const file = `SIM No;Code;Colour\n${ICCID};${AC};red\n`
  const { question, faults } = await refusal(file)
  expect(faults).toMatchObject([
    { row: 1, reason: expect.stringMatching(/Unknown columns “SIM No”, “Code”, “Colour”/) },
  ])
  expect(question).toMatchObject({
    kind: 'COLUMNS',
    headers: [{ header: 'SIM No' }, { header: 'Code' }, { header: 'Colour' }],
  })
  const { codes, warnings } = await load(file, { columnMap: parseColumnMap('iccid=SIM No,ac=Code') })
  expect([codes, warnings]).toEqual([1, ['These columns were not read: Colour.']])
})

test('codes for two bundles in one file are refused, because an import covers one product', async () => {
  const file = `ICCID,Matching ID,RSP URL,Bundle\n${ICCID},A,smdp.example.com,esim_1GB\n${OTHER},B,smdp.example.com,esim_5GB\n`
  expect((await refusal(file)).faults).toMatchObject([{ row: 3, column: 'bundle', value: 'esim_5GB' }])
})

test.each([
  [
    'a rounded ICCID',
    `iccid,ac\n8.9852E+18,${AC}\n`,
    { column: 'iccid', value: '8.9852E+18', reason: /last digits are lost: get the file again/ },
  ],
  ['the same with a decimal comma', `iccid;ac\n8,9852E+18;${AC}\n`, { column: 'iccid', reason: /lost/ }],
  [
    'a confirmation code that is demanded and absent',
    `iccid,ac\n${ICCID},${AC}$$1\n`,
    { column: 'confirmationCode', reason: /ends in \$1/ },
  ],
  [
    'a matching id with a character of HTML',
    `iccid,ac\n${ICCID},LPA:1$smdp.example.com$AB&#45;12\n`,
    { column: 'ac', reason: /&#45; stands for a character/ },
  ],
  [
    'the same in a column of its own',
    `iccid,smdpAddress,matchingId\n${ICCID},smdp.example.com,A&amp;B\n`,
    { column: 'matchingId', reason: /&amp;/ },
  ],
])('%s is refused with its row and column', async (_, file, fault) => {
  const { reason, ...place } = fault
  expect((await refusal(file)).faults).toMatchObject([{ row: 2, ...place, reason: expect.stringMatching(reason) }])
})

test('an activation code is imported together with the confirmation code that it requires', async () => {
  expect(await load(`iccid,ac,confirmationCode\n${ICCID},${AC}$$1,4711\n`)).toMatchObject({ codes: 1 })
})

const cutIccid = (serial: number) => `898520000000${500 + serial}0000`

test('ICCIDs that a spreadsheet has cut to 15 digits are refused, listing fifty rows and the total', async () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, i) => `${cutIccid(i)},LPA:1$smdp.example.com$D${i}`).join('\n')
  const { faults, count, message } = await refusal(`iccid,ac\n${rows(60)}\n`)
  expect([faults.length, count]).toEqual([50, 60])
  expect(faults[0]).toMatchObject({
    row: 2,
    column: 'iccid',
    value: cutIccid(0),
    reason: expect.stringMatching(/15th digit/),
  })
  expect(message).toMatch(/60 faults in total/)
  expect((await refusal(`iccid,ac\n${rows(2)}\n`)).faults).toHaveLength(2)
})

test('an ICCID that looks truncated is imported with a warning if alone, and without one among others', async () => {
  const one = `${cutIccid(1)},LPA:1$smdp.example.com$ONE`
  const { codes, warnings } = await load(`iccid,ac\n${one}\n`)
  expect([codes, warnings.filter((text) => text.includes('zeros'))]).toEqual([
    1,
    [expect.stringContaining(cutIccid(1))],
  ])
  await stock.clear()
  expect(await load(`iccid,ac\n${one}\n${ICCID},${AC}\n`)).toEqual({
    codes: 2,
    warnings: expect.not.arrayContaining([/zeros/]),
  })
})

test('a duplicate is reported with the other row, or with the batch that contains the code', async () => {
  const first = `iccid,ac\n${ICCID},${AC}\n`
  const twice = await refusal(`${first}\n${OTHER},${AC}\n${ICCID},LPA:1$smdp.example.com$C\n`)
  expect(twice.faults).toEqual([
    { row: 4, column: 'iccid', value: OTHER, reason: 'Its activation code is in row 2 too: remove one of them.' },
    { row: 5, column: 'iccid', value: ICCID, reason: 'The ICCID is in row 2 too: remove one of them.' },
  ])
  await load(first, {}, 'May delivery')
  const again = await load(`iccid,ac\n${ICCID},LPA:1$smdp.example.com$C\n${OTHER},${AC}\n`).catch((error) => error)
  expect(again.message).toBe(
    [
      `row 2, iccid: The ICCID is in the stock of warehouse already, product P, batch “May delivery”: remove the row. Found: “${ICCID}”.`,
      `row 3, iccid: Its activation code is in the stock of warehouse already, product P, batch “May delivery”: remove the row. Found: “${OTHER}”.`,
    ].join('\n'),
  )
})

test('a file in another encoding is read only after the user has chosen the encoding', async () => {
  const file = Buffer.from(`iccid,ac,apn\n${ICCID},${AC},caf\xE9\n`, 'latin1')
  const { question, message } = await refusal(file)
  expect(message).toMatch(/^row 2: Row 2 is not in UTF-8/)
  expect(question).toMatchObject({
    choices: expect.arrayContaining([{ encoding: 'windows-1252', rows: ['…, …, café'] }]),
  })
  expect(JSON.stringify(question)).not.toContain('AB-12')
  expect(await load(file, { encoding: findEncoding('latin1') })).toMatchObject({ codes: 1 })
})
