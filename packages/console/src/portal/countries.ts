import { locale, t } from '../strings/strings.ts'

const names = new Intl.DisplayNames([locale], { type: 'region', fallback: 'code' })
const REGIONAL_INDICATOR_A = 0x1f1e6
const LETTER_A = 'A'.codePointAt(0)!

const isCountry = (locationCode: string) => /^[A-Z]{2}$/.test(locationCode)

/** The name of a country, `!RG` or `!GL` in the reader's language. */
export function locationName(locationCode: string): string {
  if (locationCode === '!RG') return t.portal.regional
  if (locationCode === '!GL') return t.portal.global
  return isCountry(locationCode) ? (names.of(locationCode) ?? locationCode) : locationCode
}

/** The flag of a country as an emoji: two regional indicators. Systems without such flags show the two letters. */
export function flagOf(locationCode: string): string {
  if (!isCountry(locationCode)) return '🌐'
  return String.fromCodePoint(
    ...[...locationCode].map((letter) => REGIONAL_INDICATOR_A + letter.codePointAt(0)! - LETTER_A),
  )
}

const collator = new Intl.Collator(locale)

/** Locations by name, with `!RG` and `!GL` first: what covers several countries is easily overlooked among them. */
export function sortLocations(locationCodes: readonly string[]): string[] {
  return [...locationCodes].sort(
    (left, right) =>
      Number(isCountry(left)) - Number(isCountry(right)) || collator.compare(locationName(left), locationName(right)),
  )
}
