import { describe, expect, test } from 'vitest'
import { allows, parseAllowlist } from './allowlist.ts'

describe('allowlist entries have one spelling', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    [' 203.0.113.7 ', '203.0.113.7'],
    ['203.0.113.7/32', '203.0.113.7'],
    ['203.0.113.77/24', '203.0.113.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['10.1.2.3/9', '10.0.0.0/9'],
    ['2001:DB8:0:0:0:0:0:7', '2001:db8::7'],
    ['2001:db8::7/128', '2001:db8::7'],
    ['2001:db8:ffff::1/32', '2001:db8::/32'],
    ['2001:db8:ffff::1/33', '2001:db8:8000::/33'],
    ['::/0', '::/0'],
    ['::1', '::1'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['::ffff:203.0.113.7/120', '203.0.113.0/24'],
    ['::ffff:0:0/96', '0.0.0.0/0'],
    ['::ffff:203.0.113.7/128', '203.0.113.7'],
  ])('the entry %s is stored as %s', (text, entry) => {
    expect(parseAllowlist([text])).toEqual({ entries: [entry] })
  })

  test('duplicates are stored once', () => {
    const texts = ['203.0.113.0/24', '203.0.113.9/24', '::ffff:203.0.113.0/120', '::1']
    expect(parseAllowlist(texts)).toEqual({ entries: ['203.0.113.0/24', '::1'] })
  })
})

describe('an ambiguous entry is refused with a message that quotes it', () => {
  test.each([
    '',
    'localhost',
    '1.2.3',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0x7f000001',
    '010.0.0.1',
    '10.0.0.01',
    '256.0.0.1',
    '10.0.0.1/',
    '10.0.0.1/33',
    '10.0.0.1/08',
    '10.0.0.1/-1',
    '10.0.0.1/8/8',
    '10.0.0.1/255.0.0.0',
    '10.0.0.0-10.0.0.9',
    'fe80::1%eth0',
    '2001:db8::/129',
    '2001:db8:::1',
    '[::1]',
    '::203.0.113.7',
    '::203.0.113.7/120',
    '::ffff:0:0/95',
    '10.0.0.1:8080',
  ])('%s', (text) => {
    const parsed = parseAllowlist(['203.0.113.7', text])
    expect(parsed).toHaveProperty('fault')
    expect('fault' in parsed && parsed.fault).toContain(`“${text}”`)
  })

  test('a list that exceeds the entry limit is refused too', () => {
    const texts = Array.from({ length: 201 }, (_, index) => `10.0.${index}.0/24`)
    expect(parseAllowlist(texts)).toEqual({ fault: expect.stringContaining('the limit is 200') })
  })
})

describe('a caller is allowed by its address', () => {
  const allowlist = ['203.0.113.0/24', '198.51.100.7', '2001:db8::/32', '::1']
  test.each([
    ['203.0.113.255', true],
    ['203.0.114.0', false],
    ['198.51.100.7', true],
    ['198.51.100.8', false],
    ['::ffff:198.51.100.7', true],
    ['2001:db8:1::1', true],
    ['2001:db9::1', false],
    ['::1', true],
    ['::2', false],
    ['not an address', false],
  ])('%s: %s', (address, allowed) => {
    expect(allows(allowlist, address)).toBe(allowed)
  })

  test('an empty list allows any address', () => {
    expect(allows([], '198.51.100.7')).toBe(true)
  })

  test('0.0.0.0/0 contains all IPv4 addresses and no IPv6 address', () => {
    expect(allows(['0.0.0.0/0'], '198.51.100.7')).toBe(true)
    expect(allows(['0.0.0.0/0'], '2001:db8::1')).toBe(false)
  })
})

test('the message names every malformed entry, or the first few if there are many', () => {
  expect(parseAllowlist(['127.1', '203.0.113.7', 'office'])).toEqual({
    fault: expect.stringContaining('“127.1”, “office” are neither addresses nor CIDR blocks'),
  })
  const many = Array.from({ length: 7 }, (_, index) => `office-${index}`)
  expect(parseAllowlist(many)).toEqual({ fault: expect.stringContaining('“office-4” and 2 more are neither') })
})
