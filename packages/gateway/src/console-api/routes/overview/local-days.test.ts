import { describe, expect, it } from 'vitest'
import { localDays } from './local-days.ts'

describe('days of a time zone', () => {
  it.each([
    ['UTC', '2026-11-20T23:30:00Z', '2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['Asia/Tokyo', '2026-11-20T23:30:00Z', '2026-11-21', '2026-11-20T15:00:00.000Z'],
    ['America/Los_Angeles', '2026-11-20T03:30:00Z', '2026-11-19', '2026-11-19T08:00:00.000Z'],
    ['Asia/Kathmandu', '2026-11-20T18:20:00Z', '2026-11-21', '2026-11-20T18:15:00.000Z'],
    // Clocks skip from 24:00 to 01:00, and a browser says the same.
    ['Africa/Cairo', '2026-04-24T10:00:00Z', '2026-04-24', '2026-04-23T22:00:00.000Z'],
    // Clocks are set back at 01:00 to 00:00: midnight comes twice, and the day begins with the first.
    ['Atlantic/Azores', '2026-10-25T10:00:00Z', '2026-10-25', '2026-10-25T00:00:00.000Z'],
  ])('begin in %s where its calendars say', (timeZone, now, day, start) => {
    const [today] = localDays(Date.parse(now), 1, timeZone)
    expect([today?.day, today?.startsAt.toISOString()]).toEqual([day, start])
  })

  it('adjoin through a change of the clocks, one of 23 hours and one of 25 included', () => {
    const hours = (now: string) => {
      const days = localDays(Date.parse(now), 4, 'Europe/Vienna')
      return days.slice(1).map((day, i) => (day.startsAt.getTime() - days[i]!.startsAt.getTime()) / 3_600_000)
    }
    expect(hours('2026-03-30T12:00:00Z')).toEqual([24, 24, 23])
    expect(hours('2026-10-26T12:00:00Z')).toEqual([24, 24, 25])
  })

  it('are refused for a place that is none', () => {
    expect(() => localDays(0, 1, 'Mars/Olympus')).toThrow(/time zone/)
  })
})
