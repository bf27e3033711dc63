import { expect, test } from 'vitest'
import { parseWholeNumber } from './parse-options.ts'

test.each<[string, { min?: number; max?: number }, number]>([
  ['1', {}, 1],
  ['0', { min: 0 }, 0],
  ['100', { max: 100 }, 100],
  ['999999999999999', {}, 999_999_999_999_999],
])('%s is accepted as a whole number in %o', (text, range, number) => {
  expect(parseWholeNumber(text, '--limit', range)).toBe(number)
})

test.each<[string, { min?: number; max?: number }, string]>([
  ['0', {}, 'above zero'],
  ['101', { max: 100 }, 'from 1 to 100'],
  ['x', { min: 0 }, 'from 0 on'],
  ['1e3', {}, 'above zero'],
  ['-1', { min: 0 }, 'from 0 on'],
  ['', { min: 0 }, 'from 0 on'],
  ['1000000000000000', {}, 'above zero'],
])('“%s” is refused in %o with the allowed range', (text, range, words) => {
  expect(() => parseWholeNumber(text, '--limit', range)).toThrow(
    `--limit takes a whole number ${words}, not “${text}”.`,
  )
})
