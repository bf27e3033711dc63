import { expect, it } from 'vitest'
import { localDay, localTime, momentOf } from './zone.ts'

it.each([
  ['Asia/Shanghai', '2026-03-01', '2026-02-28T16:00:00.000Z'],
  ['Asia/Kathmandu', '2026-03-01T14:30', '2026-03-01T08:45:00.000Z'],
  ['America/New_York', '2026-07-01T00:00', '2026-07-01T04:00:00.000Z'],
  // Skipped by the clocks: the moment of the change.
  ['Europe/Vienna', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
  // Shown twice: the first.
  ['Europe/Vienna', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
  ['UTC', '2026-03-01T14:30', '2026-03-01T14:30:00.000Z'],
])('in %s, %s is %s', (zone, local, moment) => {
  expect(momentOf(local, zone).toISOString()).toBe(moment)
})

it('the clocks of a zone are shown as an input takes them', () => {
  const timeMs = Date.parse('2026-02-28T16:30:20.500Z')
  expect(localTime(timeMs, 'Asia/Shanghai')).toBe('2026-03-01T00:30')
  expect(localDay(timeMs, 'Asia/Shanghai')).toBe('2026-03-01')
  expect(localDay(timeMs, 'America/New_York')).toBe('2026-02-28')
})
