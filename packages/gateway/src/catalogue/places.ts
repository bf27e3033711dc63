import { GLOBAL, REGIONAL } from '@dealer-esim/contract'
import { countries } from 'countries-list'

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
