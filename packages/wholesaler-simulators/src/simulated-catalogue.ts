/** A package that a wholesaler sells, in the simulator's own terms. Each interface shows it in its own form. */
export interface Product {
  code: string
  slug: string
  name: string
  /** A top-up is added to an eSIM of the same coverage. */
  kind: 'eSIM' | 'topUp'
  coverage: Coverage
  /** Bytes, base 10; null: unlimited. For a daily package, the volume of one day. */
  volume: number | null
  days: number
  /** The volume renews each day, and the buyer chooses the number of days. */
  isDaily: boolean
  /** In 1/10 000 of the account's currency, a multiple of a hundredth. What the account pays. */
  price: number
  retailPrice: number
  inStock: boolean
  /** Shown in the catalogue, and sold. */
  isListed: boolean
}

export interface Coverage {
  /** ISO code of a country, `!RG-…` for a region, `!GL`. */
  code: string
  /** Unique, in capital letters: the ISO code, or the name of a region. */
  label: string
  name: string
  /** ISO codes. */
  countries: string[]
}

export interface CatalogueOptions {
  /** Packages for eSIMs. */
  size: number
  /** Names a package in the wholesaler's way. Must differ for each. */
  codeOf(draft: Draft): string
  /** Top-ups are separate packages. Default true; otherwise each package serves as its own top-up. */
  hasTopUps?: boolean
  /** The interface has packages whose volume renews each day. Default false. */
  hasDaily?: boolean
}

/** A package that has no name yet. */
type Draft = Pick<Product, 'kind' | 'coverage' | 'volume' | 'days' | 'isDaily'> & { serial: number }

/** A catalogue of plausible packages. The same options produce the same catalogue. */
export function createCatalogue({ size, codeOf, hasTopUps = true, hasDaily = false }: CatalogueOptions): Product[] {
  const coverages = listCoverages().slice(0, Math.max(1, Math.ceil(size / TIERS_OF_A_SMALL_CATALOGUE)))
  return Array.from({ length: size }, (_, serial) => {
    const tier = Math.floor(serial / coverages.length)
    const gigabytes = GIGABYTES[tier % GIGABYTES.length]!
    const isDaily = hasDaily && tier % GIGABYTES.length === 1
    const days = isDaily ? 1 : DAYS[tier % DAYS.length]! + Math.floor(tier / (GIGABYTES.length * DAYS.length))
    const coverage = coverages[serial % coverages.length]!
    const draft = { serial, coverage, days, isDaily, volume: gigabytes === null ? null : gigabytes * 1_000_000_000 }
    const kinds = hasTopUps ? (['eSIM', 'topUp'] as const) : (['eSIM'] as const)
    return kinds.map((kind) => priced({ ...draft, kind }, codeOf))
  }).flat()
}

function priced(draft: Draft, codeOf: CatalogueOptions['codeOf']): Product {
  const { serial, kind, coverage, volume, days, isDaily } = draft
  const gigabytes = volume === null ? 60 : volume / 1_000_000_000
  // Between 30 and 129 cents a gigabyte: the same for all packages with one coverage, so that prices rise with volume.
  const centsPerGigabyte = 30 + (hash(coverage.code) % 100)
  const cents = Math.round(45 + gigabytes * centsPerGigabyte * (gigabytes > 10 ? 0.7 : 1) + days * 4)
  const size = volume === null ? 'Unlimited' : `${gigabytes}GB`
  return {
    code: codeOf(draft),
    slug: `${coverage.label}_${size}_${isDaily ? 'Daily' : days}${kind === 'topUp' ? '_TOPUP' : ''}_${serial}`,
    name: `${coverage.name} ${size}${isDaily ? '/Day' : ` ${days}Days`}`,
    kind,
    coverage,
    volume,
    days,
    isDaily,
    price: cents * 100,
    retailPrice: Math.ceil(cents * 1.8) * 100,
    inStock: true,
    isListed: true,
  }
}

/** A catalogue of a few hundred packages has about the same number for each country. */
const TIERS_OF_A_SMALL_CATALOGUE = 6
/** Seven volumes and five durations have no common divisor: 35 pairs before one repeats. */
const GIGABYTES = [1, 2, 3, 5, 10, 20, null]
const DAYS = [7, 30, 15, 3, 90]

function listCoverages(): Coverage[] {
  const countries = COUNTRIES.split(' ').map((code) => ({
    code,
    label: code,
    name: countryName(code),
    countries: [code],
  }))
  const regions = Object.entries(REGIONS).map(([name, codes]) => ({
    code: `!RG-${name.replace(' ', '').toUpperCase()}`,
    label: name.replace(' ', '').toUpperCase(),
    name,
    countries: codes.split(' '),
  }))
  const everywhere = { code: '!GL', label: 'GLOBAL', name: 'Global', countries: COUNTRIES.split(' ').slice(0, 120) }
  return [...countries.slice(0, 20), everywhere, ...regions, ...countries.slice(20)]
}

/** English name of a country. */
export function countryName(code: string): string {
  return names.of(code) ?? code
}
const names = new Intl.DisplayNames('en', { type: 'region' })

function hash(value: string): number {
  let sum = 7
  for (const character of value) sum = (sum * 31 + character.charCodeAt(0)) % 1_000_003
  return sum
}

/** The countries to which most people travel first. */
const COUNTRIES = `US GB JP FR ES IT DE TR TH CN KR SG MY ID VN AE AU CA MX GR
PT NL BE CH AT SE NO DK FI IE PL CZ HU RO BG HR SI SK EE LV LT LU MT CY IS AL BA MK ME RS MD UA GE AM AZ KZ UZ KG TJ
HK MO TW PH KH LA MM BD LK NP PK IN MN BN TL MV BT SA QA KW BH OM JO IL LB IQ EG MA TN DZ LY ZA KE TZ UG RW ET
NG GH CI SN CM CD CG GA BJ TG BF ML NE TD CF GN GW SL LR GM MR CV MU SC MG RE YT MZ ZM ZW MW BW NA LS SZ AO
BR AR CL PE CO EC BO PY UY VE GY SR GF PA CR NI HN SV GT BZ DO PR JM BS BB TT GD LC VC AG DM KN AI VG VI KY TC BM AW CW
MQ GP HT NZ FJ PG SB VU NC PF WS TO GU FM MH PW NR TV KI AD MC SM LI GI FO GL JE GG IM XK TM AF YE SD SS DJ ER BI GQ ST KM`
  .replaceAll('\n', ' ')
  .trim()

const REGIONS = {
  Europe: 'FR ES IT DE PT NL BE CH AT SE NO DK FI IE PL CZ HU RO BG HR GB',
  Asia: 'JP TH CN KR SG MY ID VN PH KH LA HK TW',
  'North America': 'US CA MX',
  'South America': 'BR AR CL PE CO EC UY',
  Africa: 'EG MA TN ZA KE TZ UG NG GH',
  'Middle East': 'AE SA QA KW BH OM JO TR',
}
