import { expect, test } from 'vitest'
import { NO_CODES } from '#stock/stock.ts'
import { resultText } from './supplier.ts'

test('a failed test names the command that corrects it; a stock without codes needs codes, not settings', () => {
  expect(resultText('depot', NO_CODES)).toBe(
    'It has no codes to sell. Import some with: stock import FILE --supplier depot --product CODE',
  )
  expect(resultText('smdp', 'no answer within 30 s')).toBe(
    'Its test failed: no answer within 30 s. Correct it with: supplier set smdp',
  )
  expect(resultText('smdp', null)).toBe('It works.')
})
