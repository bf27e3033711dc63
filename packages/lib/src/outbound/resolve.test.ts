import { expect, test } from 'vitest'
import { findPublicAddress, isPrivate, whyForbidden } from './resolve.ts'

test.each([
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:8.8.8.8',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'not an address',
])('%s is not dialled if a stranger supplied it', (address) => {
  expect(whyForbidden(address)).toBeTypeOf('string')
})

test.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450:4001::1'])(
  '%s may be dialled',
  (address) => {
    expect(whyForbidden(address)).toBeUndefined()
  },
)

test.each(['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '::1', 'fd00::21', '::ffff:10.1.2.3'])(
  '%s is private',
  (address) => expect(isPrivate(address)).toBe(true),
)

test.each(['8.8.8.8', '203.0.113.7', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8', 'host', ''])(
  '%s is not private',
  (address) => expect(isPrivate(address)).toBe(false),
)

test('finds the public address of a host', async () => {
  expect(await findPublicAddress('8.8.8.8')).toBe('8.8.8.8')
  expect(await findPublicAddress('localhost')).toBeUndefined()
})
