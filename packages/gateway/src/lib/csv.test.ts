import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { csvText, unescapeFormula } from './csv.ts'

const FORMULAS = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＠x']
const LOOK_ESCAPED = [...FORMULAS, "'=1"].map((text) => `'${text}`)
const PLAIN = ["'quoted'", "it's", 'a=b', '5-3', 'he said "two, three"\nand left']

const cellOf = (value: unknown) => (parse(csvText([[value, 'x']])) as string[][])[0]![0]!

test.each([...FORMULAS, ...LOOK_ESCAPED, ...PLAIN])('%j begins no formula, and is read as it was', (text) => {
  const cell = cellOf(text)
  expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/)
  expect(unescapeFormula(cell)).toBe(text)
})

test.each(PLAIN)('%j stays as it is', (text) => {
  expect(cellOf(text)).toBe(text)
})

test('amounts and numbers below zero stay numbers', () => {
  expect(csvText([[-125_000n, -5, null, new Date('2026-11-20T13:28:09.000Z')]])).toBe(
    '-12.50,-5,,2026-11-20T13:28:09.000Z\n',
  )
})
