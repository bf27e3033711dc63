/**
 * True for a well-formed language tag (RFC 5646 §2.1), whether or not its subtags are registered. The runtime's own check
 * refuses tags that BCP 47 allows: zh-yue-HK, x-dealer, i-default.
 */
export function isLanguageTag(text: string): boolean {
  return (
    (WHOLE_TAG.test(text) && !repeatsSingleton(text)) || PRIVATE_USE.test(text) || IRREGULAR.has(text.toLowerCase())
  )
}

const WHOLE_TAG = new RegExp(
  [
    '^([a-z]{2,3}(-[a-z]{3}){0,3}|[a-z]{4,8})', // language, with extended language subtags
    '(-[a-z]{4})?', // script
    '(-([a-z]{2}|\\d{3}))?', // region
    '(-([a-z0-9]{5,8}|\\d[a-z0-9]{3}))*', // variants
    '(-[a-wy-z0-9](-[a-z0-9]{2,8})+)*', // extensions
    '(-x(-[a-z0-9]{1,8})+)?$', // private use
  ].join(''),
  'i',
)

const PRIVATE_USE = /^x(-[a-z0-9]{1,8})+$/i

/** Grandfathered tags that do not have the usual form. */
const IRREGULAR: ReadonlySet<string> = new Set([
  ...['en-gb-oed', 'i-ami', 'i-bnn', 'i-default', 'i-enochian', 'i-hak', 'i-klingon', 'i-lux', 'i-mingo', 'i-navajo'],
  ...['i-pwn', 'i-tao', 'i-tay', 'i-tsu', 'sgn-be-fr', 'sgn-be-nl', 'sgn-ch-de'],
])

/** Each extension may occur only once (RFC 5646 §2.2.6). What follows an x is private. */
function repeatsSingleton(tag: string): boolean {
  const subtags = tag.toLowerCase().split('-')
  const end = subtags.indexOf('x')
  const singletons = subtags.slice(1, end < 0 ? undefined : end).filter((subtag) => subtag.length === 1)
  return new Set(singletons).size < singletons.length
}
