import { type ReadableVolume, readPartOf, readVolume } from '@dealer-esim/contract'
import type { Language } from './traveller-language.ts'

/** `5 GB`, `5 Go`, `5 غيغابايت`. */
export function formatVolume(language: Language, bytes: bigint): string {
  return format(language, readVolume(bytes))
}

/** The used or remaining part of a total, in the kind of unit of its total: `4.7 GB` of `5 GB`. */
export function formatPart(language: Language, total: bigint | null, bytes: bigint): string {
  return format(language, readPartOf(total, bytes))
}

function format({ tag }: Language, { value, unit }: ReadableVolume): string {
  // The short units of Arabic are abbreviations that few readers know.
  const unitDisplay = tag.startsWith('ar') ? 'long' : 'short'
  const options = { style: 'unit', unit: UNITS[unit], unitDisplay, maximumFractionDigits: 1 } as const
  return new Intl.NumberFormat(tag, options).format(value)
}

const UNITS = { B: 'byte', KB: 'kilobyte', MB: 'megabyte', GB: 'gigabyte', TB: 'terabyte' } as const

/** `3 days`, `3 Tage`. */
export function formatDays({ tag }: Language, days: number): string {
  return new Intl.NumberFormat(tag, { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(days)
}

/** `27 May 2027` */
export function formatDate({ tag }: Language, time: Date, timeZone: string): string {
  return new Intl.DateTimeFormat(dateLocale(tag), { dateStyle: 'long', timeZone }).format(time)
}

/** `17:04 UTC`, `02:04 Japan Time`: a time without its zone is wrong for most travellers. */
export function formatClock(language: Language, time: Date, timeZone: string): string {
  const clock = new Intl.DateTimeFormat(dateLocale(language.tag), { timeStyle: 'short', timeZone }).format(time)
  return `${clock} ${zoneName(language, time, timeZone)}`
}

/** `27 May 2027 at 17:04 UTC` */
export function formatMoment(language: Language, time: Date, timeZone: string): string {
  const options = { dateStyle: 'long', timeStyle: 'short', timeZone } as const
  const moment = new Intl.DateTimeFormat(dateLocale(language.tag), options).format(time)
  return `${moment} ${zoneName(language, time, timeZone)}`
}

/** Alone, because some languages write a time with its zone in words: “09h (นาที: 0)”. */
function zoneName({ tag }: Language, time: Date, timeZone: string): string {
  const timeZoneName = timeZone === UTC ? 'short' : 'shortGeneric'
  const parts = new Intl.DateTimeFormat(dateLocale(tag), { timeZone, timeZoneName }).formatToParts(time)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
}

/** English dates as most of its readers who travel write them, with 24 hours: `27 May 2027`. */
function dateLocale(tag: string): string {
  return tag === 'en' ? 'en-GB' : tag
}

const UTC = 'UTC'

/** The time zone of the place where an eSIM is used: that of its only country, if that has one; otherwise UTC. */
export function timeZoneOf(countries: readonly string[]): string {
  const [only, ...others] = countries
  if (only === undefined || others.length > 0) return UTC
  const [zone, ...further] = zonesOf(only)
  return zone === undefined || further.length > 0 ? UTC : zone
}

/** Node.js 20 has the property, later versions the method. */
function zonesOf(country: string): readonly string[] {
  const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & {
    timeZones?: string[]
    getTimeZones?: () => string[] | undefined
  }
  return locale.getTimeZones?.() ?? locale.timeZones ?? []
}

/** `Japan` in the language; the code itself if it is unknown. */
export function countryNames({ tag }: Language, codes: readonly string[]): string[] {
  const names = new Intl.DisplayNames(tag, { type: 'region', fallback: 'code' })
  return codes.map((code) => names.of(code)!).sort(new Intl.Collator(tag).compare)
}
