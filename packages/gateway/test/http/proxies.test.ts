import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RequestLine, RequestLog } from '#http/request-log.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { type Answer, addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createAuthority } from '../harness/servers/certificates.ts'

const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-proxies-'))
const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') }
/** If IPv6 is available, the server listens on it and sees our address as ::ffff:127.0.0.1. */
const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === 'IPv6'))
const HOST = hasIpv6 ? '::' : '127.0.0.1'
const DEPLOYMENT = { DEPLOYMENT: 'production', PUBLIC_URL: 'https://esim.example.com', HOST }
const ALLOWED = ['203.0.113.7', '2001:db8:7::/48']

let database: TestDatabase
/** Terminates TLS, and trusts only proxies at other addresses. */
let direct: Node
/** Trusts us. */
let proxied: Node
let dealer: Dealer
const logged: RequestLine[] = []
const logRequest: RequestLog = (line) => void logged.push(line)

beforeAll(async () => {
  const { cert, key } = createAuthority('Test authority').issue('localhost')
  writeFileSync(files.TLS_CERT_FILE, cert)
  writeFileSync(files.TLS_KEY_FILE, key)
  database = await createTestDatabase()
  const logs = { logRequest }
  direct = await startNode(database.url, { ...DEPLOYMENT, ...files, TRUSTED_PROXIES: '10.0.0.0/8' }, logs)
  proxied = await startNode(
    database.url,
    { ...DEPLOYMENT, TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8', CONSOLE: 'on' },
    logs,
  )
  dealer = await addDealer(direct.deps)
  await changeSettings(direct.deps, dealer.tenantId, { ipAllowlist: ALLOWED }, OPERATOR)
})
afterAll(async () => {
  await Promise.all([direct.stop(), proxied.stop()])
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

async function ask(node: Node, chain: string | undefined, proto: string | undefined = 'https') {
  const headers = { 'X-Forwarded-For': chain, 'X-Forwarded-Proto': proto }
  const answer: Answer = await call(node, dealer, 'health', { headers })
  return { code: answer.code, reported: answer.data.address as string | undefined, logged: logged.at(-1)!.address }
}

describe('forwarded addresses and protocols', () => {
  it('from an untrusted address affect neither the allowlist, the HTTPS rule nor the log', async () => {
    const refused = { code: '101002', reported: '127.0.0.1', logged: '127.0.0.1' }
    expect(await ask(direct, undefined, undefined)).toEqual(refused)
    expect(await ask(direct, '203.0.113.7')).toEqual(refused)
    expect(await ask(direct, '203.0.113.7', 'http')).toEqual(refused) // it arrived over TLS
    expect(await ask(direct, 'nonsense', 'nonsense')).toEqual(refused)
  })

  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:DB8:7:0:0:0:0:1', '2001:db8:7::1'],
    ['198.51.100.9, 203.0.113.7', '203.0.113.7'],
    ['198.51.100.9, 203.0.113.7, 10.1.1.1', '203.0.113.7'],
  ])('are respected if a trusted proxy sends them: %s is admitted', async (chain, address) => {
    expect(await ask(proxied, chain)).toEqual({ code: '000000', reported: undefined, logged: address })
  })

  it.each([
    ['198.51.100.9', '198.51.100.9'],
    ['203.0.113.7, 198.51.100.9', '198.51.100.9'],
    ['2001:db8:8::1', '2001:db8:8::1'],
    ['::ffff:198.51.100.9', '198.51.100.9'],
  ])('are respected if a trusted proxy sends them: %s is refused', async (chain, address) => {
    expect(await ask(proxied, chain)).toEqual({ code: '101002', reported: address, logged: address })
  })

  it.each([
    ['plain HTTP', '203.0.113.7', 'http', '203.0.113.7'],
    ['no protocol', '203.0.113.7', undefined, '127.0.0.1'],
    ['no address', undefined, 'https', '127.0.0.1'],
    ['no readable address', 'unknown', 'https', '127.0.0.1'],
  ])('with “%s” from a trusted proxy are refused with 101008', async (_, chain, proto, address) => {
    const answer = await call(proxied, dealer, 'health', {
      headers: { 'X-Forwarded-For': chain, 'X-Forwarded-Proto': proto },
    })
    expect([answer.status, answer.code]).toEqual([403, '101008'])
    expect(logged.at(-1)).toMatchObject({ code: '101008', address: expect.stringContaining(address) })
  })
})

describe('a path that needs no signature', () => {
  const get = async (path: string, headers: Record<string, string>) => {
    const answer = await fetch(`http://127.0.0.1:${proxied.port}${path}`, { headers, redirect: 'manual' })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  const forwarded = { 'X-Forwarded-For': '203.0.113.7' }

  const pages = [
    '/qr/any',
    '/qr/any.png',
    '/docs',
    '/docs/signing',
    '/console',
    '/console/sign-in',
    '/console/icon.svg',
  ]
  it.each(pages)('is refused over plain HTTP too: %s', async (path) => {
    for (const headers of [{}, forwarded, { ...forwarded, 'X-Forwarded-Proto': 'http' }]) {
      const { status, text } = await get(path, headers)
      expect([status, text]).toEqual([403, expect.stringContaining('begins with https://esim.example.com')])
      expect(text).not.toContain('any')
    }
    const { status } = await get(path, { ...forwarded, 'X-Forwarded-Proto': 'https' })
    expect(status).toBe(path.startsWith('/qr') ? 404 : ['/docs', '/console'].includes(path) ? 308 : 200)
  })

  it('forbids framing where passwords are entered, and makes browsers use HTTPS', async () => {
    const { headers } = await get('/console/sign-in', { ...forwarded, 'X-Forwarded-Proto': 'https' })
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
      ),
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=31536000',
    })
  })
})
