import { expect, it } from 'vitest'
import { forecastDays } from './days-left.ts'

it('the forecast divides the balance by the average daily spend since the first sale', () => {
  expect(forecastDays(1_000, [100, 0, 200, 100])).toEqual({ days: 10, basis: 4 })
  expect(forecastDays(999, [100, 0, 200, 100])).toEqual({ days: 9, basis: 4 })
})

it('the forecast ignores days before the first sale', () => {
  expect(forecastDays(1_000, [0, 0, 0, 500])).toEqual({ days: 2, basis: 1 })
})

it('without spend there is no forecast; without money it is zero days', () => {
  expect(forecastDays(1_000, [0, 0])).toBeUndefined()
  expect(forecastDays(1_000, [-50, 20])).toBeUndefined()
  expect(forecastDays(0, [10])?.days).toBe(0)
  expect(forecastDays(-5, [10])?.days).toBe(0)
})
