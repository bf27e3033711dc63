import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { callerReader, isSecure } from './caller.ts'

function request(remoteAddress: string, headers: IncomingMessage['headers'], isTls = false): IncomingMessage {
  const socket = isTls ? { remoteAddress, encrypted: true } : { remoteAddress }
  return { socket, headers } as unknown as IncomingMessage
}

const CLAIMS = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' }

describe('the caller behind trusted proxies', () => {
  const callerOf = callerReader(['10.0.0.0/8', '192.0.2.1', '2001:db8:ffff::/48'])

  it.each(['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.1', '2001:db8:ffff::9'])(
    'is taken from the headers of the trusted proxy %s',
    (proxy) => {
      expect(callerOf(request(proxy, CLAIMS))).toEqual({ isHttps: true, address: '203.0.113.7' })
    },
  )

  it.each([
    ['11.0.0.1', '11.0.0.1'],
    ['::ffff:11.0.0.1', '11.0.0.1'],
    ['192.0.2.2', '192.0.2.2'],
    ['2001:db8:fffe::9', '2001:db8:fffe::9'],
  ])('is the peer %s itself if it is not trusted, whatever its headers say', (peer, address) => {
    expect(callerOf(request(peer, CLAIMS))).toEqual({ isHttps: false, address })
    expect(callerOf(request(peer, { ...CLAIMS, 'x-forwarded-proto': 'http' }, true))).toEqual({
      isHttps: true,
      address,
    })
  })

  it.each([
    ['entries of the caller itself are further left', '203.0.113.7, 198.51.100.9', '198.51.100.9'],
    ['our own proxies are skipped', '203.0.113.7, 198.51.100.9, 10.9.9.9, 192.0.2.1', '198.51.100.9'],
    ['an address mapped into IPv6 is the IPv4 one', '::ffff:198.51.100.9', '198.51.100.9'],
    ['also in hexadecimal', '::ffff:c633:6409', '198.51.100.9'],
    ['a mapped proxy is skipped too', '198.51.100.9, ::ffff:10.9.9.9', '198.51.100.9'],
    ['IPv6 has one spelling', '2001:0DB8:0:0::7', '2001:db8::7'],
    ['a port is dropped', '203.0.113.7, 198.51.100.9:4711, 10.9.9.9:80', '198.51.100.9'],
    ['an IPv6 address may be in brackets', '[2001:db8::7]', '2001:db8::7'],
    ['and have a port there', '[2001:db8::7]:4711', '2001:db8::7'],
    ['a caller inside the proxies’ own network', '10.0.0.5, 10.0.0.6', '10.0.0.5'],
  ])('is the right-most untrusted address: %s', (_, chain, address) => {
    const headers = { ...CLAIMS, 'x-forwarded-for': chain }
    expect(callerOf(request('10.0.0.1', headers))).toEqual({ isHttps: true, address })
  })

  it('is found almost as fast behind a long list of forged addresses', () => {
    const costOf = (chain: string) => {
      const asked = request('10.0.0.1', { ...CLAIMS, 'x-forwarded-for': chain })
      expect(callerOf(asked)).toEqual({ isHttps: true, address: '198.51.100.9' })
      const before = process.cpuUsage() // not the time of a clock, because other programs share the machine
      for (let i = 0; i < 500; i++) callerOf(asked)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const plain = '198.51.100.9, 10.9.9.9'
    // As long as a request head allows.
    const long = `${'1.1.1.1,'.repeat(1_800)}${plain}`
    expect(costOf(long)).toBeLessThan(30 * costOf(plain))
  })

  it('uses the protocol that the nearest proxy reports', () => {
    const isHttps = (proto: string) => {
      const caller = callerOf(request('10.0.0.1', { ...CLAIMS, 'x-forwarded-proto': proto }))
      return 'isHttps' in caller && caller.isHttps
    }
    expect(['https', 'HTTPS', 'http, https', 'https, http', 'http', ''].map(isHttps)).toEqual([
      ...[true, true, true, false, false, false],
    ])
  })

  it.each([
    ['no protocol', { 'x-forwarded-for': '203.0.113.7' }],
    ['no address', { 'x-forwarded-proto': 'https' }],
    ['a word instead of an address', { ...CLAIMS, 'x-forwarded-for': '203.0.113.7, unknown' }],
    ['an address in a spelling that others read as another', { ...CLAIMS, 'x-forwarded-for': '203.0.113.07' }],
    ['a single number as an address', { ...CLAIMS, 'x-forwarded-for': '3405803783' }],
    ['an IPv6 address that looks like an IPv4 one', { ...CLAIMS, 'x-forwarded-for': '::203.0.113.7' }],
    ['a port that is not a number', { ...CLAIMS, 'x-forwarded-for': '203.0.113.7:x' }],
    ['brackets without an address', { ...CLAIMS, 'x-forwarded-for': '[]:80' }],
  ])('is unknown when a trusted proxy sends %s', (_, headers) => {
    expect(callerOf(request('10.0.0.1', headers))).toEqual({ unknown: true })
  })

  it('is the peer if no proxy is trusted', () => {
    const alone = callerReader([])
    expect(alone(request('::ffff:10.0.0.1', CLAIMS, true))).toEqual({ isHttps: true, address: '10.0.0.1' })
    expect(alone(request('fe80::1%eth0', CLAIMS))).toEqual({ isHttps: false, address: 'fe80::1' })
  })
})

it('a known caller is secure over HTTPS, or over HTTP on a local deployment', () => {
  const [encrypted, clear] = [true, false].map((isHttps) => ({ isHttps, address: '203.0.113.7' }))
  const judged = (['local', 'test', 'production'] as const).map((deployment) =>
    [encrypted!, clear!, { unknown: true } as const].map((caller) => isSecure(caller, { deployment })),
  )
  expect(judged).toEqual([
    [true, true, false],
    [true, false, false],
    [true, false, false],
  ])
})
