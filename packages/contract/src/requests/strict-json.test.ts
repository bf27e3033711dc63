import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseStrictJson } from './strict-json.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

describe('rejected bodies', () => {
  test.each([
    ['empty', '', 'empty'],
    ['only white space', ' \n', 'not valid JSON'],
    ['byte-order mark', '\ufeff{}', 'byte-order mark'],
    ['array', '[]', 'not an object'],
    ['null', 'null', 'not an object'],
    ['string', '"{}"', 'not an object'],
    ['number', '1', 'not an object'],
    ['truncated', '{"a":1', 'not valid JSON'],
    ['truncated in a string', '{"a":"\\', 'not valid JSON'],
    ['comment', '{"a":1}//', 'not valid JSON'],
    ['two documents', '{}{}', 'not valid JSON'],
    ['trailing comma', '{"a":1,}', 'not valid JSON'],
    ['single quotes', "{'a':1}", 'not valid JSON'],
    ['NaN', '{"a":NaN}', 'not valid JSON'],
    ['raw line break in a string', '{"a":"\n"}', 'not valid JSON'],
    ['duplicate', '{"a":1,"a":1}', 'twice'],
    ['duplicate by escape', '{"a":1,"\\u0061":2}', 'twice'],
    ['duplicate of the empty name', '{"":1,"":2}', 'twice'],
    ['duplicate in a nested object', '{"a":{"b":1,"c":2,"b":3}}', 'twice'],
    ['duplicate in an array', '{"a":[[{"b":1,"b":2}]]}', 'twice'],
    ['duplicate that hides an object', '{"a":{"b":1},"a":2}', 'twice'],
    ['duplicate that hides a scalar', '{"a":2,"a":{"b":1}}', 'twice'],
    ['duplicate __proto__', '{"__proto__":1,"__proto__":2}', 'twice'],
    ['duplicate next to colons in strings', '{"a:":"::","a:":":"}', 'twice'],
    ['depth 9', nested(9), 'more than 8 levels'],
    ['depth 100 000', nested(100_000), 'more than 8 levels'],
    ['unclosed depth', '['.repeat(200_000), 'more than 8 levels'],
  ])('%s', (_, text, reason) => {
    const parsed = parseStrictJson(bytesOf(text))
    expect(parsed.ok).toBe(false)
    expect(parsed).toHaveProperty('reason', expect.stringContaining(reason))
  })

  test.each([
    ['stray continuation byte', [0x80]],
    ['overlong slash', [0xc0, 0xaf]],
    ['surrogate in UTF-8', [0xed, 0xa0, 0x80]],
    ['truncated character', [0xe6, 0x9d]],
    ['beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ])('invalid UTF-8: %s', (_, bytes) => {
    const body = Uint8Array.of(...bytesOf('{"a":"'), ...bytes, ...bytesOf('"}'))
    expect(parseStrictJson(body)).toHaveProperty('reason', expect.stringContaining('UTF-8'))
  })

  test('UTF-16 is rejected', () => {
    expect(parseStrictJson(Buffer.from('\ufeff{}', 'utf16le')).ok).toBe(false)
    expect(parseStrictJson(Buffer.from('{}', 'utf16le')).ok).toBe(false)
  })
})

describe('accepted bodies', () => {
  test.each([
    ['{}', {}],
    [' \t\r\n{ } ', {}],
    ['{"a":"b:\\"c\\\\","d":[{"a":1},{"a":2}]}', { a: 'b:"c\\', d: [{ a: 1 }, { a: 2 }] }],
    ['{"a":{"a":{"a":1}}}', { a: { a: { a: 1 } } }],
    ['{"a":1.0,"b":1e3}', { a: 1, b: 1000 }],
    ['{"東京":"🗼"}', { 東京: '🗼' }],
    ['{"a":"\ufeff"}', { a: '\ufeff' }],
    [nested(8), { a: [[[[[[[]]]]]]] }],
  ])('%s', (text, value) => {
    expect(parseStrictJson(bytesOf(text))).toEqual({ ok: true, value })
  })

  test('a __proto__ member is an ordinary member and does not change a prototype', () => {
    const parsed = parseStrictJson(
      bytesOf('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
    )
    if (!parsed.ok) throw new Error(parsed.reason)
    expect(Object.keys(parsed.value)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(parsed.value)).toBe(Object.prototype)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('compared with JSON.parse', () => {
  test('accepts everything that JSON.stringify writes, up to the depth limit', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 5 })), (value) => {
        const text = JSON.stringify(value)
        expect(parseStrictJson(bytesOf(text))).toEqual({ ok: true, value: JSON.parse(text) })
      }),
      { numRuns: 500 },
    )
  })

  test('detects a duplicate member anywhere in a document, whatever its escaping', () => {
    const escaped = (name: string) =>
      `"${[...name].map((sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
    const name = fc.string({ unit: 'grapheme-ascii', minLength: 1 })
    fc.assert(
      fc.property(
        name,
        fc.jsonValue({ maxDepth: 2 }),
        fc.jsonValue({ maxDepth: 2 }),
        fc.nat(3),
        (member, a, b, depth) => {
          const doubled = `{${JSON.stringify(member)}:${JSON.stringify(a)},"\\t":0,${escaped(member)}:${JSON.stringify(b)}}`
          const text = '{"x":'.repeat(depth) + doubled + '}'.repeat(depth)
          expect(parseStrictJson(bytesOf(text)).ok).toBe(false)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('never throws on random bytes, and accepts nothing that a strict JSON.parse rejects', () => {
    const soup = fc.array(fc.constantFrom(...'{}[]:,"\\ab0 u\u00e9'.split(''), '"a"', '{"a":', 'null'), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(
        soup.map((parts) => parts.join('')),
        (text) => {
          const parsed = parseStrictJson(bytesOf(text))
          if (parsed.ok) expect(parsed.value).toEqual(JSON.parse(text))
        },
      ),
      { numRuns: 2000 },
    )
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void parseStrictJson(bytes)))
  })
})
