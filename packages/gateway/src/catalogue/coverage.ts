import { createHash } from 'node:crypto'
import { GLOBAL, type LocationNetwork, REGIONAL } from '@dealer-esim/contract'
import { countries } from 'countries-list'

/** Where packages work. Packages with the same coverage share the object. */
export interface Coverage {
  readonly locationCodes: readonly string[]
  readonly networks: readonly LocationNetwork[]
  /** The codes with which `locationCode` finds it. */
  readonly locations: ReadonlySet<string>
  /** The location whose price rules apply: the only country, otherwise !RG or !GL. */
  readonly priceLocation: string
  /** Equal for all coverages that have the same locations. */
  readonly area: string
  /** Lower-case codes and names of the locations, for keywords. */
  readonly searchText: string
}

/** The location of packages that work in every country. */
export const EVERYWHERE = '*'

export function coverageOf(locationCodes: readonly string[], networks: readonly LocationNetwork[]): Coverage {
  const names = networks.flatMap((network) => [network.locationCode, network.locationName])
  const locations = locationsOf(locationCodes, networks)
  return {
    locationCodes,
    networks,
    locations,
    priceLocation: priceLocationOf(locations),
    area: [...locations].sort().join(' '),
    searchText: [...new Set([...locationCodes, ...names])].join('\n').toLowerCase(),
  }
}

/**
 * The codes with which a package is found: each of its countries, so that a search for a country also finds regional and
 * global packages; !RG for a region; !GL for the world. Several countries count as a region even if not marked as one.
 * Global coverage without a list of countries means every country.
 */
function locationsOf(locationCodes: readonly string[], networks: readonly LocationNetwork[]): Set<string> {
  const places = new Set([...locationCodes, ...networks.map((network) => network.locationCode)])
  const countries = [...places].filter((code) => !code.startsWith('!'))
  if (countries.length > 1 && !places.has(GLOBAL)) places.add(REGIONAL)
  if (countries.length === 0 && places.has(GLOBAL)) places.add(EVERYWHERE)
  return places
}

/** Returns exactly one code, so that two location rules of a plan never compete for a package. */
function priceLocationOf(locations: ReadonlySet<string>): string {
  if (locations.has(GLOBAL)) return GLOBAL
  if (locations.has(REGIONAL)) return REGIONAL
  return [...locations][0] ?? REGIONAL
}

export function covers(coverage: Coverage, locationCode: string): boolean {
  const wide = locationCode === REGIONAL || locationCode === GLOBAL
  return coverage.locations.has(locationCode) || (!wide && coverage.locations.has(EVERYWHERE))
}

/** The location to which a package's sales are attributed: its only country, !RG for several countries, or !GL. */
export function salesLocation({ locations }: Coverage): string {
  if (locations.has(GLOBAL)) return GLOBAL
  const [only, ...others] = [...locations].filter((code) => !code.startsWith('!'))
  return only === undefined || others.length > 0 ? REGIONAL : only
}

/** The location to which the package's sales are attributed; null if the code is no longer in the catalogue. */
export function locationOf(
  catalogue: { find(packageCode: string): { readonly coverage: Coverage } | undefined },
  packageCode: string,
): string | null {
  const found = catalogue.find(packageCode)
  return found === undefined ? null : salesLocation(found.coverage)
}

export function splitKeyword(keyword: string): string[] {
  return keyword.toLowerCase().split(/\s+/).filter(Boolean)
}

interface Named {
  readonly packageCode: string
  readonly slug: string
  readonly name: string
}

/** The text that keywords are matched against, in addition to the package's locations. */
export function searchTextOf({ packageCode, slug, name }: Named): string {
  return `${packageCode}\n${slug}\n${name}`.toLowerCase()
}

/** @returns whether each word is part of the text or of a location's code or name */
export function matchesWords(text: string, coverage: Coverage, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word) || coverage.searchText.includes(word))
}

/** Equal coverages have equal ids, so each is stored once, in the database and in memory. */
export function coverageId(locationCodes: readonly string[], networks: readonly LocationNetwork[]): string {
  const plain = networks.map(({ locationCode, locationName, operatorList }) => [
    locationCode,
    locationName,
    operatorList.map(({ operatorName, networkType }) => [operatorName, networkType]),
  ])
  return createHash('sha256')
    .update(JSON.stringify([locationCodes, plain]))
    .digest('hex')
}

/** ISO 3166-1 alpha-2, and XK, which is commonly used for Kosovo. */
export const KNOWN_COUNTRIES = Object.keys(countries)

export function isCountry(locationCode: string): boolean {
  return Object.hasOwn(countries, locationCode)
}

export function isLocation(locationCode: string): boolean {
  return locationCode === REGIONAL || locationCode === GLOBAL || isCountry(locationCode)
}

/** The English name, or the code itself if it is unknown. */
export function countryName(locationCode: string): string {
  return isCountry(locationCode) ? countries[locationCode as keyof typeof countries].name : locationCode
}
