import { expect, test } from 'vitest'
import { checkRequestHeaders } from './request-headers.ts'

const good = {
  'rt-timestamp': '1700000000000',
  'rt-requestid': '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11',
  'rt-accesscode': 'demo_app_key',
  'x-signature': 'b4084664c3ec5f6431cbdb1143ebdd047ad47dea5711349e3779b0d37a047a4f',
}

test('well-formed headers are returned unchanged', () => {
  const capitals = {
    ...good,
    'rt-requestid': good['rt-requestid'].toUpperCase(),
    'x-signature': good['x-signature'].toUpperCase(),
  }
  expect(checkRequestHeaders(capitals)).toEqual({
    ok: true,
    headers: {
      timestamp: '1700000000000',
      requestId: '7F9C24E8-3B1A-4E5D-9F10-2B6C8D0E4A11',
      appKey: 'demo_app_key',
      signature: good['x-signature'].toUpperCase(),
    },
  })
})

test.each(Object.keys(good))('a missing %s is refused with 000101 even if another header is malformed', (name) => {
  const other = name === 'x-signature' ? 'rt-timestamp' : 'x-signature'
  const checked = checkRequestHeaders({ ...good, [other]: '?', [name]: undefined })
  expect(checked).toMatchObject({
    ok: false,
    code: '000101',
    details: [{ field: expect.stringMatching(new RegExp(name, 'i')) }],
  })
})

test.each([
  ['rt-timestamp', ''],
  ['rt-timestamp', '1628670421'],
  ['rt-timestamp', '17000000000000'],
  ['rt-timestamp', '1700000000000\n'],
  ['rt-timestamp', '١٧٠٠٠٠٠٠٠٠٠٠٠'],
  ['rt-timestamp', '+170000000000'],
  ['rt-timestamp', '1700000000000, 1700000000000'],
  ['rt-timestamp', ['1700000000000', '1700000000000']],
  ['rt-requestid', '4ce9d9cdac9e4e17b3a2c66c358c1ce2'],
  ['rt-requestid', '{7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11}'],
  ['rt-requestid', '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a1g'],
  ['rt-accesscode', '1234567'],
  ['rt-accesscode', 'x'.repeat(65)],
  ['rt-accesscode', 'demo.app.key'],
  ['x-signature', good['x-signature'].slice(1)],
  ['x-signature', `0x${good['x-signature'].slice(2)}`],
  ['x-signature', ` ${good['x-signature']}`],
])('%s with the value %j is refused with 000102', (name, value) => {
  const checked = checkRequestHeaders({ ...good, [name]: value })
  expect(checked).toMatchObject({
    ok: false,
    code: '000102',
    details: [{ field: expect.stringMatching(new RegExp(name, 'i')) }],
  })
})

test('all malformed headers are reported', () => {
  const checked = checkRequestHeaders({ ...good, 'rt-timestamp': '1', 'x-signature': '2' })
  expect(checked).toMatchObject({ details: [{ field: 'RT-Timestamp' }, { field: 'X-Signature' }] })
})
