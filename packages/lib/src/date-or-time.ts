import { isDay } from '@dealer-esim/contract'

/**
 * Parses a time as people type it: a date, which means its start in UTC, or an RFC 3339 time, with or without seconds.
 * @returns undefined if it has another form or names a day that does not exist
 */
export function parseDateOrTime(text: string): Date | undefined {
  const [, day] = FORM.exec(text) ?? []
  if (day === undefined || !isDay(day)) return undefined
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? undefined : time
}

const FORM = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/
