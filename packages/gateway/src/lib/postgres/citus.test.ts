import { expect, it } from 'vitest'
import { isTested } from './citus.ts'

it.each([
  ['13.2-1', true],
  ['13.0-1', true],
  ['14.0-1', false],
  ['12.1-1', false],
])('Citus %s was tested: %s', (version, expected) => {
  expect(isTested({ version })).toBe(expected)
})
