import { expect, test } from 'vitest'
import { isLanguageTag } from './language-tag.ts'

const WELL_FORMED = [
  ...['de', 'DE', 'zh-Hans', 'es-419', 'de-CH-1901', 'de-Latn-DE-1996', 'abcde', 'root'],
  ...['zh-yue-HK', 'zh-cmn-Hans-CN', 'sgn-ase', 'zh-min-nan'],
  ...['en-u-ca-gregory', 'ar-a-aaa-b-bbb', 'en-x-y', 'en-x-a-a', 'x-dealer', 'i-default', 'I-Klingon', 'en-GB-oed'],
]
const MALFORMED = [
  ...['', 'e', 'de_DE', 'de-', '-de', 'de--CH', 'a-DE', '1996-de', 'de-a', 'en-x', 'x', 'abcdefghi', 'de-abcdefghi'],
  ...['de-DE-DE', 'en-Latn-Latn', 'de-a-value-a-other', 'zh-a-b', 'i-elvish', 'dé'],
]

test.each(WELL_FORMED)('%s is a language tag', (tag) => {
  expect(isLanguageTag(tag)).toBe(true)
})

test.each(MALFORMED)('“%s” is not a language tag', (tag) => {
  expect(isLanguageTag(tag)).toBe(false)
})
