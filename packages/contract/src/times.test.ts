import { expect, test } from 'vitest'
import { formatTime, isDay, parseTime } from './times.ts'

test.each([
  ['2026-11-20T13:28:09.000Z', '2026-11-20T13:28:09.000Z'],
  ['2026-11-20t13:28:09z', '2026-11-20T13:28:09.000Z'],
  ['2026-11-20T13:28:09.123456789+05:30', '2026-11-20T07:58:09.123Z'],
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ['2016-12-31T23:59:60.5Z', '2017-01-01T00:00:00.500Z'],
  ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
])('the time %s is converted to %s in UTC', (text, utc) => {
  expect(formatTime(parseTime(text))).toBe(utc)
})

test('a time is formatted as Date formats it, regardless of the times before', () => {
  const seconds = [0, 1, 64, 1, 65, 128, 0, -1, -64, -62_167_219_200, 253_402_300_799, 253_402_300_800]
  for (const timeMs of seconds.flatMap((second) => [second * 1000, second * 1000 + 7, second * 1000 + 999])) {
    expect(formatTime(timeMs)).toBe(new Date(timeMs).toISOString())
    expect(formatTime(new Date(timeMs))).toBe(new Date(timeMs).toISOString())
  }
  expect(() => formatTime(Number.NaN)).toThrow(RangeError)
})

test('a day is accepted only if the date exists', () => {
  const texts = [
    '2026-11-20',
    '2028-02-29',
    '2026-02-29',
    '2026-02-31',
    '2026-13-01',
    '2026-1-1',
    '2026-11-20T00:00:00Z',
    '',
  ]
  expect(texts.filter(isDay)).toEqual(['2026-11-20', '2028-02-29'])
})
