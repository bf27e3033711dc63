import { expect, test } from 'vitest'
import { STATED_SIZES, statedMegabytes } from './readme-commands.ts'

// Measuring takes minutes, so a page whose wording no pattern matches is found here first.
test.each(Object.keys(STATED_SIZES) as (keyof typeof STATED_SIZES)[])('the size of %s is stated', (of) => {
  expect(statedMegabytes(of).length).toBeGreaterThan(0)
})
