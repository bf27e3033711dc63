import { locale, t } from '#strings/strings.ts'

const names = new Intl.DisplayNames([locale], { type: 'region', fallback: 'code' })

const isCountry = (locationCode: string) => /^[A-Z]{2}$/.test(locationCode)

/** The name of a country, `!RG` or `!GL` in the reader's language. */
export function locationName(locationCode: string): string {
  if (locationCode === '!RG') return t.portal.regional
  if (locationCode === '!GL') return t.portal.global
  return isCountry(locationCode) ? (names.of(locationCode) ?? locationCode) : locationCode
}

const collator = new Intl.Collator(locale)

/** Locations by name, with `!RG` and `!GL` first, because they are easily overlooked among the countries. */
export function sortLocations(locationCodes: readonly string[]): string[] {
  return [...locationCodes].sort(
    (left, right) =>
      Number(isCountry(left)) - Number(isCountry(right)) || collator.compare(locationName(left), locationName(right)),
  )
}
