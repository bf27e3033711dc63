import { expect, it } from 'vitest'
import { monthsOf } from './list-sales.ts'

it('a period is split into whole months, plus or minus the days of partial months', () => {
  expect(monthsOf('2026-01-01', '2026-02-28')).toEqual({ months: ['2026-01-01', '2026-02-01'], added: [], taken: [] })
  expect(monthsOf('2026-01-30', '2026-03-20')).toEqual({
    months: ['2026-02-01', '2026-03-01'],
    added: [{ from: '2026-01-30', to: '2026-01-31' }],
    taken: [{ from: '2026-03-21', to: '2026-03-31' }],
  })
  expect(monthsOf('2026-01-03', '2026-01-29')).toEqual({
    months: ['2026-01-01'],
    added: [],
    taken: [
      { from: '2026-01-01', to: '2026-01-02' },
      { from: '2026-01-30', to: '2026-01-31' },
    ],
  })
})

it('whole months with added and subtracted days cover exactly the days of the period', () => {
  for (let start = 0; start < 70; start += 3) {
    for (const length of [1, 2, 15, 16, 27, 31, 59, 90]) {
      const [from, to] = [dayAt(start), dayAt(start + length - 1)]
      const { months, added, taken } = monthsOf(from, to)
      const days = new Map<string, number>()
      const count = (first: string, last: string, by: number) => {
        for (let day = first; day <= last; day = dayAt(indexOf(day) + 1)) days.set(day, (days.get(day) ?? 0) + by)
      }
      for (const month of months) count(month, lastOf(month), 1)
      for (const period of added) count(period.from, period.to, 1)
      for (const period of taken) count(period.from, period.to, -1)
      const counted = [...days].filter(([, times]) => times !== 0)
      expect(counted.map(([, times]) => times)).toEqual(Array(length).fill(1))
      expect(counted.map(([day]) => day).sort()).toEqual(Array.from({ length }, (_, index) => dayAt(start + index)))
    }
  }
})

const DAY_MS = 86_400_000
const FIRST_MS = Date.parse('2025-12-15')
const dayAt = (index: number) => new Date(FIRST_MS + index * DAY_MS).toISOString().slice(0, 10)
const indexOf = (day: string) => (Date.parse(day) - FIRST_MS) / DAY_MS
const lastOf = (month: string) =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)), 0)).toISOString().slice(0, 10)
