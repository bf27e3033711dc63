import { locale, t } from '#strings/strings.ts'

const names = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })

/** A country in the reader's language; packages of several countries count as regional or global. */
export function countryLabel(code: string, name: string): string {
  if (code === '!RG') return t.sales.regional
  if (code === '!GL') return t.sales.global
  if (code === '') return t.sales.unknownCountry
  return /^[A-Z]{2}$/.test(code) ? (names.of(code) ?? name) : name
}
