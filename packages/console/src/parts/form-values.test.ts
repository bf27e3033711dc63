import { expect, it } from 'vitest'
import { formatMoneyInput, parseMoneyInput } from './form-values.ts'

it.each([
  ['1250.00', 12_500_000],
  [' 4.5 ', 45_000],
  ['-0.50', -5_000],
  ['0', 0],
])('the amount %j is read as %s ten-thousandths', (typed, amount) => {
  expect(parseMoneyInput(typed)).toEqual({ amount })
})

it.each([
  ['1,250', 'write it like 1250.00'],
  ['1,25', 'write it like 1250.00'],
  ['1.250,00', 'write it like 1250.00'],
  ['1 250', 'write it like 1250.00'],
  ['', 'write it like 1250.00'],
  ['1.00001', 'more than 4 decimal places'],
  ['900719925474.0992', 'the maximum is 900719925474.0991'],
])('the ambiguous or malformed amount %j is rejected with the right format', (typed, words) => {
  expect(parseMoneyInput(typed)).toEqual({ error: expect.stringContaining(words) })
})

it('a formatted amount is read back unchanged, and no amount is empty', () => {
  for (const amount of [12_500_000, 45_010, -1, 0])
    expect(parseMoneyInput(formatMoneyInput(amount))).toEqual({ amount })
  expect([formatMoneyInput(null), formatMoneyInput(undefined)]).toEqual(['', ''])
})
