import { expect, test } from 'vitest'
import { parseDateOrTime } from './date-or-time.ts'

test.each([
  ['2026-11-20', '2026-11-20T00:00:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['2026-11-20T13:28Z', '2026-11-20T13:28:00.000Z'],
  ['2026-11-20T13:28:09.5Z', '2026-11-20T13:28:09.500Z'],
  ['2026-11-20T01:28:09+02:00', '2026-11-19T23:28:09.000Z'],
])('%s is read as the time %s', (text, moment) => {
  expect(parseDateOrTime(text)?.toISOString()).toBe(moment)
})

test.each([
  '2026-02-29',
  '2026-02-31',
  '2026-04-31T10:00:00Z',
  '2026-13-01',
  '2026-11-20T25:00:00Z',
  '2026-11-20T13:28:09',
  '20.11.2026',
  '2026-11-20 13:28',
  '',
])('“%s” is not a date or time', (text) => {
  expect(parseDateOrTime(text)).toBeUndefined()
})
