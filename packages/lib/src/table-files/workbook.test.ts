import { type Zippable, zipSync } from 'fflate'
import { expect, test } from 'vitest'
import { UnreadableFile } from './unreadable-file.ts'
import { workbookRecords } from './workbook.ts'

const SPREADSHEET = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** A workbook as programs write it, with one sheet per entry: its name and the XML of its cells, by row. */
function workbook(sheets: Record<string, string>, more: Zippable = {}): Uint8Array {
  const names = Object.keys(sheets)
  const listed = names.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`)
  const related = names.map(
    (_, index) =>
      `<Relationship Id="rId${index + 1}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`,
  )
  const parts = {
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml': `<workbook xmlns="${SPREADSHEET}" xmlns:r="${RELATIONS}"><sheets>${listed.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${related.join('')}<Relationship Id="rId98" Type="${RELATIONS}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${SPREADSHEET}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
    ...Object.fromEntries(
      Object.values(sheets).map((rows, index) => [
        `xl/worksheets/sheet${index + 1}.xml`,
        `<worksheet xmlns="${SPREADSHEET}"><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
  }
  const bytes = Object.entries(parts).map(([name, text]) => [name, new TextEncoder().encode(text)])
  return zipSync({ ...Object.fromEntries(bytes), ...more })
}

const text = (cell: string, value: string) => `<c r="${cell}" t="inlineStr"><is><t>${value}</t></is></c>`
const number = (cell: string, value: string, style = 0) => `<c r="${cell}" s="${style}"><v>${value}</v></c>`
const row = (place: number, ...cells: string[]) => `<row r="${place}">${cells.join('')}</row>`

async function refusal(file: Uint8Array) {
  const error = await workbookRecords(file).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof UnreadableFile)) throw error ?? new Error('it was not refused')
  return error
}

test.each([
  ['text as it is', text('A1', ' Côte &amp; d’Azur '), ' Côte & d’Azur '],
  ['a price that binary numbers miss', number('A1', '4.0999999999999996'), '4.1'],
  ['a computed price', number('A1', '3.3000000000000003'), '3.3'],
  ['a whole number', number('A1', '30'), '30'],
  ['an amount in thousands', number('A1', '1234567.5'), '1234567.5'],
  ['a day', number('A1', '46400', 1), '2027-01-13'],
  ['a day with a time', number('A1', '46400.5', 2), '2027-01-13T12:00:00'],
  ['a yes or no', '<c r="A1" t="b"><v>1</v></c>', 'TRUE'],
  ['the result of a formula', '<c r="A1" t="str"><f>A2</f><v>x</v></c>', 'x'],
  ['an ICCID that was kept as text', text('A1', '8985200000000010126'), '8985200000000010126'],
  ['an ICCID that has lost its digits', number('A1', '8.9852000000000102E18'), '8.98520000000001E+18'],
  ['a number of 15 digits', number('A1', '123456789012345'), '123456789012345'],
])('%s', async (_, cell, expected) => {
  expect(await workbookRecords(workbook({ Sheet1: row(1, cell) }))).toEqual([{ row: 1, cells: [expected] }])
})

test('rows and columns keep their positions, and empty sheets are ignored', async () => {
  const rows = row(2, text('B2', 'x'), text('D2', 'y')) + row(4, text('A4', 'z'))
  expect(await workbookRecords(workbook({ List: rows, Sheet2: '', Sheet3: '' }))).toEqual([
    { row: 1, cells: ['', '', '', ''] },
    { row: 2, cells: ['', 'x', '', 'y'] },
    { row: 3, cells: ['', '', '', ''] },
    { row: 4, cells: ['z', '', '', ''] },
  ])
})

test.each([
  ['shows an error', '<c r="C1" t="e"><f>1/0</f><v>#DIV/0!</v></c>', /error/],
  ['has a formula without its result', '<c r="C1"><f>A1*2</f></c>', /without its result/],
])('the error message names a cell that %s', async (_, cell, message) => {
  const file = workbook({ Sheet1: row(1, text('A1', 'x'), cell) })
  expect(await refusal(file)).toMatchObject({ row: 1, column: 'C', message: expect.stringMatching(message) })
})

test.each([
  ['two tables', workbook({ EUR: row(1, text('A1', 'x')), USD: row(1, text('A1', 'y')) }), /“EUR”, “USD”/],
  ['no cells', workbook({ Sheet1: '' }), /empty/],
  ['cut contents', workbook({ Sheet1: row(1, text('A1', 'x')) }).subarray(0, 600), /cannot be read.*CSV UTF-8/],
  ['no sheets', zipSync({ '[Content_Types].xml': new Uint8Array() }), /cannot be read/],
])('a workbook with %s is refused', async (_, file, message) => {
  expect(await refusal(file)).toMatchObject({ row: 0, message: expect.stringMatching(message) })
})

test.each([
  [
    'a cell in the last row and column of Excel',
    () => row(1, text('A1', 'x')) + row(1_048_576, text('XFD1048576', 'y')),
    {},
  ],
  ['a part that unpacks to 50 MB', () => row(1, text('A1', 'x')), { 'xl/drawing.xml': new Uint8Array(50 * 1_048_576) }],
])('a workbook with %s is refused quickly and without using much memory', async (_, rows, more) => {
  const file = workbook({ Sheet1: rows() }, more)
  expect(file.length).toBeLessThan(200_000)
  const before = process.memoryUsage().rss
  expect((await refusal(file)).message).toMatch(/too large/)
  expect(process.memoryUsage().rss - before).toBeLessThan(700 * 1_048_576)
})
