import { createHash } from 'node:crypto'
import { GLOBAL, type LocationNetwork, REGIONAL } from '@dealer-esim/contract'
import { countries } from 'countries-list'

/** Where packages work. Shared by all that work in the same places. */
export interface Coverage {
  readonly locationCodes: readonly string[]
  readonly networks: readonly LocationNetwork[]
  /** What `locationCode` finds it by. */
  readonly places: ReadonlySet<string>
  /** Lower-case codes and names of the places, for keywords. */
  readonly searchText: string
}

/** Stands among the places for what works in every country. */
export const EVERYWHERE = '*'

export function coverageOf(locationCodes: readonly string[], networks: readonly LocationNetwork[]): Coverage {
  const names = networks.flatMap((network) => [network.locationCode, network.locationName])
  return {
    locationCodes,
    networks,
    places: placesOf(locationCodes, networks),
    searchText: [...new Set([...locationCodes, ...names])].join('\n').toLowerCase(),
  }
}

/**
 * A country finds whatever works there, wider packages included; !RG what covers a region, !GL what covers the world.
 * Several countries are a region, also where nobody has marked them as one; the world without a list of countries is
 * every country.
 */
function placesOf(locationCodes: readonly string[], networks: readonly LocationNetwork[]): Set<string> {
  const places = new Set([...locationCodes, ...networks.map((network) => network.locationCode)])
  const countries = [...places].filter((code) => !code.startsWith('!'))
  if (countries.length > 1 && !places.has(GLOBAL)) places.add(REGIONAL)
  if (countries.length === 0 && places.has(GLOBAL)) places.add(EVERYWHERE)
  return places
}

export function covers(coverage: Coverage, locationCode: string): boolean {
  const wide = locationCode === REGIONAL || locationCode === GLOBAL
  return coverage.places.has(locationCode) || (!wide && coverage.places.has(EVERYWHERE))
}

export function wordsOf(keyword: string): string[] {
  return keyword.toLowerCase().split(/\s+/).filter(Boolean)
}

interface Named {
  readonly packageCode: string
  readonly slug: string
  readonly name: string
}

/** What keywords find a package by, its places apart. */
export function ownText({ packageCode, slug, name }: Named): string {
  return `${packageCode}\n${slug}\n${name}`.toLowerCase()
}

/** Whether each word is part of the name, the code, the slug or a place. */
export function mentions(text: string, coverage: Coverage, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word) || coverage.searchText.includes(word))
}

/** Equal coverages have equal ids: they are stored and held in memory once. */
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

/** ISO 3166-1 alpha-2, and XK, which everybody uses for Kosovo. */
export const KNOWN_COUNTRIES = Object.keys(countries)

/** Whether the code is a country of ISO 3166-1 alpha-2, or XK, which everybody uses for Kosovo. */
export function isCountry(locationCode: string): boolean {
  return Object.hasOwn(countries, locationCode)
}

export function isPlace(locationCode: string): boolean {
  return locationCode === REGIONAL || locationCode === GLOBAL || isCountry(locationCode)
}

/** In English; the code itself where it is no country's. */
export function countryName(locationCode: string): string {
  return isCountry(locationCode) ? countries[locationCode as keyof typeof countries].name : locationCode
}
