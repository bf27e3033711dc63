import { expect, it, onTestFinished, vi } from 'vitest'

it('the zone of a list is the same in summer and winter, because its rows may be from both', async () => {
  const { DateTimeFormat } = Intl
  class InBerlin extends DateTimeFormat {
    constructor(locales?: Intl.LocalesArgument, options?: Intl.DateTimeFormatOptions) {
      super(locales, { timeZone: 'Europe/Berlin', ...options })
    }
  }
  Intl.DateTimeFormat = InBerlin as unknown as typeof DateTimeFormat
  vi.stubGlobal('navigator', { languages: ['en-US'] })
  vi.stubGlobal('document', { documentElement: {} })
  vi.useFakeTimers()
  vi.resetModules()
  onTestFinished(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    Intl.DateTimeFormat = DateTimeFormat
  })
  const { formatDateTime, timeZoneName } = await import('./format.ts')
  // The abbreviation differs.
  expect(formatDateTime('2026-01-10T12:00:00Z')).toMatch(/GMT\+1$/)
  expect(formatDateTime('2026-07-10T12:00:00Z')).toMatch(/GMT\+2$/)
  for (const now of ['2026-01-10', '2026-07-10']) {
    vi.setSystemTime(new Date(now))
    expect(timeZoneName()).toBe('Europe/Berlin')
  }
})
