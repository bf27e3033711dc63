import type { Place } from '@dealer-esim/gateway/http/console/orders/buyable-packages.ts'
import { locale, t } from '#strings/strings.ts'
import { locationName } from './countries.ts'

/** The typed text: the words of a place, and any data and days beside them, as in `Korea 1 GB`. */
export interface Typed {
  words: readonly string[]
  /** Bytes, by the count of 1000. */
  volume: number | undefined
  days: number | undefined
  /** The volume is meant by the day, as in `1 GB per day`. */
  isDaily: boolean
}

export function readTyped(text: string): Typed {
  const volume = /(\d{1,5}(?:[.,]\d)?) ?(mb|gb)\b/i.exec(text)
  const days = /(\d{1,3}) ?(?:d|days?)\b/i.exec(text)
  const daily = /(?:\/|\bper |\ba )day\b|\bdaily\b/i.exec(text)
  let rest = text
  for (const found of [volume, days, daily]) if (found) rest = rest.replace(found[0], ' ')
  const unit = volume?.[2]?.toLowerCase() === 'gb' ? 1_000_000_000 : 1_000_000
  return {
    words: plain(rest).split(' ').filter(Boolean),
    volume: volume ? Number(volume[1]!.replace(',', '.')) * unit : undefined,
    days: days ? Number(days[1]) : undefined,
    isDaily: daily !== null,
  }
}

/** The name of a place: a country's in the reader's language, a region's as its supplier or the gateway calls it. */
export function placeName({ place }: Pick<Place, 'place'>): string {
  return locationName(place)
}

/** Finds places as people write them: by the beginning of any word, without accents, or by names such as USA and UK. */
export function searchPlaces(places: readonly Place[], words: readonly string[]): Place[] {
  if (words.length === 0) return [...places]
  const typed = words.join(' ')
  const ranked = places.flatMap((place) => {
    const names = namesOf(place)
    const rank = names.some((name) => name === typed) ? 0 : names.some((name) => name.startsWith(typed)) ? 1 : 2
    return names.some((name) => hasWords(name, words)) ? [{ place, rank }] : []
  })
  return ranked.sort((left, right) => left.rank - right.rank).map(({ place }) => place)
}

function hasWords(name: string, words: readonly string[]): boolean {
  const own = name.split(' ')
  return words.every((word) => own.some((one) => one.startsWith(word)))
}

/** Names besides the official ones, such as USA. */
const otherNames: Readonly<Record<string, string | undefined>> = t.portal.otherNames

function namesOf({ place }: Place): string[] {
  return [locationName(place), place, ...(otherNames[place]?.split(', ') ?? [])].map(plain)
}

/** Sorts by name. */
export function sortPlaces(places: readonly Place[]): Place[] {
  return [...places].sort((left, right) => collator.compare(placeName(left), placeName(right)))
}

const collator = new Intl.Collator(locale)

/** Lower case without accents and punctuation: `Côte d’Or` is `cote d or`. */
function plain(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
