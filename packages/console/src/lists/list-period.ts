import { isDay } from '@dealer-esim/contract'
import { formatDay, formatTime } from '#parts/format.ts'

/** Named periods, so that a saved view or a shared link moves with the days. */
export const PERIODS = ['today', 'yesterday', 'last7', 'last30', 'month'] as const
export type Period = (typeof PERIODS)[number]

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** The first and the last day of a period, in the browser's time zone. */
export function daysOfPeriod(period: Period, now: Date): { from: string; to: string } {
  const day = (daysAgo: number) => dayOf(new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo))
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
      return { from: dayOf(new Date(now.getFullYear(), now.getMonth(), 1)), to: day(0) }
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
  if (from && isDay(from)) range.from = new Date(`${from}T00:00`).toISOString()
  if (to && isDay(to)) {
    const end = new Date(`${to}T00:00`)
    end.setDate(end.getDate() + 1)
    range.to = end.toISOString()
  }
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

function dayOf(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
