import { GLOBAL, type Location, type LocationListRequest, REGIONAL } from '@dealer-esim/contract'
import type { Buyer, Snapshot } from './catalogue.ts'
import { isCountry, KNOWN_COUNTRIES } from './coverage.ts'

/**
 * Answers `location/list`: all countries by name, then `!RG` and `!GL` if the buyer may buy such packages, with the
 * countries that these packages cover together.
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

/** Falls back to English for a language unknown to the runtime. */
function localeOf(language = 'en'): string {
  // The runtime accepts an extended language subtag only on its own: yue-HK instead of zh-yue-HK (RFC 5646 §2.2.2).
  const tag = language.replace(/^[a-z]{2,3}-([a-z]{3})(?=-|$)/i, '$1')
  try {
    return Intl.DisplayNames.supportedLocalesOf([tag])[0] ?? 'en'
  } catch {
    return 'en' // a tag that the runtime cannot parse
  }
}

function wideCoverage(catalogue: Snapshot, buyer: Buyer) {
  const [regional, global] = [new Set<string>(), new Set<string>()]
  let [hasRegional, hasGlobal] = [false, false]
  for (const { item } of catalogue.quotes(buyer)) {
    const { locations } = item.coverage
    if (!item.onSale || !(locations.has(REGIONAL) || locations.has(GLOBAL))) continue
    if (locations.has(REGIONAL)) hasRegional = true
    if (locations.has(GLOBAL)) hasGlobal = true
    for (const code of locations) {
      if (!isCountry(code)) continue
      if (locations.has(REGIONAL)) regional.add(code)
      if (locations.has(GLOBAL)) global.add(code)
    }
  }
  return { regional: hasRegional ? regional : undefined, global: hasGlobal ? global : undefined }
}

function wideLocation(
  locationCode: string,
  name: string,
  type: Location['type'],
  countries: ReadonlySet<string> | undefined,
): Location[] {
  return countries ? [{ locationCode, name, type, subLocationCodes: [...countries].sort() }] : []
}
