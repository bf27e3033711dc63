import { ENGLISH, type Language } from './traveller-language.ts'

/** What is known about the language of a reader, all of it unchecked. */
export interface LanguageSources {
  /** Chosen on the page, now or earlier. */
  chosen?: string | undefined
  /** The language that the order or send named when it handed the eSIM over. */
  handOver?: string | null | undefined
  acceptLanguage?: string | undefined
  /** The language of the seller's brand. */
  brand?: string | null | undefined
}

/** The first source with a language that we have; otherwise English. */
export function chooseLanguage<Offered extends Pick<Language, 'tag'>>(
  languages: ReadonlyMap<string, Offered>,
  { chosen, handOver, acceptLanguage, brand }: LanguageSources,
): Offered {
  for (const tag of [chosen, handOver, ...acceptedTags(acceptLanguage), brand]) {
    const found = tag ? findLanguage(languages, tag) : undefined
    if (found) return found
  }
  return languages.get(ENGLISH)!
}

/**
 * The language that a reader of `tag` understands: `pt-PT` finds `pt-BR`, `zh-TW` finds `zh-Hant`, `de-AT` finds `de`. Another
 * script is another text: `sr-Latn` does not find `sr`, whose readers may use Cyrillic.
 */
export function findLanguage<Offered extends Pick<Language, 'tag'>>(
  languages: ReadonlyMap<string, Offered>,
  tag: string,
): Offered | undefined {
  const wanted = likely(tag)
  if (wanted === undefined) return undefined
  const readable = [...languages.values()].filter((one) => {
    const offered = likely(one.tag)!
    return offered.language === wanted.language && offered.script === wanted.script
  })
  return readable.find((one) => likely(one.tag)!.region === wanted.region) ?? readable[0]
}

/** @returns undefined for a tag that is malformed or names no language */
function likely(tag: string): Intl.Locale | undefined {
  try {
    // An extended language stands for itself: zh-yue-HK is yue-HK (RFC 5646 §2.2.2).
    const locale = new Intl.Locale(tag.replace(/^[a-z]{2,3}-([a-z]{3})(?=-|$)/i, '$1'))
    const language = OTHER_CODES[locale.language] ?? locale.language
    return new Intl.Locale(locale, { language }).maximize()
  } catch {
    return undefined
  }
}

/** Codes under which systems also know a language: Cantonese is written as Chinese, Norwegian needs no entry. */
const OTHER_CODES: Readonly<Record<string, string>> = { cmn: 'zh', yue: 'zh', iw: 'he', in: 'id' }

/** More are not read: a header is written by anybody. */
const ACCEPTED_MAX = 20

/** The tags of an Accept-Language header, best first: `fr-CH, fr;q=0.9, *;q=0.5`. */
function acceptedTags(header = ''): string[] {
  const entries = header
    .split(',', ACCEPTED_MAX)
    .map((entry) => {
      const [tag = '', ...parameters] = entry.split(';').map((part) => part.trim())
      const quality = parameters.find((parameter) => /^q=/i.test(parameter))
      return { tag, quality: quality === undefined ? 1 : Number(quality.slice(2)) }
    })
    .filter(({ tag, quality }) => tag !== '*' && quality > 0)
  return entries.sort((left, right) => right.quality - left.quality).map(({ tag }) => tag)
}
