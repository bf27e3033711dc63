import { countries as KNOWN } from 'countries-list'
import { countryName, isCountry } from '#catalogue/coverage.ts'

/** Begins the code of a region whose supplier names no countries: `!RG-Western Europe`. */
export const REGION = '!RG-'

/**
 * Where a product works, as people call it: `Japan`, `Japan and South Korea`. Of more countries the region by which its
 * supplier calls it, such as `Asia` of “Asia 2GB/Day”, a well-known set, or else `13 countries`.
 */
export function placeOf({ countries, name }: { countries: readonly string[]; name: string }): string {
  if (countries.every((code) => code.startsWith(REGION)))
    return listed(countries.map((code) => code.slice(REGION.length)))
  if (countries.length <= NAMED_MAX) return listed(countries.map(countryName).sort())
  return ownRegion(name) ?? knownSet(countries) ?? `${countries.length} countries`
}

/** More countries are not named one by one. */
const NAMED_MAX = 3

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** The region with which a supplier begins the name of a product; undefined if it does not begin with one. */
function ownRegion(name: string): string | undefined {
  const end = name.search(/[\d([,:|]/)
  const start = (end === -1 ? name : name.slice(0, end)).replaceAll(/[\s_-]+/g, ' ').trim()
  const words = start.toLowerCase().split(/[ &]+/)
  const isRegion = start.length <= REGION_LENGTH_MAX && words.some((word) => REGION_WORDS.has(word))
  return isRegion && words.every((word) => /^[a-z]+$/.test(word)) ? start : undefined
}
const REGION_LENGTH_MAX = 40
const REGION_WORDS = new Set([
  ...[
    'africa',
    'america',
    'americas',
    'asia',
    'balkans',
    'caribbean',
    'europe',
    'global',
    'gulf',
    'nordics',
    'oceania',
  ],
  ...['pacific', 'scandinavia', 'world', 'worldwide', 'mediterranean', 'antilles', 'baltic', 'apac', 'latam'],
])

/** Sets whose names promise no more than they hold: a few countries of Europe are not called Europe. */
function knownSet(countries: readonly string[]): string | undefined {
  const continents = countries.map((code) =>
    isCountry(code) ? KNOWN[code as keyof typeof KNOWN].continent : undefined,
  )
  const mostlyIn = (...wanted: string[]) =>
    continents.filter((one) => one !== undefined && wanted.includes(one)).length >= MOST * countries.length
  if (countries.length >= EUROPE_MIN && mostlyIn('EU')) return 'Europe'
  if (countries.length >= ASIA_PACIFIC_MIN && mostlyIn('AS', 'OC')) return 'Asia-Pacific'
  if (countries.length >= GLOBAL_MIN && new Set(continents).size >= GLOBAL_CONTINENTS_MIN) return 'Global'
  return undefined
}

/** Sets of Europe commonly have Turkey and Israel as well. */
const MOST = 0.85
const EUROPE_MIN = 25
const ASIA_PACIFIC_MIN = 10
const GLOBAL_MIN = 80
const GLOBAL_CONTINENTS_MIN = 5
