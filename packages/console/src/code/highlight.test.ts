import { expect, test } from 'vitest'
import { highlight } from './highlight.ts'

const kinds = (text: string, language: Parameters<typeof highlight>[1]) =>
  highlight(text, language).flatMap(({ kind, text }) => (kind ? [[kind, text]] : []))

test('the tokens join back into the original text', () => {
  for (const [text, language] of [
    ['{"a": [1, "b\\"c", true]} ', 'json'],
    ["curl 'https://x.test/#y' # a comment", 'shell'],
    ['x-signature: abc\nwebhook-id', 'headers'],
    ['', 'go'],
  ] as const)
    expect(
      highlight(text, language)
        .map((token) => token.text)
        .join(''),
    ).toBe(text)
})

test('JSON member names and values are highlighted differently', () => {
  expect(kinds('{"a": "b", "c": 1.5, "d": null}', 'json')).toEqual([
    ['name', '"a"'],
    ['string', '"b"'],
    ['name', '"c"'],
    ['number', '1.5'],
    ['name', '"d"'],
    ['word', 'null'],
  ])
})

test('a URL inside a string is not highlighted as a comment', () => {
  expect(kinds("await send('https://x.test') // now", 'typescript')).toEqual([
    ['word', 'await'],
    ['string', "'https://x.test'"],
    ['comment', '// now'],
  ])
})
