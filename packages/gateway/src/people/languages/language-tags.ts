/**
 * The tag, among those that are offered, that a reader of `wanted` understands: `pt-PT` finds `pt-BR`, `zh-TW` finds `zh-Hant`,
 * `de-AT` finds `de`. Another script is another text: `sr-Latn` does not find `sr`, whose readers may use Cyrillic.
 */
export function findTag(offered: Iterable<string>, wanted: string): string | undefined {
  const reader = likely(wanted)
  if (reader === undefined) return undefined
  const readable = [...offered].filter((tag) => {
    const { language, script } = likely(tag)!
    return language === reader.language && script === reader.script
  })
  return readable.find((tag) => likely(tag)!.region === reader.region) ?? readable[0]
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
export function acceptedTags(header = ''): string[] {
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
