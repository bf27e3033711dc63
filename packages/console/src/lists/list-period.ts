import { isDay } from '@dealer-esim/contract'
import { formatDay, formatTime } from '#parts/format.ts'
import { localDay, momentOf } from '#strings/zone.ts'

/** Named periods, so that a saved view or a shared link moves with the days. */
export const PERIODS = ['today', 'yesterday', 'last7', 'last30', 'month'] as const
export type Period = (typeof PERIODS)[number]

const DAY_MS = 86_400_000
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** The first and the last day of a period, in the person's time zone. */
export function daysOfPeriod(period: Period, now: Date): { from: string; to: string } {
  const today = localDay(now.getTime())
  const day = (daysAgo: number) => daysAfter(today, -daysAgo)
  switch (period) {
    case 'today':
      return { from: day(0), to: day(0) }
    case 'yesterday':
      return { from: day(1), to: day(1) }
    case 'last7':
      return { from: day(6), to: day(0) }
    case 'last30':
      return { from: day(29), to: day(0) }
    case 'month':
      return { from: `${today.slice(0, 8)}01`, to: today }
    default:
      return period satisfies never
  }
}

/**
 * The selected days as timestamps, from the start of the first to the end of the last. A link may give the times instead,
 * such as those of a UTC day; `to` is then the end of the period.
 */
export function periodRange(filters: Record<string, string>, now = new Date()): { from?: string; to?: string } {
  const period = PERIODS.find((one) => one === filters.period)
  const { from, to } = period ? daysOfPeriod(period, now) : filters
  const range: { from?: string; to?: string } = {}
  if (from && isDay(from)) range.from = momentOf(from).toISOString()
  if (to && isDay(to)) range.to = momentOf(daysAfter(to, 1)).toISOString()
  if (from && TIME.test(from)) range.from = from
  if (to && TIME.test(to)) range.to = to
  return range
}

/**
 * The selected days or times as a filter shows them: "Nov 1 – Nov 24"; undefined if `periodRange` accepts
 * none of them.
 */
export function periodText({ from = '', to = '' }: Record<string, string>): string | undefined {
  const [start, end] = [from, to].map((text) => {
    if (isDay(text)) return formatDay(text)
    return TIME.test(text) && !Number.isNaN(Date.parse(text)) ? formatTime(text) : ''
  })
  return start || end ? `${start} – ${end}` : undefined
}

function daysAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}
