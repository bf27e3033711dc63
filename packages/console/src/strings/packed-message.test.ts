import { parse } from '@formatjs/icu-messageformat-parser'
import { expect, it } from 'vitest'
import en from './en.json'
import { pack, unpack } from './packed-message.ts'
import zhHans from './zh-Hans.json'

type Texts = { [name: string]: string | Texts }

const parsed = (text: string) => parse(text, { captureLocation: false })

it.each(Object.entries({ en, zhHans }))('every message of %s is unpacked as it was parsed', (_, texts) => {
  const messages = valuesOf(texts).filter((text) => text.includes('{'))
  expect(messages.length).toBeGreaterThan(300)
  for (const text of messages) expect([text, unpack(pack(parsed(text)))]).toEqual([text, parsed(text)])
})

it('plurals, placeholders and literals are short, and other elements stay', () => {
  const text = '{count, plural, one {# day} other {# days}} in {place}'
  expect(pack(parsed(text))).toEqual([['count', { one: [0, ' day'], other: [0, ' days'] }], ' in ', ['place']])
  const rare = '{count, plural, offset:1 one {#} other {<b>{name}</b>}}, {at, number} {kind, select, a {A} other {B}}'
  expect(unpack(pack(parsed(rare)))).toEqual(parsed(rare))
})

function valuesOf(texts: Texts): string[] {
  return Object.values(texts).flatMap((text) => (typeof text === 'string' ? [text] : valuesOf(text)))
}
