import { isDay } from '@dealer-esim/contract'

/** Whole UTC days, the last one included. */
export interface Period {
  from: string
  to: string
}

export const PERIODS = ['today', 'yesterday', '7', '14', '30', '90', 'month', 'lastMonth'] as const
export type PeriodName = (typeof PERIODS)[number]

const DAY_MS = 86_400_000

/** The days of a period that ends today, or before it. */
export function periodOf(name: PeriodName, nowMs: number): Period {
  const today = dayOf(nowMs)
  const month = `${today.slice(0, 8)}01`
  switch (name) {
    case 'today':
      return { from: today, to: today }
    case 'yesterday':
      return { from: addDays(today, -1), to: addDays(today, -1) }
    case 'month':
      return { from: month, to: today }
    case 'lastMonth': {
      const to = addDays(month, -1)
      return { from: `${to.slice(0, 8)}01`, to }
    }
    default:
      return { from: addDays(today, 1 - Number(name)), to: today }
  }
}

/** The period in a page's filters: explicit days, or a named period. Malformed days are ignored. */
export function chosenPeriod(filters: Record<string, string>, nowMs: number, otherwise: PeriodName): Period {
  const { from = '', to = '', period = '' } = filters
  if (isDay(from) && isDay(to) && from <= to) return { from, to }
  return periodOf(PERIODS.find((name) => name === period) ?? otherwise, nowMs)
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10)
}

export function addDays(day: string, days: number): string {
  return dayOf(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS)
}

/** Filters for the list of orders placed in these UTC days. */
export function timesOf({ from, to }: Period): { from: string; to: string } {
  return { from: `${from}T00:00:00.000Z`, to: `${addDays(to, 1)}T00:00:00.000Z` }
}
