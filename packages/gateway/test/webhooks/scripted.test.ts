import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Script, startReceiver } from './receiver.ts'
import { type AttemptRow, createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

// Each behaviour of a receiver leads to the documented next step. Due times are on the test's clock; here, the timeout of
// 10 s is twenty times shorter.

let testbed: Testbed
const toClose: { close(): unknown }[] = []
beforeAll(async () => {
  testbed = await createTestbed({ faster: 20, resolve: () => Promise.reject(new Error('queryA ENOTFOUND')) })
  testbed.startLoop()
})
afterAll(async () => {
  await testbed.close()
  for (const one of toClose) await one.close()
})

async function urlOf(script: Script): Promise<string> {
  const receiver = await startReceiver(script)
  toClose.push(receiver)
  return receiver.url
}

/** Starts a receiver that answers directly on its socket, below HTTP. @returns its URL */
async function rawUrlOf(behaviour: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => behaviour(socket))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  toClose.push({
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function afterOneAttempt(
  callbackUrl: string,
): Promise<{ tenant: TestTenant; attempt: AttemptRow; waitS: number }> {
  const tenant = await testbed.tenant({ callbackUrl })
  await testbed.record(tenant)
  await vi.waitFor(async () => expect((await testbed.states(tenant))[0]?.attempts).toBe(1), 20_000)
  const [attempt] = await testbed.attempts(tenant)
  const [event] = await testbed.states(tenant)
  const endedMs = attempt!.startedAt.getTime() + attempt!.durationMs
  return { tenant, attempt: attempt!, waitS: ((event!.dueAt?.getTime() ?? Number.NaN) - endedMs) / 1000 }
}

const stateOf = async (tenant: TestTenant) => (await testbed.states(tenant))[0]?.deliveryState

describe('an event is acknowledged', () => {
  test.each<[string, Script]>([
    ['200', 200],
    ['204', 204],
    ['200 with a page', (_, response) => response.end('<html>'.repeat(1_000))],
    [
      '200 with an endless body, of which only the start is read',
      (_, response) => {
        const pour = () => {
          while (response.write('x'.repeat(10_000)));
          response.once('drain', pour)
        }
        pour()
      },
    ],
  ])('by %s', async (_, script) => {
    const { tenant, attempt } = await afterOneAttempt(await urlOf(script))
    expect(await stateOf(tenant)).toBe('DELIVERED')
    expect(attempt).toMatchObject({ outcome: 'acknowledged', attemptNo: 1, address: '127.0.0.1' })
    expect(attempt.answer?.length ?? 0).toBeLessThanOrEqual(4096)
    expect((await testbed.endpoint(tenant)).failingSince).toBeNull()
  })
})

describe('an event is sent again after 10 s, give or take a fifth', () => {
  const drip = (socket: Socket, text: string, begun = 0) => {
    socket.write(text.slice(0, begun))
    let sent = begun
    const timer = setInterval(() => (sent < text.length ? socket.write(text[sent++]!) : clearInterval(timer)), 20)
    socket.once('close', () => clearInterval(timer))
  }
  const slow = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
  const endless = `HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(1_000)}`

  test.each<[string, () => Promise<string>, RegExp]>([
    ['301', () => urlOf((_, response) => response.writeHead(301, { location: '/' }).end()), /^status 301: redirects/],
    ['307', () => urlOf((_, response) => response.writeHead(307, { location: '/' }).end()), /^status 307: redirects/],
    ['400', () => urlOf(400), /^status 400$/],
    ['401', () => urlOf(401), /^status 401$/],
    ['500', () => urlOf(500), /^status 500$/],
    ['a hang before the headers', () => urlOf(() => {}), /^no answer within/],
    ['a hang in the body', () => urlOf((_, response) => response.write('…')), /^status 200, but its body did not end/],
    ['a slow drip of headers', () => rawUrlOf((socket) => drip(socket, slow)), /^no answer within/],
    [
      'a slow drip of the body',
      () => rawUrlOf((socket) => drip(socket, endless, 100)),
      /^status 200, but its body did not/,
    ],
    ['a reset', () => rawUrlOf((socket) => socket.resetAndDestroy()), /^the connection broke before an answer/],
    ['a close without an answer', () => rawUrlOf((socket) => socket.end()), /^the connection broke before an answer/],
    ['an answer that is not HTTP', () => rawUrlOf((socket) => socket.end('220 smtp\r\n')), /^the answer is not HTTP/],
    [
      'a TLS error',
      async () => (await rawUrlOf((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))).replace('http:', 'https:'),
      /^TLS with 127\.0\.0\.1 failed/,
    ],
    ['a DNS failure', async () => 'http://nowhere.example/', /^nowhere\.example does not resolve/],
    ['a port where nobody listens', async () => 'http://127.0.0.1:1/', /^no connection to 127\.0\.0\.1/],
  ])('after %s', async (_, url, words) => {
    const { tenant, attempt, waitS } = await afterOneAttempt(await url())
    expect(await stateOf(tenant)).toBe('PENDING')
    expect(attempt.outcome).toMatch(words)
    expect(waitS).toBeGreaterThan(7.99)
    expect(waitS).toBeLessThan(12.2)
    expect((await testbed.endpoint(tenant)).failingSince).not.toBeNull()
  })
})

test('an event answered with 429 is retried after its Retry-After, but at most twice the usual delay', async () => {
  const asking =
    (seconds: string): Script =>
    (_, response) =>
      response.writeHead(429, { 'retry-after': seconds }).end()
  expect((await afterOneAttempt(await urlOf(asking('15')))).waitS).toBeCloseTo(15, 0)
  expect((await afterOneAttempt(await urlOf(asking('3600')))).waitS).toBeCloseTo(20, 0)
})

test('410 disables the endpoint, alerts the tenant and stops the sending', async () => {
  const { tenant } = await afterOneAttempt(await urlOf(410))
  await vi.waitFor(async () => expect(await stateOf(tenant)).toBe('UNSENT'), 20_000)
  expect(await testbed.endpoint(tenant)).toMatchObject({ enabled: false, disabledReason: 'GONE' })
  const notices = await testbed.deps.db.query<{ kind: string }>({
    text: 'select kind from alerts where tenant_id = $1',
    values: [tenant.tenantId],
  })
  expect(notices).toEqual([{ kind: 'ENDPOINT_DISABLED' }])
  await testbed.record(tenant)
  expect((await testbed.states(tenant)).map((event) => event.deliveryState)).toEqual(['UNSENT', 'UNSENT'])
})

test('an event is dead after eleven failed attempts at the documented times', async () => {
  const tenant = await testbed.tenant({ callbackUrl: await urlOf(500) })
  await testbed.record(tenant)
  const waitsS: number[] = []
  for (let attempt = 1; attempt <= 11; attempt++) {
    await vi.waitFor(async () => expect((await testbed.states(tenant))[0]?.attempts).toBe(attempt), 20_000)
    const due = (await testbed.states(tenant))[0]!.dueAt
    if (!due) break
    const waitMs = due.getTime() - testbed.deps.databaseClock.now()
    waitsS.push(waitMs / 1000)
    testbed.advance(waitMs + 1)
  }
  const stepsS = [10, 30, 120, 600, 1_800, 7_200, 21_600, 43_200, 86_400, 86_400]
  expect(waitsS).toHaveLength(stepsS.length)
  for (const [index, stepS] of stepsS.entries()) {
    expect(waitsS[index]).toBeGreaterThan(stepS * 0.8 - 3)
    expect(waitsS[index]).toBeLessThan(stepS * 1.2)
  }
  expect(await testbed.states(tenant)).toMatchObject([{ deliveryState: 'DEAD', attempts: 11, dueAt: null }])
  expect((await testbed.attempts(tenant)).map((attempt) => attempt.attemptNo)).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
  ])
})
