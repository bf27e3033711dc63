import { expect, test } from 'vitest'
import { findFraction, hasNoMinorUnit, isCurrency } from './currencies.ts'

test('only currencies listed in ISO 4217 are accepted', () => {
  expect(['USD', 'EUR', 'JPY', 'KWD'].filter(isCurrency)).toHaveLength(4)
  expect(['UDS', 'usd', 'USDT', 'BTC', 'ZZZ', ''].filter(isCurrency)).toEqual([])
})

test('the currencies without decimal places match those in Intl', () => {
  const places = (currency: string) =>
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().minimumFractionDigits
  const codes = Intl.supportedValuesOf('currency')
  expect(codes.filter(hasNoMinorUnit)).toEqual(codes.filter((code) => places(code) === 0))
  expect(['JPY', 'KRW', 'VND'].every(hasNoMinorUnit)).toBe(true)
})

test.each([
  [4_500_000n, 'JPY', true],
  [4_505_000n, 'JPY', false],
  [-1n, 'KRW', false],
  [0, 'VND', true],
  [45_001, 'USD', true],
  [45_001, 'KWD', true],
])('%s ten-thousandths in %s are a valid amount: %s', (amount, currency, isAmount) => {
  expect(findFraction(amount, currency) === undefined).toBe(isAmount)
})
