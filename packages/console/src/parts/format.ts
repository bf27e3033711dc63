import { type ReadableVolume, readPartOf, readVolume } from '@dealer-esim/contract'
import { locale } from '#strings/strings.ts'
import { localDay, localTime, timeZone } from '#strings/zone.ts'

const UNITS_PER_WHOLE = 10_000

/** Formats 1/10 000 of the currency, with the currency's usual decimals, or more if needed. */
export function formatMoney(amount: number, currencyCode: string): string {
  return moneyParts(amount, currencyCode)
    .map(({ text }) => text)
    .join('')
}

/** Like `formatMoney`, for places where the currency is shown beside it: in a header, or with another amount. */
export function formatAmount(amount: number, currencyCode: string): string {
  return moneyParts(amount, currencyCode)
    .filter(({ isCode }) => !isCode)
    .map(({ text }) => text)
    .join('')
}

/** Rounds a sum to the decimals of its currency. Prices may have more, which add nothing to a sum of many. */
export function roundSum(amount: number, currencyCode: string): number {
  const { maximumFractionDigits = 2 } = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: currencyCode,
  }).resolvedOptions()
  const unit = UNITS_PER_WHOLE / 10 ** maximumFractionDigits
  return Math.round(amount / unit) * unit
}

/** The parts of an amount, so that a column with the currency in its header can leave it out. */
export function moneyParts(amount: number, currencyCode: string): { text: string; isCode: boolean }[] {
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: currencyCode,
    currencyDisplay: 'code',
    maximumFractionDigits: 4,
  })
  const parts = format.formatToParts(amount / UNITS_PER_WHOLE)
  const found: { text: string; isCode: boolean }[] = []
  for (const { type, value } of parts) {
    // The space between the currency and the number goes with the currency.
    const isCode = type === 'currency' || (type === 'literal' && value.trim() === '')
    const text = type === 'minusSign' ? MINUS : value
    const last = found.at(-1)
    if (last?.isCode === isCode) last.text += text
    else found.push({ text, isCode })
  }
  return found
}

const MINUS = '\u2212'

/** Writes negative numbers with a minus sign (U+2212). Some locales use a hyphen, which is easy to miss. */
function withMinusSign(format: Intl.NumberFormat, value: number): string {
  const parts = format.formatToParts(value)
  return parts.map((part) => (part.type === 'minusSign' ? MINUS : part.value)).join('')
}

/** A short form: "USD 1.2K". */
export function formatMoneyShort(amount: number, currencyCode: string): string {
  const style = { style: 'currency', currency: currencyCode, currencyDisplay: 'code' } as const
  const format = new Intl.NumberFormat(locale, { ...style, notation: 'compact', maximumFractionDigits: 1 })
  return withMinusSign(format, amount / UNITS_PER_WHOLE)
}

const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long', timeZone })
const withoutYear = { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZone } as const
const shortDateTime = new Intl.DateTimeFormat(locale, withoutYear)
const dateTimeWithYear = new Intl.DateTimeFormat(locale, { ...withoutYear, year: 'numeric' })
const withMilliseconds = { ...withoutYear, second: '2-digit', fractionalSecondDigits: 3 } as const
const exactDateTime = new Intl.DateTimeFormat(locale, withMilliseconds)
const exactDateTimeWithYear = new Intl.DateTimeFormat(locale, { ...withMilliseconds, year: 'numeric' })
const ofClock = { hour: 'numeric', minute: '2-digit', timeZone } as const
const clock = new Intl.DateTimeFormat(locale, ofClock)
const clockWithSeconds = new Intl.DateTimeFormat(locale, { ...ofClock, second: '2-digit' })
const ofDay = { month: 'short', day: 'numeric', timeZone: 'UTC' } as const
const monthAndDay = new Intl.DateTimeFormat(locale, ofDay)
const dayWithYear = new Intl.DateTimeFormat(locale, { ...ofDay, year: 'numeric' })

/** The full time with its year and zone: "Nov 25, 2026, 9:04:31 PM GMT+1". */
export function formatDateTime(time: string): string {
  return dateTime.format(new Date(time))
}

/** Leaves out the current year. */
export function formatTime(time: string): string {
  const date = new Date(time)
  return (isThisYear(date.getTime()) ? shortDateTime : dateTimeWithYear).format(date)
}

/** For a sentence: without the day if it is today. */
export function formatTimeOrClock(time: string): string {
  const isToday = localDay(Date.parse(time)) === localDay(Date.now())
  return isToday ? clock.format(new Date(time)) : formatTime(time)
}

/** Where the day is shown above: "10:02:31 PM". */
export function formatClock(time: string): string {
  return clockWithSeconds.format(new Date(time))
}

function isThisYear(timeMs: number): boolean {
  const year = (ms: number) => localTime(ms).slice(0, 4)
  return year(timeMs) === year(Date.now())
}

/** For steps that are less than a second apart. */
export function formatTimeExactly(time: string): string {
  const date = new Date(time)
  return (isThisYear(date.getTime()) ? exactDateTime : exactDateTimeWithYear).format(date)
}

/** Formats a day such as 2026-11-22, independent of the time zone. Leaves out the current year. */
export function formatDay(day: string): string {
  const date = new Date(`${day}T00:00:00Z`)
  return (date.getUTCFullYear() === new Date().getUTCFullYear() ? monthAndDay : dayWithYear).format(date)
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
const STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** "3 minutes ago". */
export function formatRelativeTime(time: string, nowMs = Date.now()): string {
  const seconds = (new Date(time).getTime() - nowMs) / 1000
  const [unit, length] = STEPS.find(([, length]) => Math.abs(seconds) >= length) ?? STEPS[3]
  return relative.format(Math.round(seconds / length), unit)
}

function inUnit(unit: string, digits: number): (value: number) => string {
  const format = new Intl.NumberFormat(locale, { style: 'unit', unit, maximumFractionDigits: digits })
  return (value) => format.format(value)
}

const inMilliseconds = inUnit('millisecond', 0)
const inSeconds = inUnit('second', 1)
const inMinutes = inUnit('minute', 1)
const inHours = inUnit('hour', 1)

/** Formats a duration that people wait for: 0.6 s. */
export function formatWait(durationMs: number): string {
  return durationMs < 60_000 ? inSeconds(durationMs / 1_000) : formatDuration(durationMs)
}

/** Formats a duration in a suitable unit. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1_000) return inMilliseconds(durationMs)
  if (durationMs < 60_000) return inSeconds(durationMs / 1_000)
  if (durationMs < 3_600_000) return inMinutes(durationMs / 60_000)
  return inHours(durationMs / 3_600_000)
}

const IN_UNITS: Record<ReadableVolume['unit'], (value: number) => string> = {
  B: inUnit('byte', 0),
  KB: inUnit('kilobyte', 1),
  MB: inUnit('megabyte', 1),
  GB: inUnit('gigabyte', 1),
  TB: inUnit('terabyte', 1),
}

export function formatVolume(bytes: number): string {
  const { value, unit } = readVolume(bytes)
  return IN_UNITS[unit](value)
}

/** Formats a used or remaining part of a total, in the unit of the total. */
export function formatPartOf(total: number | null, bytes: number): string {
  const { value, unit } = readPartOf(total, bytes)
  return IN_UNITS[unit](value)
}

const percents = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })

const changes = new Intl.NumberFormat(locale, {
  ...{ style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' },
})

/** Formats a fraction of one as a percentage. */
export function formatPercent(share: number): string {
  return withMinusSign(percents, share)
}

/** Formats a change, given as a signed fraction, as a percentage. Truncates, so that -99.97% is not shown as -100%. */
export function formatPercentChange(share: number): string {
  return withMinusSign(changes, Math.trunc(share * 1_000) / 1_000)
}

export function formatCount(value: number): string {
  return value.toLocaleString(locale)
}

/**
 * What a supplier or a person gave as the reason, as a sentence among others: `out of stock` becomes `Out of stock.` A first word
 * with capitals or figures, such as eSIM or a code, keeps its spelling.
 */
export function asSentence(text: string): string {
  const begun = capitalised(text.trim())
  if (begun === '' || /[.!?。！？…][)"”’]?$/u.test(begun)) return begun
  return begun + (/\p{Script=Han}$/u.test(begun) ? '。' : '.')
}

/** With a capital as its first letter, unless the first word has capitals or figures, such as eSIM. */
export function capitalised(text: string): string {
  return text.replace(/^\p{Ll}(?=\p{Ll}*(?:[\s,:;.!?]|$))/u, (letter) => letter.toLocaleUpperCase(locale))
}
