import { expect, it } from 'vitest'
import { daysOfPeriod, PERIODS, periodRange, periodText } from './list-period.ts'

const NOW = new Date(2026, 2, 1, 12)

it.each([
  ['today', '2026-03-01', '2026-03-01'],
  ['yesterday', '2026-02-28', '2026-02-28'],
  ['last7', '2026-02-23', '2026-03-01'],
  ['last30', '2026-01-31', '2026-03-01'],
  ['month', '2026-03-01', '2026-03-01'],
] as const)('the period %s runs from %s to %s', (period, from, to) => {
  expect(daysOfPeriod(period, NOW)).toEqual({ from, to })
})

it('every period ends at midnight, and includes the current time unless the period is over', () => {
  for (const period of PERIODS) {
    const { from = '', to = '' } = periodRange({ period }, NOW)
    const includesNow = Date.parse(from) <= NOW.getTime() && NOW.getTime() < Date.parse(to)
    expect([period, includesNow]).toEqual([period, period !== 'yesterday'])
    expect(new Date(to).getHours()).toBe(0)
  }
})

it('a named period takes precedence over days, and malformed days are ignored', () => {
  expect(periodRange({ period: 'today', from: '2020-01-01' }, NOW)).toEqual(periodRange({ period: 'today' }, NOW))
  expect(periodRange({ period: 'ever', from: 'x', to: '2020-1-1' }, NOW)).toEqual({})
  expect(periodRange({ from: '2026-13-01', to: '2026-02-31' }, NOW)).toEqual({})
})

it('a link may contain times instead of days', () => {
  const day = { from: '2026-02-28T00:00:00.000Z', to: '2026-03-01T00:00:00.000Z' }
  expect(periodRange(day, NOW)).toEqual(day)
})

it('periods are shown as days or times, and malformed ones are not shown', () => {
  expect(periodText({ from: '2020-11-01', to: '2020-11-24' })).toBe('Nov 1, 2020 – Nov 24, 2020')
  expect(periodText({ from: '2020-11-01T12:00:00.000Z' })).toMatch(/^Nov 1, 2020, .+ – $/)
  expect(periodText({ from: 'abc', to: '2020-99-99T99:99Z' })).toBeUndefined()
})
