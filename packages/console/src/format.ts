const UNITS_PER_WHOLE = 10_000
const locale = navigator.language

/** Money in 1/10 000 of the currency, with the currency's usual decimals or more where there is more to show. */
export function money(amount: number, currencyCode: string): string {
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: currencyCode,
    currencyDisplay: 'code',
    maximumFractionDigits: 4,
  })
  return format.format(amount / UNITS_PER_WHOLE)
}

/** What a person typed as money, in 1/10 000; undefined where it is none. Exact: no float multiplies. */
export function parseMoney(text: string): number | undefined {
  const match = /^\s*(-?)(\d{1,11})(?:[.,](\d{1,4}))?\s*$/.exec(text)
  if (!match) return undefined
  const [, sign, whole, part = ''] = match
  const units = Number(whole) * UNITS_PER_WHOLE + Number(part.padEnd(4, '0'))
  if (!Number.isSafeInteger(units)) return undefined
  return sign ? -units : units
}

/** 1/10 000 as it would be typed. */
export function typedMoney(amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return ''
  const units = Math.abs(amount)
  const part = String(units % UNITS_PER_WHOLE)
    .padStart(4, '0')
    .replace(/0{1,2}$/, '')
  return `${amount < 0 ? '-' : ''}${Math.floor(units / UNITS_PER_WHOLE)}.${part}`
}

const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
const shortDateTime = new Intl.DateTimeFormat(locale, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})

export function fullTime(time: string): string {
  return dateTime.format(new Date(time))
}

export function shortTime(time: string): string {
  return shortDateTime.format(new Date(time))
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
const STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** "3 minutes ago". */
export function ago(time: string, now_ms = Date.now()): string {
  const seconds = (new Date(time).getTime() - now_ms) / 1000
  const [unit, length] = STEPS.find(([, length]) => Math.abs(seconds) >= length) ?? STEPS[3]
  return relative.format(Math.round(seconds / length), unit)
}

export function milliseconds(duration_ms: number): string {
  if (duration_ms < 1_000) return `${Math.round(duration_ms)} ms`
  if (duration_ms < 60_000) return `${(duration_ms / 1_000).toFixed(1)} s`
  if (duration_ms < 3_600_000) return `${(duration_ms / 60_000).toFixed(1)} min`
  return `${(duration_ms / 3_600_000).toFixed(1)} h`
}

export function bytes(count: number): string {
  const gigabytes = count / 1024 ** 3
  if (gigabytes >= 1) return `${Number(gigabytes.toFixed(2))} GB`
  return `${Number((count / 1024 ** 2).toFixed(1))} MB`
}

export function count(value: number): string {
  return value.toLocaleString(locale)
}

/** ORDER_PAID as people read it. */
export function words(code: string): string {
  const text = code.toLowerCase().replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
