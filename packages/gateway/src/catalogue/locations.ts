import { GLOBAL, type Location, type LocationListRequest, REGIONAL } from '@dealer-esim/contract'
import { isCountry, KNOWN_COUNTRIES } from './coverage.ts'
import type { Buyer, Snapshot } from './snapshot/snapshot.ts'

/**
 * The answer of `location/list`: all countries by name, then `!RG` and `!GL` where the buyer may buy packages of that
 * coverage, with the countries that these packages cover together.
 */
export function listLocations(catalogue: Snapshot, buyer: Buyer, { language }: LocationListRequest): Location[] {
  const locale = localeOf(language)
  const names = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })
  const collator = new Intl.Collator(locale)
  const countries = KNOWN_COUNTRIES.map((locationCode): Location => {
    return { locationCode, name: names.of(locationCode)!, type: 'COUNTRY', subLocationCodes: [] }
  })
  countries.sort((left, right) => collator.compare(left.name, right.name))
  const wide = wideCoverage(catalogue, buyer)
  // No locale database has a name for "regional". The name of region 001 is "world".
  const world = locale.startsWith('en') ? 'Global' : names.of('001')!
  return [
    ...countries,
    ...wideLocation(REGIONAL, 'Regional', 'REGION', wide.regional),
    ...wideLocation(GLOBAL, world, 'GLOBAL', wide.global),
  ]
}

/** English for a language that the runtime does not know. */
function localeOf(language: string | undefined): string {
  return (language && Intl.DisplayNames.supportedLocalesOf([language])[0]) || 'en'
}

function wideCoverage(catalogue: Snapshot, buyer: Buyer) {
  const [regional, global] = [new Set<string>(), new Set<string>()]
  let hasGlobal = false
  for (const { item } of catalogue.quotes(buyer)) {
    const { places } = item.coverage
    if (!item.onSale || !(places.has(REGIONAL) || places.has(GLOBAL))) continue
    if (places.has(GLOBAL)) hasGlobal = true
    for (const place of places) {
      if (!isCountry(place)) continue
      if (places.has(REGIONAL)) regional.add(place)
      if (places.has(GLOBAL)) global.add(place)
    }
  }
  return { regional: regional.size > 0 ? regional : undefined, global: hasGlobal ? global : undefined }
}

function wideLocation(
  locationCode: string,
  name: string,
  type: Location['type'],
  countries: ReadonlySet<string> | undefined,
): Location[] {
  return countries ? [{ locationCode, name, type, subLocationCodes: [...countries].sort() }] : []
}
