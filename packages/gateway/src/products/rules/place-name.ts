import { countries as KNOWN } from 'countries-list'
import { countryName, isCountry } from '#catalogue/coverage.ts'

/** The prefix for the code of a region whose supplier lists no countries: `!RG-Western Europe`. */
export const REGION = '!RG-'

/**
 * Where a product works, in everyday words: `Japan`, `Japan and South Korea`. For more countries, the region in the
 * supplier's name for it, such as `Asia` in “Asia 2GB/Day”, a well-known set, or else `13 countries`.
 */
export function placeOf({ countries, name }: { countries: readonly string[]; name: string }): string {
  if (countries.every((code) => code.startsWith(REGION)))
    return listed(countries.map((code) => code.slice(REGION.length)))
  if (countries.length <= NAMED_MAX) return listed(countries.map(countryName).sort())
  return ownRegion(name) ?? knownSet(countries) ?? `${countries.length} countries`
}

/** More countries are not listed individually. */
const NAMED_MAX = 3

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** The region at the beginning of a supplier's product name; undefined if the name does not begin with one. */
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

/** Sets of countries with exact names: a few European countries are not called Europe. */
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

/** European sets commonly also include Turkey and Israel. */
const MOST = 0.85
const EUROPE_MIN = 25
const ASIA_PACIFIC_MIN = 10
const GLOBAL_MIN = 80
const GLOBAL_CONTINENTS_MIN = 5
