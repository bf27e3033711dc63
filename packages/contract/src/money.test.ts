import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatMoney, MalformedMoney, parseMoney } from './money.ts'

test.each([
  ['1250.00', 12_500_000n],
  ['1250', 12_500_000n],
  ['0', 0n],
  ['0.0001', 1n],
  ['-3.5', -35_000n],
  ['007', 70_000n],
  ['900719925474.0991', 9_007_199_254_740_991n],
  ['-900719925474.0991', -9_007_199_254_740_991n],
])('%s is parsed as %s ten-thousandths', (text, units) => {
  expect(parseMoney(text)).toBe(units)
})

test.each([
  ['', 'is not an amount'],
  ['-', 'is not an amount'],
  ['.5', 'is not an amount'],
  ['5.', 'is not an amount'],
  ['1,250.00', 'is not an amount'],
  ['1.250,00', 'is not an amount'],
  ['1 250', 'is not an amount'],
  ['+1', 'is not an amount'],
  ['1e3', 'is not an amount'],
  ['0x10', 'is not an amount'],
  ['١٢', 'is not an amount'],
  ['1\n', 'is not an amount'],
  ['9'.repeat(1000), 'is not an amount'],
  ['1.00000', 'more than 4 decimal places'],
  ['900719925474.0992', 'too large: the maximum is 900719925474.0991'],
])('%j is rejected with a reason', (text, reason) => {
  expect(() => parseMoney(text)).toThrow(MalformedMoney)
  expect(() => parseMoney(text)).toThrow(reason)
})

test.each([
  [12_500_000n, '1250.00'],
  [45_000, '4.50'],
  [1n, '0.0001'],
  [-1n, '-0.0001'],
  [-45_010, '-4.501'],
  [0n, '0.00'],
])('%s is formatted as %s', (units, text) => {
  expect(formatMoney(units)).toBe(text)
})

test('a formatted amount parses back to itself', () => {
  const limit = BigInt(Number.MAX_SAFE_INTEGER)
  fc.assert(
    fc.property(fc.bigInt(-limit, limit), (units) => {
      expect(parseMoney(formatMoney(units))).toBe(units)
    }),
  )
})
