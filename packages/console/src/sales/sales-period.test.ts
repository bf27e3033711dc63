import { expect, it } from 'vitest'
import { chosenPeriod, PERIODS, periodOf, timesOf } from './sales-period.ts'

const NOW = Date.parse('2026-03-01T00:30:00Z')

it('a named period consists of whole UTC days and ends today or earlier', () => {
  expect(Object.fromEntries(PERIODS.map((name) => [name, Object.values(periodOf(name, NOW)).join(' ')]))).toEqual({
    today: '2026-03-01 2026-03-01',
    yesterday: '2026-02-28 2026-02-28',
    7: '2026-02-23 2026-03-01',
    14: '2026-02-16 2026-03-01',
    30: '2026-01-31 2026-03-01',
    90: '2025-12-02 2026-03-01',
    month: '2026-03-01 2026-03-01',
    lastMonth: '2026-02-01 2026-02-28',
  })
})

it('chosen days take precedence over a named period, and malformed days are ignored', () => {
  const days = { from: '2026-02-03', to: '2026-02-04' }
  expect(chosenPeriod({ ...days, period: 'today' }, NOW, '30')).toEqual(days)
  expect(chosenPeriod({ from: '2026-02-04', to: '2026-02-03', period: 'today' }, NOW, '30').from).toBe('2026-03-01')
  expect(chosenPeriod({ from: 'x', to: '2026-13-99' }, NOW, '7').from).toBe('2026-02-23')
  expect(chosenPeriod({ from: '2026-02-03', to: '2026-02-31' }, NOW, '7').from).toBe('2026-02-23')
})

it('the list for a period starts on its first day and ends on its last day', () => {
  expect(timesOf({ from: '2026-02-27', to: '2026-02-28' })).toEqual({
    from: '2026-02-27T00:00:00.000Z',
    to: '2026-03-01T00:00:00.000Z',
  })
})
