import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvText, unescapeFormula } from './csv.ts'

const FORMULAS = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＠x']
const LOOK_ESCAPED = [...FORMULAS, "'=1"].map((text) => `'${text}`)
const PLAIN = ["'quoted'", "it's", 'a=b', '5-3', 'he said "two, three"\nand left', 'a;b', 'a; =b', 'a,=b', 'x\r\n\r\ny']

const cellOf = (value: unknown) => (parse(csvText([[value, 'x']])) as string[][])[0]![0]!

const INNER = [
  'a;=1',
  'a;"=1',
  'a;""+1',
  'a\t@x',
  'a\n-1',
  'a\r\n＝1',
  ';=1',
  "a;'=1",
  'a;=1;=2',
  '\t=1',
  "''=1;''=1",
  '{"a":"x;-1"}',
]

/** Splits the line like a program that knows only this separator, which treats quotes in the middle of a cell as text. */
function cellsBy(separator: string, file: string): string[] {
  return file.split(new RegExp(`[${separator}\\r\\n]`)).map((cell) => cell.replace(/^"+/, ''))
}

test.each(INNER)(
  '%j does not begin a formula in a list separated by semicolons or tabs, and parses back unchanged',
  (text) => {
    const file = csvText([['x', text]])
    for (const separator of [';', '\t']) {
      for (const cell of cellsBy(separator, file)) expect(cell).not.toMatch(/^[=+\-@＝＋－＠]/)
    }
    expect(file).toMatch(/^x,"/) // in one cell for programs that accept several separators
    expect(unescapeFormula((parse(file) as string[][])[0]![1]!)).toBe(text)
  },
)

test('every text parses back unchanged', () => {
  const texts = fc.string({ unit: fc.constantFrom(...`=-@'";,\n\r\t＝ a`), maxLength: 10 })
  fc.assert(
    fc.property(texts, (text) => {
      expect(unescapeFormula(cellOf(text))).toBe(text)
    }),
  )
})

test.each([...FORMULAS, ...LOOK_ESCAPED, ...PLAIN])(
  '%j does not begin a formula, and parses back unchanged',
  (text) => {
    const cell = cellOf(text)
    expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/)
    expect(unescapeFormula(cell)).toBe(text)
  },
)

test.each(PLAIN)('%j is written unchanged, without an escape', (text) => {
  expect(cellOf(text)).toBe(text)
})

test('negative amounts and numbers stay numbers', () => {
  expect(csvText([[-125_000n, -5, null, new Date('2026-11-20T13:28:09.000Z')]])).toBe(
    '-12.50,-5,,2026-11-20T13:28:09.000Z\n',
  )
})
