import { expect, test } from 'vitest'
import { STATED_SIZES, statedMegabytes } from './readme-commands.ts'

// The measuring itself takes minutes, so a page that words it otherwise is found here.
test.each(Object.keys(STATED_SIZES) as (keyof typeof STATED_SIZES)[])('the size of %s is stated', (of) => {
  expect(statedMegabytes(of).length).toBeGreaterThan(0)
})
