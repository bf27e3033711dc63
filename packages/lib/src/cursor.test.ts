import { CURSOR_LENGTH_MAX } from '@dealer-esim/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCursor, readCursor } from './cursor.ts'

const key = Buffer.alloc(32, 7)
const scope = { list: 'package/list', tenantId: 'T1', filters: { locationCode: 'JP', keyword: 'x' } }
const position = [1_700_000_000_000, 'JP_1_7']
const cursor = createCursor(key, scope, position)

test('a cursor is accepted by the list that it was made for, whatever the order of the filters', () => {
  expect(readCursor(key, scope, cursor)).toEqual(position)
  const filters = { keyword: 'x', slug: undefined, packageCode: null, locationCode: 'JP' }
  expect(readCursor(key, { ...scope, filters }, cursor)).toEqual(position)
})

test.each([
  ['another tenant', key, { ...scope, tenantId: 'T2' }],
  ['another list', key, { ...scope, list: 'esim/profile/list' }],
  ['another filter', key, { ...scope, filters: { ...scope.filters, keyword: 'y' } }],
  ['one filter more', key, { ...scope, filters: { ...scope.filters, slug: 's' } }],
  ['one filter less', key, { ...scope, filters: { locationCode: 'JP' } }],
  ['another gateway', Buffer.alloc(32, 8), scope],
])('a cursor of %s is refused with 000108', (_, otherKey, otherScope) => {
  expect(() => readCursor(otherKey, otherScope, cursor)).toThrow(expect.objectContaining({ code: '000108' }))
})

test('a cursor that is altered in any character, truncated or made up is refused with 000108', () => {
  const refused = expect.objectContaining({ code: '000108' })
  for (let i = 0; i < cursor.length; i++) {
    const changed = `${cursor.slice(0, i)}${cursor[i] === 'A' ? 'B' : 'A'}${cursor.slice(i + 1)}`
    expect(() => readCursor(key, scope, changed)).toThrow(refused)
    expect(() => readCursor(key, scope, cursor.slice(0, i))).toThrow(refused)
  }
  for (const text of [`${cursor}=`, `${cursor} `, `${cursor}AAAA`, '', '!!!']) {
    expect(() => readCursor(key, scope, text)).toThrow(refused)
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(() => readCursor(key, scope, text)).toThrow(refused)
    }),
  )
})

test('a cursor for the longest position fits the contract', () => {
  const longest = createCursor(key, scope, [8_640_000_000_000_000, '\u{10FFFF}'.repeat(64)])
  expect(longest.length).toBeLessThanOrEqual(CURSOR_LENGTH_MAX)
})
