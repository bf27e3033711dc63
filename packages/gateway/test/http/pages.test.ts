import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { makeIccid, type Profile } from '@dealer-esim/contract'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getLanguages } from '#esims/languages/traveller-language.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, payOrders } from '../harness/shop.ts'

/* Requests from browsers and from link checkers. */

let database: TestDatabase
let node: Node
let dealer: Dealer
/** The path of an eSIM’s QR link, which a browser’s page load opens as the traveller’s page. */
let qr: string
const errors: unknown[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(
    database.url,
    { CONSOLE: 'on' },
    { log: { ...silentLog, error: (line: unknown) => void errors.push(line) } },
  )
  dealer = await addDealer(node.deps)
  qr = await qrPath()
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

async function ask(method: 'GET' | 'HEAD', path: string) {
  const headers = { 'accept-encoding': 'identity', connection: 'close' }
  const answer = await fetch(`${node.baseUrl}${path}`, { method, redirect: 'manual', headers })
  const { date, 'content-security-policy': policy = '', ...others } = Object.fromEntries(answer.headers)
  const body = Buffer.from(await answer.arrayBuffer())
  return { status: answer.status, headers: { ...others, policy: policy.replace(/nonce-[^']+/, 'nonce') }, body }
}

async function qrPath(): Promise<string> {
  await addPackage(node.deps.db, 'P', [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }])
  const [orderId] = await payOrders(node.deps.db, dealer.tenantId, 'P', { orders: 1 })
  const esim = { iccid: makeIccid('8985', 1), smdpAddress: 'smdp.example.com', matchingId: 'M-1' }
  await acceptEsim(node.deps, dealer.tenantId, { orderId: orderId!, itemNo: 1, supplier: 'sandbox' }, esim)
  const { data } = await call(node, dealer, 'esim/profile/list')
  return new URL((data.profileList as Profile[])[0]!.qrCodeUrl).pathname
}

describe('a path that cannot be a file', () => {
  it.each(['/console/assets/..', '/console/assets/../..', '/console/assets/%00', '/console/assets/%2e%2e/index.html'])(
    '%s is answered as not found rather than as a gateway error',
    async (path) => {
      // Given as a URL, the path would be normalised before it is sent.
      const status = await new Promise((resolve, reject) =>
        get({ port: node.port, path }, (answer) => resolve(answer.resume().statusCode)).on('error', reject),
      )
      expect([status, errors]).toEqual([404, []])
    },
  )
})

describe('HEAD', () => {
  it('is answered like GET, without the body', async () => {
    const expected: [string, number][] = [
      ['/', 302],
      ['/docs', 308],
      ['/docs/', 200],
      ['/docs/signing', 200],
      ['/docs/openapi.json', 200],
      ['/docs/openapi-rt.json', 200],
      ['/docs/images/order-light-desktop.png', 200],
      ['/docs/nothing', 404],
      ['/console', 308],
      ['/console/orders', 200],
      ['/console/api/openapi.json', 200],
      ['/console/api/session', 401],
      ['/console/api/nothing', 404],
      [qr, 200],
      [`${qr}.png`, 200],
      ['/qr/nothing', 404],
      ['/nowhere', 404],
      ['/open-api/v1/health', 405],
    ]
    for (const [path, status] of expected) {
      const head = await ask('HEAD', path)
      const get = await ask('GET', path)
      expect([path, head.status, get.status]).toEqual([path, status, status])
      expect([path, head.headers]).toEqual([path, get.headers])
      expect([path, head.body.length]).toEqual([path, 0])
    }
  })

  it('is not answered by operations of the dealer API', async () => {
    for (const [path, code] of [
      ['/open-api/v1/esim/order', '000103'],
      ['/open-api/v1/nothing', '000109'],
      ['/nowhere', '000109'],
    ] as const) {
      for (const method of ['GET', 'HEAD'])
        expect((await call(node, dealer, '', { method, path, body: '' })).status).toBe(code === '000103' ? 405 : 404)
      expect((await call(node, dealer, '', { method: 'GET', path, body: '' })).code).toBe(code)
    }
    expect((await call(node, dealer, '', { path: '/' })).code).toBe('000109')
  })
})

describe('the traveller’s page', () => {
  /** The first paint takes one request; 20 kB arrive within a quarter of a second on a slow mobile network (EDGE). */
  const FIRST_PAINT_BYTES_MAX = 20_000

  it.each([...getLanguages().keys()])('in %s comes with less than 20 kB on the wire, headers included', async (tag) => {
    const [zipped, plain] = [await bytesOf(tag, 'gzip, deflate, br'), await bytesOf(tag, 'identity')]
    expect(zipped.bytes).toBeLessThan(FIRST_PAINT_BYTES_MAX)
    expect(zipped.bytes * 2).toBeLessThan(plain.bytes)
    expect([zipped.headers['content-encoding'], plain.headers['content-encoding']]).toEqual(['gzip', undefined])
    for (const { headers } of [zipped, plain])
      expect(headers.vary).toBe('Accept, Sec-Fetch-Dest, User-Agent, Accept-Encoding')
    expect(gunzipSync(zipped.body).toString()).toBe(plain.body.toString())
    expect(plain.body.toString()).toContain(`<html lang="${tag}"`)
  })

  /** Loads the page as a browser would, on a connection of its own. */
  async function bytesOf(tag: string, encoding: string) {
    const headers = { 'Sec-Fetch-Dest': 'document', 'Accept-Language': tag, 'Accept-Encoding': encoding }
    const [answer] = (await once(get({ port: node.port, path: qr, headers, agent: false }), 'response')) as [
      IncomingMessage,
    ]
    const body = await buffer(answer)
    return { body, bytes: answer.socket.bytesRead, headers: answer.headers }
  }
})

describe('the gateway’s own address', () => {
  it('redirects to the documentation, even behind a path prefix', async () => {
    const { status, headers } = await ask('GET', '/')
    expect([status, headers]).toEqual([302, expect.objectContaining({ location: 'docs/' })])
  })
})
