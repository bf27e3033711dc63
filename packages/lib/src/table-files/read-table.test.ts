import { isAscii, isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENCODINGS, findEncoding } from './decode-text.ts'
import { openTable, type TableAnswers } from './read-table.ts'
import { headerKey, type KnownColumns, parseColumnMap } from './table-columns.ts'
import { UnreadableFile } from './unreadable-file.ts'

const NAMES = ['code', 'name', 'note']
const columns: KnownColumns = {
  names: NAMES,
  find: (key) => NAMES.find((name) => headerKey(name) === key),
  check: (found) => (found.includes('code') ? undefined : 'The column code is missing.'),
}

async function* pieces(file: Uint8Array, size = 7) {
  for (let at = 0; at < file.length; at += size) yield file.subarray(at, at + size)
}

async function read(file: Uint8Array | string, answers: TableAnswers = {}, { isSecret = false, size = 7 } = {}) {
  const bytes = typeof file === 'string' ? Buffer.from(file) : file
  const table = await openTable(pieces(bytes, size), { columns, answers, isSecret, rowLengthMax: 100_000 })
  const rows = []
  for await (const row of table.rows) rows.push(row)
  return { ...table, rows, cells: rows.map((row) => row.cells) }
}

async function refusal(file: Uint8Array | string, answers: TableAnswers = {}, options = {}) {
  const error = await read(file, answers, options).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof UnreadableFile)) throw error ?? new Error('it was not refused')
  return error
}

const latin = (text: string) => Buffer.from(text, 'latin1')
const utf16 = (text: string) => Buffer.from(text, 'utf16le')

test.each([
  ['commas', 'code,name\nA,b\n'],
  ['semicolons', 'code;name\r\nA;b\r\n'],
  ['tabs', 'code\tname\rA\tb\r'],
  ['a byte-order mark', '\uFEFFcode,name\nA,b'],
  ['UTF-16', utf16('\uFEFFcode\tname\r\nA\tb\r\n')],
  ['big-endian UTF-16', utf16('\uFEFFcode,name\nA,b\n').swap16()],
  ['headers in other cases', ' CODE ,Na_me\nA,b\n'],
  ["Excel's line for the separator", 'sep=;\r\ncode;name\r\nA;b\r\n'],
  ['empty columns at the end, as Excel adds them', 'code,name,,\nA,b,,\n,,,\nA,b,,\n'.replace(/\nA,b,,\n$/, '\n')],
  ['formulas that keep digits', 'code,name\n="A","=""b"""\n'],
  ['spaces around quotes', 'code, name\n"A" , "b"\n'],
  ['a column that the person maps', 'Article,name\nA,b\n', 'code=article'],
])('a table with %s is parsed correctly', async (_, file, map?: string) => {
  const answers = map === undefined ? {} : { columnMap: parseColumnMap(map) }
  for (const size of [1, 2, 3, 7, 1_000]) {
    const table = await read(file, answers, { size })
    expect(table.columns).toEqual(['code', 'name'])
    expect(table.cells).toEqual([['A', 'b']])
  }
})

test('rows are numbered as in a spreadsheet, counting empty rows and ignoring line breaks in cells', async () => {
  const { rows } = await read('code,name\n\nA,"x\ny"\n,\nB,c\n')
  expect(rows.map(({ row, cells }) => [row, ...cells])).toEqual([
    [3, 'A', 'x\ny'],
    [5, 'B', 'c'],
  ])
})

test.each([
  ['too few cells', 'code,name\nA\n', { column: '' }],
  ['too many cells', 'code,name\nA,b,c\n', { column: '' }],
  ['a value in a column without a name', 'code,,name\nA,x,b\n', { column: 'B', value: 'x' }],
  ['a lost letter', 'code,name\nA,C\uFFFDte\n', { column: 'name', value: 'C\uFFFDte' }],
  ['UTF-8 that was read as Windows-1252', 'code,name\nA,CÃ´te\n', { column: 'name', value: 'CÃ´te' }],
  ['the same with an apostrophe', 'code,name\nA,dâ€™Alba\n', { column: 'name' }],
  ['a control character', 'code,name\nA,x\u0092\n', { column: 'name' }],
])('a row with %s is reported as a fault', async (_, file, fault) => {
  const { rows } = await read(file)
  expect(rows).toEqual([expect.objectContaining({ row: 2, fault: expect.objectContaining(fault) })])
})

test.each([
  ['an old Excel workbook', '\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1', /\.xls\)/],
  ['an OpenDocument spreadsheet', 'PK\x03\x04mimetype application/vnd.oasis.', /\.ods\)/],
  ['an archive', 'PK\x03\x04packages.csv', /ZIP archive: unpack it/],
  ['a PDF', '%PDF-1.7', /PDF/],
  ['a web page', '<html><table><tr>', /web page/],
])('the error names %s and says how to fix the problem', async (_, head, message) => {
  expect((await refusal(latin(head))).message).toMatch(message)
})

test.each([
  ['no header', '', 0, /empty/],
  ['an open quote', 'code,name\nA,"b\nC,d\n', 2, /never closed/],
  ['a quote within a cell', 'code,name\nA,5" screen\n', 2, /middle/],
  ['text after a quote', 'code,name\nA,"b"c\n', 2, /after the closing quote/],
  ['a repeated column', 'code,name,NAME\n', 1, /name is repeated/],
  ['a missing column', 'name\nA\n', 1, /code is missing/],
])('a table with %s is refused with the row number', async (_, file, row, message) => {
  const error = await refusal(file)
  expect(error).toMatchObject({ row, message: expect.stringMatching(message) })
})

test('the error about an open quote names the column by its letter', async () => {
  expect(await refusal('code,name\nA,"b\n')).toMatchObject({ row: 2, column: 'B', value: '"b\n' })
})

test('unknown columns raise a question that includes an example', async () => {
  const { question, message } = await refusal('SKU,name\nA1,b\n')
  expect(message).toMatch(/Unknown column “SKU”/)
  expect(question).toEqual({
    kind: 'COLUMNS',
    columns: NAMES,
    headers: [
      { header: 'SKU', column: null, example: 'A1' },
      { header: 'name', column: 'name', example: 'b' },
    ],
  })
})

test('a question about an activation-code file shows the form of a cell, not its content', async () => {
  const { question } = await refusal('Key\nLPA:1$smdp.example.com$AB-12\n', {}, { isSecret: true })
  expect(question).toMatchObject({ headers: [{ example: 'AAA:9$aaaa.aaaaaaa.aaa$AA-99' }] })
})

test('columns that a map leaves out are reported but not read', async () => {
  const table = await read('SKU,Colour,name\nA,red,b\n', { columnMap: parseColumnMap('code=SKU') })
  expect(table).toMatchObject({ columns: ['code', 'name'], ignored: ['Colour'], cells: [['A', 'b']] })
})

test.each([
  ['code=Nothing', /no column “nothing”/],
  ['colour=SKU', /no column colour/],
])('a column map that does not fit (%s) is refused', async (map, message) => {
  const error = await refusal('SKU,name\nA,b\n', { columnMap: parseColumnMap(map) })
  expect(error.message).toMatch(message)
})

const COTE = latin('code,name\nX,plain\nE1,C\xF4te d\x92Alba\n')

test('Windows-1252 is not guessed, but the rows are shown as they would read in that encoding', async () => {
  for (const size of [5, 1_000]) {
    const { row, question } = await refusal(COTE, {}, { size })
    expect(row).toBe(3)
    const choices = question?.kind === 'ENCODING' ? question.choices : []
    expect(choices[0]).toEqual({ encoding: 'windows-1252', rows: ['E1,Côte d’Alba'] })
    expect(choices.find(({ encoding }) => encoding === 'windows-1251')?.rows).toEqual(['E1,C\u0444te d’Alba'])
  }
})

test('the specified encoding is used', async () => {
  expect((await read(COTE, { encoding: 'windows-1252' })).cells).toEqual([
    ['X', 'plain'],
    ['E1', 'Côte d’Alba'],
  ])
})

test('a question about activation codes shows only cells with letters outside ASCII', async () => {
  const { question } = await refusal(COTE, {}, { isSecret: true })
  expect(question).toMatchObject({
    choices: expect.arrayContaining([{ encoding: 'windows-1252', rows: ['…, Côte d’Alba'] }]),
  })
})

test('UTF-16 without a byte-order mark raises a question', async () => {
  const { question } = await refusal(utf16('code,name\r\nA,é\r\n'), {}, { size: 1_000 })
  expect(question).toMatchObject({ choices: [{ encoding: 'utf-16le', rows: ['code,name', 'A,é'] }] })
})

test('bytes that do not exist in the specified encoding are refused', async () => {
  expect((await refusal(latin('code,name\nA,\xFF\n'), { encoding: 'shift_jis' })).message).toMatch(
    /not entirely in shift_jis/,
  )
  const { rows } = await read(latin('code,name\nA,\x81\n'), { encoding: 'windows-1252' })
  expect(rows[0]!.fault).toMatchObject({ column: 'name' })
})

test('an encoding can be specified by several names', () => {
  expect(['latin1', 'ISO-8859-1', 'cp1252', 'Shift_JIS', 'sjis', 'utf8'].map(findEncoding)).toEqual([
    ...['windows-1252', 'windows-1252', 'windows-1252', 'shift_jis', 'shift_jis', 'utf-8'],
  ])
  expect(['klingon', ''].map(findEncoding)).toEqual([undefined, undefined])
})

/** How a program writes a table. */
interface Dialect {
  separator: ',' | ';' | '\t'
  lineEnd: '\n' | '\r\n' | '\r'
  quoteAll: boolean
  emptyColumns: number
  upperCase: boolean
  encoding: 'utf-8' | 'utf-8 with mark' | 'utf-16le' | 'utf-16be' | 'windows-1252'
}

const dialects: fc.Arbitrary<Dialect> = fc.record({
  separator: fc.constantFrom(',', ';', '\t'),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  quoteAll: fc.boolean(),
  emptyColumns: fc.constantFrom(0, 0, 1, 3),
  upperCase: fc.boolean(),
  encoding: fc.constantFrom('utf-8', 'utf-8 with mark', 'utf-16le', 'utf-16be', 'windows-1252'),
})

function write(table: string[][], dialect: Dialect): Uint8Array {
  const { separator, lineEnd, quoteAll, emptyColumns, upperCase, encoding } = dialect
  const quoted = (cell: string) =>
    quoteAll || /["\r\n,;\t]|^[ \t]|[ \t]$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
  const lines = [upperCase ? NAMES.map((name) => name.toUpperCase()) : NAMES, ...table]
  const text = lines
    .map((cells) => [...cells.map(quoted), ...Array<string>(emptyColumns).fill('')].join(separator) + lineEnd)
    .join('')
  if (encoding === 'utf-8') return Buffer.from(text)
  if (encoding === 'utf-8 with mark') return Buffer.from(`\uFEFF${text}`)
  if (encoding === 'utf-16le') return utf16(`\uFEFF${text}`)
  if (encoding === 'utf-16be') return utf16(`\uFEFF${text}`).swap16()
  return latin(text.replaceAll('’', '\x92').replaceAll('€', '\x80'))
}

const cell = fc.string({ unit: fc.constantFrom(...'aZ09 ,;\t"=\'-+@\r\néôÑß’€$&#.'), maxLength: 12 })

test('any table in any dialect parses back unchanged, or is refused with its row', async () => {
  const tables = fc.array(
    fc.tuple(fc.string({ unit: fc.constantFrom(...'AB12'), minLength: 1, maxLength: 3 }), cell, cell),
    {
      maxLength: 6,
    },
  )
  await fc.assert(
    fc.asyncProperty(tables, dialects, fc.integer({ min: 1, max: 40 }), async (table, dialect, size) => {
      const file = write(table, dialect)
      // Nobody can tell “é’€” in Windows-1252 from “钀” in UTF-8: the bytes are the same.
      fc.pre(dialect.encoding !== 'windows-1252' || isAscii(file) || !isUtf8(file))
      const readAs = async (answers: TableAnswers) => (await read(file, answers, { size })).rows
      const rows = await readAs({}).catch(async (error: unknown) => {
        if (!(error instanceof UnreadableFile)) throw error
        expect(dialect.encoding).toBe('windows-1252')
        expect(error.question?.kind).toBe('ENCODING')
        expect(error.row).toBeGreaterThan(0)
        return readAs({ encoding: 'windows-1252' })
      })
      const good = rows.filter(({ fault }) => !fault)
      for (const { fault, row } of rows) if (fault) expect([row > 0, fault.reason.length > 0]).toEqual([true, true])
      // A formula that consists of one quoted text is read as that text.
      const plain = (value: string) => /^="([^"]*)"$/.exec(value)?.[1] ?? value
      const written = table.map((cells) => cells.map(plain))
      const faulty = new Set(rows.filter(({ fault }) => fault).map(({ cells }) => JSON.stringify(cells)))
      expect(good.map(({ cells }) => cells)).toEqual(written.filter((cells) => !faulty.has(JSON.stringify(cells))))
    }),
    { numRuns: 500 },
  )
})

test('any bytes are either parsed or refused with an error', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(undefined, ...ENCODINGS),
      async (bytes, encoding) => {
        const file = Buffer.concat([Buffer.from('code,name\n'), bytes])
        await read(file, { encoding }).catch((error: unknown) => {
          if (!(error instanceof UnreadableFile)) throw error
        })
      },
    ),
  )
})
