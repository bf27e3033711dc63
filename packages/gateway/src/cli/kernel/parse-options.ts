import { parseDateOrTime } from '@dealer-esim/lib/date-or-time.ts'
import { UsageError } from './cli-failure.ts'

/* Parse typed values. Each throws a UsageError that says which form is expected. */

export function parseWholeNumber(text: string, option: string, { min = 1, max = WHOLE_NUMBER_MAX } = {}): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  const range = max < WHOLE_NUMBER_MAX ? `from ${min} to ${max}` : min === 1 ? 'above zero' : `from ${min} on`
  throw new UsageError(`${option} takes a whole number ${range}, not “${text}”.`)
}

/** Numbers of up to 15 digits are exact. */
const WHOLE_NUMBER_MAX = 999_999_999_999_999

export function parseTime(text: string, option: string): Date {
  const time = parseDateOrTime(text)
  if (time === undefined) {
    throw new UsageError(`${option} takes a time like 2026-11-20 or 2026-11-20T08:00:00Z, not “${text}”.`)
  }
  return time
}

export function parseNames<Name extends string>(text: string, known: readonly Name[], option: string): Name[] {
  return text.split(',').map((part) => {
    const name = known.find((one) => one === part.trim().toUpperCase())
    if (!name) throw new UsageError(`${option} takes ${known.join(', ')}, not “${part}”.`)
    return name
  })
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Parses `90s`, `30m`, `1h`, `2d` or `0` into milliseconds. */
export function parseDuration(text: string): number {
  if (text === '0') return 0
  const match = /^(\d{1,6})([smhd])$/.exec(text)
  if (!match) throw new UsageError(`“${text}” is not a duration. Use a value such as 90s, 30m, 1h or 0.`)
  return Number(match[1]) * UNITS_MS[match[2] as keyof typeof UNITS_MS]
}
