import { expect, it } from 'vitest'
import { daysLeft } from './days-left.ts'

it('the forecast divides the money by the average spend of a day, days without spend included', () => {
  expect(daysLeft(1_000, [100, 0, 200, 100])).toBe(10)
  expect(daysLeft(999, [100, 0, 200, 100])).toBe(9)
})

it('there is no forecast without spend, and no day is left without money', () => {
  expect(daysLeft(1_000, [0, 0])).toBeUndefined()
  expect(daysLeft(1_000, [-50, 20])).toBeUndefined()
  expect(daysLeft(0, [10])).toBe(0)
  expect(daysLeft(-5, [10])).toBe(0)
})
