import { MONEY_MAX } from '@dealer-esim/contract'
import { expect, test } from 'vitest'
import { feeOf } from './esim-action.ts'

test.each([
  ['half a unit', 1n, 50, 1n],
  ['less than half a unit', 1n, 49, 0n],
  ['one and a half', 3n, 50, 2n],
  ['the whole price', 3n, 100, 3n],
  ['nothing', 3n, 0, 0n],
  ['of a free eSIM', 0n, 100, 0n],
  ['of the largest price', BigInt(MONEY_MAX), 99, 8_917_127_262_193_581n],
])('a fee is rounded half up, and never exceeds the price: %s', (_, price, percent, fee) => {
  expect(feeOf(price, percent, 'USD')).toBe(fee)
})

test.each([
  ['ten percent of 455', 4_550_000n, 10, 460_000n], // 45.5
  ['ten percent of 454', 4_540_000n, 10, 450_000n],
  ['the whole of an old price with a fraction', 45_000n, 100, 45_000n],
])('a fee in yen is a whole number: %s', (_, price, percent, fee) => {
  expect(feeOf(price, percent, 'JPY')).toBe(fee)
})
