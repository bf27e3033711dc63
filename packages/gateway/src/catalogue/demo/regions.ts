import { GLOBAL, REGIONAL } from '@dealer-esim/contract'
import { countries } from 'countries-list'
import { DESTINATIONS } from './destinations.ts'

/** A package's territory wider than one country. */
export interface Region {
  /** First part of its package codes; never two letters, those are countries. */
  readonly code: string
  readonly name: string
  readonly marker: typeof REGIONAL | typeof GLOBAL
  readonly countries: readonly string[]
  /** Price of 1 GB for a week, in US cents. */
  readonly cents: number
}

const ALL = Object.keys(DESTINATIONS).sort()

const onContinents = (...continents: string[]) =>
  ALL.filter((code) => continents.includes(countries[code as keyof typeof countries].continent))

const list = (codes: string) => codes.split(' ')

const regional = (code: string, name: string, cents: number, codes: readonly string[]): Region => ({
  ...{ code, name, cents, countries: codes },
  marker: REGIONAL,
})

export const REGIONS: readonly Region[] = [
  regional('EUROPE', 'Europe', 420, onContinents('EU')),
  regional('ASIA', 'Asia', 490, onContinents('AS')),
  regional('AFRICA', 'Africa', 890, onContinents('AF')),
  regional('LATAM', 'Latin America', 690, list('AR BO BR CL CO CR DO EC GT HN MX NI PA PE PR PY SV UY')),
  regional('NORTH_AMERICA', 'North America', 490, list('CA MX US')),
  regional('CARIBBEAN', 'Caribbean', 890, list('BB BS DO JM PR TT')),
  regional('OCEANIA', 'Oceania', 590, onContinents('OC')),
  regional('MIDDLE_EAST', 'Middle East', 590, list('AE BH IL IQ JO KW OM QA SA TR')),
  regional('SOUTHEAST_ASIA', 'Southeast Asia', 420, list('ID KH LA MY PH SG TH VN')),
  regional('GREATER_CHINA', 'Greater China', 450, list('CN HK MO TW')),
  regional('JAPAN_KOREA', 'Japan and South Korea', 490, list('JP KR')),
  regional('BALKANS', 'Balkans', 490, list('AL BA BG GR HR ME MK RO RS SI XK')),
  regional('NORDICS', 'Nordic countries', 390, list('DK FI IS NO SE')),
  { code: 'GLOBAL', name: 'Global', marker: GLOBAL, countries: ALL, cents: 990 },
]
