import { randomUUID, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request as httpsRequest } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { makeIccid } from '@dealer-esim/contract'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, signedHeaders, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createAuthority, type TestCertificate } from '../harness/servers/certificates.ts'

const authority = createAuthority('Test authority')
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-tls-'))
const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') }
const errors: string[] = []
const log: Log = { ...silentLog, error: (_: unknown, message?: string) => void errors.push(String(message)) }
const TEST_DEPLOYMENT = { DEPLOYMENT: 'test', PUBLIC_URL: 'https://esim.example.com' }

let database: TestDatabase
let node: Node
let plain: Node
let dealer: Dealer
let first: TestCertificate
let silent: Promise<number>

function install({ cert, key }: TestCertificate): void {
  writeFileSync(files.TLS_CERT_FILE, cert)
  writeFileSync(files.TLS_KEY_FILE, key)
}

beforeAll(async () => {
  first = authority.issue('localhost')
  install(first)
  database = await createTestDatabase()
  node = await startNode(database.url, { ...TEST_DEPLOYMENT, ...files }, { log })
  plain = await startNode(database.url, { ...TEST_DEPLOYMENT, TRUSTED_PROXIES: '10.0.0.0/8' })
  dealer = await addDealer(node.deps)
  silent = staySilent() // while the other tests run
})
afterAll(async () => {
  await Promise.all([node.stop(), plain.stop()])
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** Sends nothing. @returns how long the connection stayed open */
async function staySilent(): Promise<number> {
  const began = performance.now()
  const socket = connectPlain(node.port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise((resolve) => socket.resume().once('close', resolve))
  return performance.now() - began
}

interface Seen {
  code: string
  status: number
  serial: string
  socket: TLSSocket
}

/** A signed request by a caller that trusts only the test's certificate authority. */
function ask(agent: Agent, path = '/open-api/v1/health', body = '{}'): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const options = { agent, method: 'POST', headers: signedHeaders(dealer, { body }) as Record<string, string> }
    const request = httpsRequest(`https://localhost:${node.port}${path}`, options, (response) => {
      const socket = response.socket as TLSSocket
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.once('end', () => {
        const { code = '' } = text.startsWith('{') ? (JSON.parse(text) as { code: string }) : {}
        resolve({ code, status: response.statusCode!, serial: socket.getPeerCertificate().serialNumber, socket })
      })
    })
    request.once('error', reject)
    request.end(body)
  })
}

function trusting(client: Partial<TestCertificate> = {}): Agent {
  return new Agent({ keepAlive: true, ca: authority.cert, maxSockets: 1, ...client })
}

/** @returns the code of the failure */
function twelveWithoutGcm(): Promise<string> {
  return new Promise((resolve) => {
    const options = { port: node.port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2' } as const
    const socket = connectTls({ ...options, ciphers: 'ECDHE-ECDSA-AES128-SHA256' })
    socket.once('secureConnect', () => resolve('accepted'))
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(code))
  })
}

/** The certificate that a new connection receives. */
async function servedNow(): Promise<string> {
  const agent = trusting()
  const { serial } = await ask(agent)
  agent.destroy()
  return serial
}

const serialOf = ({ cert }: TestCertificate) => new X509Certificate(cert).serialNumber

async function metric(): Promise<number> {
  const text = await node.deps.metrics.metrics()
  return Number(/^dealer_esim_certificate_expiry_timestamp_seconds (\S+)$/m.exec(text)![1])
}

describe('a gateway that terminates TLS', () => {
  it('serves callers that trust its certificate', async () => {
    const agent = trusting()
    expect(await ask(agent)).toMatchObject({ code: '000000', serial: serialOf(first) })
    agent.destroy()
    await expect(ask(new Agent())).rejects.toThrow(/unable to (verify|get)/)
  })

  it('accepts TLS 1.2 only with forward secrecy and authenticated encryption', async () => {
    const connectWith = (options: ConnectionOptions) =>
      new Promise<string>((resolve) => {
        const socket = connectTls({ port: node.port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
        socket.once('secureConnect', () => {
          resolve(socket.getCipher().standardName)
          socket.destroy()
        })
        socket.once('error', ({ code = 'refused' }: NodeJS.ErrnoException) => resolve(code))
      })
    const twelve = (ciphers: string) => connectWith({ maxVersion: 'TLSv1.2', ciphers })
    expect(await twelve('ECDHE-ECDSA-AES128-GCM-SHA256')).toBe('TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256')
    expect(await twelve('ECDHE-ECDSA-CHACHA20-POLY1305')).toBe('TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256')
    for (const cipher of ['ECDHE-ECDSA-AES128-SHA256', 'ECDHE-ECDSA-AES256-SHA384', 'ECDHE-ECDSA-AES128-SHA'])
      expect([cipher, await twelve(cipher)]).toEqual([cipher, expect.stringMatching(/^E/)])
    expect(await connectWith({ minVersion: 'TLSv1.3' })).toMatch(/^TLS_(AES|CHACHA20)/)
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' } as const
    expect(await connectWith(old)).toMatch(/^E/)
  })

  it('answers plain HTTP on its port with a note that HTTPS is required', async () => {
    const answer = await call({ baseUrl: `http://127.0.0.1:${node.port}` }, dealer, 'health')
    expect([answer.status, answer.code]).toEqual([403, '101008'])
    expect(answer.data.requestId).toEqual(expect.any(String))
  })

  it('uses a renewed certificate for new connections without closing existing connections', async () => {
    const old = trusting()
    const before = await ask(old)
    const served = before.serial
    const renewed = authority.issue('localhost', Date.now() + 90 * 86_400_000)
    // Like a renewal, one file after the other. In between, the certificate and the key do not match.
    writeFileSync(files.TLS_CERT_FILE, renewed.cert)
    writeFileSync(files.TLS_KEY_FILE, renewed.key)
    await expect.poll(servedNow, { timeout: 20_000, interval: 100 }).toBe(serialOf(renewed))
    const after = await ask(old)
    expect(after).toMatchObject({ code: '000000', serial: served })
    expect(after.socket).toBe(before.socket)
    expect(await twelveWithoutGcm()).toMatch(/^E/)
    expect(await metric()).toBe(new Date(new X509Certificate(renewed.cert).validTo).getTime() / 1000)
    old.destroy()
  })

  it('keeps the old certificate while the new one is broken, and uses the next good one', async () => {
    const served = await servedNow()
    const expiry = await metric()
    const good = authority.issue('localhost')
    install({ ...good, key: first.key })
    const message = 'the new TLS certificate cannot be used; keeping the old one'
    await expect.poll(() => errors).toContain(message)
    expect([await servedNow(), await metric()]).toEqual([served, expiry])
    install(good)
    await expect.poll(servedNow, { timeout: 20_000, interval: 100 }).toBe(serialOf(good))
  })

  it('requests client certificates only while a supplier is identified by a certificate', async () => {
    const path = '/gsma/rsp2/es2plus/handleNotification'
    const enabled = JSON.stringify({
      ...{ header: { functionRequesterIdentifier: 'smdp', functionCallIdentifier: 'call' }, profileType: 'TYPE' },
      ...{ iccid: makeIccid('8985666', 1), timestamp: new Date().toISOString(), notificationEvent: 1 },
    })
    const notify = (agent: Agent) => ask(agent, path, enabled)
    const supplier = authority.issue('smdp.example.com')
    const stranger = trusting(authority.issue('stranger.example.com'))
    const early = trusting(supplier)
    expect((await notify(early)).status).toBe(403)
    early.destroy()
    const config = {
      url: 'https://smdp.example.com',
      functionRequesterIdentifier: '1.2.3',
      notices: { certificates: [new X509Certificate(supplier.cert).fingerprint256] },
    }
    await addSupplier(node.deps, { name: `smdp-${randomUUID()}`, type: 'es2plus', config }, OPERATOR)
    await node.deps.suppliers.refresh()
    const known = trusting(supplier)
    expect((await notify(known)).status).toBe(204)
    expect((await notify(stranger)).status).toBe(403)
    for (const agent of [known, stranger]) agent.destroy()
  })
})

it('a connection that stays silent before TLS is closed after ten seconds', async () => {
  const openMs = await silent
  expect(openMs).toBeGreaterThan(9_000)
  expect(openMs).toBeLessThan(120_000) // Node’s own limit
})

describe('plain HTTP on a test deployment', () => {
  it('is refused even if the caller claims to be a proxy', async () => {
    const claims = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '10.0.0.1' }
    for (const headers of [{}, claims]) {
      const answer = await call(plain, dealer, 'health', { headers })
      expect([answer.status, answer.code]).toEqual([403, '101008'])
    }
  })

  it('is refused for supplier notifications too', async () => {
    const answer = await call(plain, dealer, '', { path: '/gsma/rsp2/es2plus/handleNotification' })
    expect([answer.status, answer.text]).toEqual([403, 'HTTPS is required\n'])
  })
})
