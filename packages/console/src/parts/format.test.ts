import { expect, it } from 'vitest'
import { asSentence, roundSum } from './format.ts'

it.each([
  ['out of stock', 'Out of stock.'],
  [
    'a code from stock cannot be returned after it was shown',
    'A code from stock cannot be returned after it was shown.',
  ],
  ['eSIM is installed', 'eSIM is installed.'],
  ['limit_reached', 'limit_reached.'],
  ['insufficient: balance', 'Insufficient: balance.'],
  ['None left. Try tomorrow.', 'None left. Try tomorrow.'],
  ['refused (code 73.)', 'Refused (code 73.)'],
  ['缺货', '缺货。'],
  ['供应商拒绝了订单。', '供应商拒绝了订单。'],
  [' ', ''],
])('the reason “%s” reads “%s” as a sentence', (reason, sentence) => {
  expect(asSentence(reason)).toBe(sentence)
})

it.each([
  ['USD', 699_720, 699_700],
  ['USD', -850_640, -850_600],
  ['JPY', 1_234_999, 1_230_000],
])('a sum in %s is rounded to the decimals of the currency', (currency, sum, rounded) => {
  expect(roundSum(sum, currency)).toBe(rounded)
})
