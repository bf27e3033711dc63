import { describe, expect, it } from 'vitest'
import { localDays, localDaysBetween } from './local-days.ts'

describe('days in a time zone', () => {
  it.each([
    ['UTC', '2026-11-20T23:30:00Z', '2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['Asia/Tokyo', '2026-11-20T23:30:00Z', '2026-11-21', '2026-11-20T15:00:00.000Z'],
    ['America/Los_Angeles', '2026-11-20T03:30:00Z', '2026-11-19', '2026-11-19T08:00:00.000Z'],
    ['Asia/Kathmandu', '2026-11-20T18:20:00Z', '2026-11-21', '2026-11-20T18:15:00.000Z'],
    // Clocks skip from 24:00 to 01:00. Browsers agree.
    ['Africa/Cairo', '2026-04-24T10:00:00Z', '2026-04-24', '2026-04-23T22:00:00.000Z'],
    // Clocks are set back from 01:00 to 00:00, so there are two midnights, and the day starts with the first.
    ['Atlantic/Azores', '2026-10-25T10:00:00Z', '2026-10-25', '2026-10-25T00:00:00.000Z'],
  ])('the day in %s starts at local midnight', (timeZone, now, day, start) => {
    const [today] = localDays(Date.parse(now), 1, timeZone)
    expect([today?.day, today?.startsAt.toISOString()]).toEqual([day, start])
  })

  it('days with 23 and 25 hours have no gap or overlap when the clocks change', () => {
    const hours = (now: string) => {
      const days = localDays(Date.parse(now), 4, 'Europe/Vienna')
      return days.slice(1).map((day, i) => (day.startsAt.getTime() - days[i]!.startsAt.getTime()) / 3_600_000)
    }
    expect(hours('2026-03-30T12:00:00Z')).toEqual([24, 24, 23])
    expect(hours('2026-10-26T12:00:00Z')).toEqual([24, 24, 25])
  })

  it('a period longer than the limit is refused before its days are computed', () => {
    /** In microseconds of processor time: on a busy machine, the clock runs on while the test does not. */
    const costOf = (work: () => void) => {
      const before = process.cpuUsage()
      work()
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const allowed = costOf(() =>
      expect(localDaysBetween('2026-01-01', '2026-04-02', 'Europe/Vienna', 92).days).toHaveLength(92),
    )
    const refused = costOf(() =>
      expect(() => localDaysBetween('1500-01-01', '2026-04-02', 'Europe/Vienna', 92)).toThrow(/at most 92 days/),
    )
    // The refused period has 2 000 times as many days.
    expect(refused).toBeLessThan(20 * allowed)
  })

  it('a nonexistent day and a period that ends before it begins are refused', () => {
    for (const [from, to] of [
      ['2026-02-30', '2026-03-05'],
      ['2026-02-01', '2026-02-31'],
      ['2026-02-02', '2026-02-01'],
    ] as const)
      expect(() => localDaysBetween(from, to, 'UTC', 92)).toThrow(/two valid dates/)
  })

  it('an unknown time zone is refused with an error', () => {
    expect(() => localDays(0, 1, 'Mars/Olympus')).toThrow(/time zone/)
  })
})
