import { readVolume, volumeText } from '@dealer-esim/contract'
import { countryName, isCountry } from '#catalogue/coverage.ts'
import { formatDays, formatVolume } from './formats.ts'
import { countriesText, type Language, textOf } from './traveller-language.ts'

/** The package of a sold eSIM, as far as the catalogue still knows it. */
export interface PackageFacts {
  dataType: 'TOTAL' | 'DAILY' | 'UNLIMITED'
  /** Bytes, per day of a DAILY package; null: unlimited. */
  volume: bigint | null
  days: number
  activationPolicy: 'ON_INSTALL' | 'ON_FIRST_NETWORK' | 'ON_PURCHASE'
  /** Countries, and !RG or !GL. */
  locations: readonly string[]
}

/** The title in parts: `Japan`, then `5 GB` and `3 days`; a name that the operator typed has no terms. */
export interface PackageTitle {
  place: string
  terms: readonly string[]
}

/**
 * Composes a package's title in a language from its data. A name that says more than place, volume and days was typed by the
 * operator, and is shown as it is: “Tokyo Business Pass” is not translated.
 */
export function packageTitle(language: Language, name: string, facts: PackageFacts | null): PackageTitle {
  const place = facts === null ? undefined : placeOf(name, facts)
  if (facts === null || place === undefined) return { place: name, terms: [] }
  return { place: placeText(language, place), terms: termsOf(language, facts) }
}

/** `Japan · 5 GB · 3 days` */
export function titleText(language: Language, { place, terms }: PackageTitle): string {
  return joinParts(language, [place, ...terms])
}

/** Parts of a title as text. From right to left each is isolated, or the digits of one would move to its neighbour. */
export function joinParts({ direction }: Language, parts: readonly string[]): string {
  const isolated = direction === 'rtl' && parts.length > 1 ? parts.map((part) => `\u2068${part}\u2069`) : parts
  return isolated.join(' · ')
}

/** The countries of a package: not !RG and !GL. */
export function countriesOf(facts: PackageFacts | null): string[] {
  return (facts?.locations ?? []).filter(isCountry)
}

/** A country's code, a region's number (UN M49) or a number of countries. */
type Place = { region: string } | { countries: number }

function placeOf(name: string, facts: PackageFacts): Place | undefined {
  const said = name.replace(/:? top-up$/i, '')
  const at = said.search(VOLUME)
  const rest = at === -1 ? '' : said.slice(at).toLowerCase()
  if (!wordsOf(rest).every((word) => termWords(facts).has(word))) return undefined
  const typed = said.slice(0, at === -1 ? undefined : at).replace(/, day pass,? ?$/i, '')
  const place = withoutEnd(typed)
  const countries = countriesOf(facts)
  const [only, ...others] = countries
  if (only !== undefined && others.length === 0) return isNameOf(only, place) ? { region: only } : undefined
  const region = REGIONS.find(([words]) => words.includes(place.toLowerCase()))
  if (region) return { region: region[1] }
  return place.toLowerCase() === `${countries.length} countries` ? { countries: countries.length } : undefined
}

/** Where the volume begins in a name of ours: “Japan 5 GB 3 days”, “Japan unlimited 3 days”. */
const VOLUME = /\b(\d{1,6}(\.\d{1,2})? ?(KB|MB|GB|TB)|unlimited)\b/i

function wordsOf(text: string): string[] {
  return text.split(/[\s,:·/]+/).filter((word) => word !== '')
}

/** The words of which the names that rules and imports write are made, with this package's numbers. */
function termWords({ volume, days }: PackageFacts): ReadonlySet<string> {
  const amount = volume === null ? 'unlimited' : volumeText(readVolume(volume)).toLowerCase()
  return new Set([...amount.split(' '), amount.replace(' ', ''), String(days), ...['a', 'day', 'days', 'pass']])
}

const ENGLISH_NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' })

function isNameOf(country: string, place: string): boolean {
  const plain = (text: string) =>
    text
      .normalize('NFKD')
      .replaceAll(/[^A-Za-z]/g, '')
      .toLowerCase()
  return [country, countryName(country), ENGLISH_NAMES.of(country)!].some((name) => plain(name) === plain(place))
}

/** The regions of our names, and their numbers, by which the runtime knows them in each language. */
const REGIONS: readonly [names: readonly string[], region: string][] = [
  [['europe'], '150'],
  [['asia'], '142'],
  [['africa'], '002'],
  [['americas', 'america'], '019'],
  [['oceania'], '009'],
  [['global', 'world', 'worldwide'], '001'],
  [['caribbean'], '029'],
  [['north america'], '003'],
  [['south america'], '005'],
  [['latin america'], '419'],
  [['southeast asia'], '035'],
]

function placeText(language: Language, place: Place): string {
  if ('countries' in place) return countriesText(language, place.countries)
  const style = SHORT.has(place.region) ? 'short' : 'long'
  const name = new Intl.DisplayNames(language.tag, { type: 'region', fallback: 'code', style }).of(place.region)!
  return name.charAt(0).toLocaleUpperCase(language.tag) + name.slice(1)
}

/** Their long names are those of an administration: “Hong Kong SAR China”. */
const SHORT: ReadonlySet<string> = new Set(['HK', 'MO'])

function termsOf(language: Language, { dataType, volume, days }: PackageFacts): string[] {
  const amount = volume === null ? language.texts.unlimited : formatVolume(language, volume)
  const data = dataType === 'DAILY' ? textOf(language, 'perDay', { volume: amount }) : amount
  return [data, formatDays(language, days)]
}

/** The text without spaces and punctuation at its end: `Japan – ` is `Japan`. */
function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && /[\s,:·–-]/.test(text[end - 1]!)) end--
  return text.slice(0, end).trim()
}
