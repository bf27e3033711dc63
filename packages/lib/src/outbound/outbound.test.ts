import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { createOutbound, type OutboundRequest } from './outbound.ts'

const open: { close(): unknown }[] = []
afterEach(() => {
  for (const thing of open.splice(0)) thing.close()
})

const post = { method: 'POST', timeoutMs: 2_000, answerSizeMaxBytes: 4096, allowPrivate: true, body: '{}' } as const

function outbound(...options: Parameters<typeof createOutbound>) {
  const made = createOutbound(...options)
  open.push(made)
  return (request: Partial<OutboundRequest> & { url: string }) => made.request({ ...post, ...request })
}

async function listen(server: Server | ReturnType<typeof createTcpServer>, host = '127.0.0.1', port = 0) {
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  open.push({ close: () => server.close() })
  return (server.address() as AddressInfo).port
}

const serve = (listener: RequestListener) => listen(createServer(listener))
const serveTcp = (listener: (socket: Socket) => void) => listen(createTcpServer(listener))

test('a response contains the status, headers, body and the address that was used', async () => {
  const port = await serve((request, response) => {
    response.setHeader('x-path', request.url ?? '')
    response.statusCode = 418
    response.end('teapot')
  })
  const outcome = await outbound()({ url: `http://127.0.0.1:${port}/a?b=c` })
  expect(outcome).toMatchObject({ kind: 'answer', status: 418, truncated: false, address: '127.0.0.1' })
  if (outcome.kind === 'answer') {
    expect(outcome.headers['x-path']).toBe('/a?b=c')
    expect(outcome.body.toString()).toBe('teapot')
  }
})

test('requests reuse connections, and need only as many as run simultaneously', async () => {
  const atOnce = 8
  const server = createServer((request, response) => request.resume().on('end', () => response.end()))
  let connections = 0
  server.on('connection', () => connections++)
  const url = `http://127.0.0.1:${await listen(server)}/`
  const send = outbound()
  const oneAfterAnother = async () => {
    for (let sent = 0; sent < 50; sent++) expect(await send({ url })).toMatchObject({ kind: 'answer', status: 200 })
  }
  await Promise.all(Array.from({ length: atOnce }, oneAfterAnother))
  expect(connections).toBe(atOnce)
})

test('a redirect is returned as a response and not followed', async () => {
  let calls = 0
  const port = await serve((_, response) => {
    calls++
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  expect(await outbound()({ url: `http://127.0.0.1:${port}/` })).toMatchObject({ kind: 'answer', status: 302 })
  expect(calls).toBe(1)
})

test('a body longer than the limit is truncated', async () => {
  const port = await serve((_, response) => {
    const pour = () => {
      while (response.write('x'.repeat(1000)));
      response.once('drain', pour)
    }
    pour()
  })
  const outcome = await outbound()({ url: `http://127.0.0.1:${port}/`, answerSizeMaxBytes: 5000 })
  expect(outcome).toMatchObject({ kind: 'answer', status: 200, truncated: true })
  if (outcome.kind === 'answer') expect(outcome.body.length).toBe(5000)
})

test('a request to a receiver that hangs times out, and may have been delivered', async () => {
  const port = await serve(() => {})
  const outcome = await outbound()({ url: `http://127.0.0.1:${port}/`, timeoutMs: 50 })
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'time-out', sent: true, message: 'no answer within 0.05 s' })
})

test('a body that never ends times out even though the headers arrived', async () => {
  const port = await serve((_, response) => response.write('begun'))
  const outcome = await outbound()({ url: `http://127.0.0.1:${port}/`, timeoutMs: 50 })
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'time-out', sent: true })
})

test('a request may have been delivered if its connection is reset afterwards', async () => {
  const port = await serveTcp((socket) => socket.once('data', () => socket.resetAndDestroy()))
  const outcome = await outbound()({ url: `http://127.0.0.1:${port}/` })
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'sent', sent: true })
})

test('a refused connection means that the request was not sent', async () => {
  const server = createTcpServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  const outcome = await outbound()({ url: `http://127.0.0.1:${port}/` })
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'connect', sent: false })
})

test('a failed TLS handshake means that the request was not sent', async () => {
  const port = await serveTcp((socket) => socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\n\r\n'))
  const outcome = await outbound()({ url: `https://127.0.0.1:${port}/` })
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'tls', sent: false })
})

test('a response that is not HTTP counts as a failure', async () => {
  const port = await serveTcp((socket) =>
    socket.on('error', () => {}).once('data', () => socket.end('nonsense\r\n\r\n')),
  )
  const outcome = await outbound()({ url: `http://127.0.0.1:${port}/` })
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'sent', sent: true })
})

test.each([
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://127.1/',
  'http://[::1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://169.254.169.254/latest/meta-data/',
  'http://100.64.0.1/',
  'http://0/',
  'http://[fe80::1]/',
  'http://224.0.0.1/',
])('%s is refused without dialling', async (url) => {
  const outcome = await outbound()({ url, allowPrivate: false })
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'forbidden', sent: false })
})

test.each(['ftp://example.com/', 'http://user:secret@example.com/', 'nonsense', 'file:///etc/passwd'])(
  '%s is not accepted as a URL to call',
  async (url) => {
    expect(await outbound()({ url })).toMatchObject({ kind: 'failed', phase: 'url', sent: false })
  },
)

test('a host name is refused if any of its addresses is forbidden', async () => {
  const request = outbound({ resolve: async () => ['93.184.216.34', '10.0.0.1'] })
  const outcome = await request({ url: 'https://mixed.example/', allowPrivate: false })
  expect(outcome).toMatchObject({ kind: 'failed', phase: 'forbidden', address: '10.0.0.1' })
})

test('a name that does not resolve in time, or at all, fails with a clear message', async () => {
  const nothing = outbound({ resolve: () => Promise.reject(new Error('queryA ENOTFOUND')) })
  expect(await nothing({ url: 'http://nowhere.example/' })).toMatchObject({ phase: 'dns', sent: false })
  const silent = outbound({ resolve: () => new Promise(() => {}) })
  expect(await silent({ url: 'http://slow.example/', timeoutMs: 30 })).toMatchObject({ phase: 'dns', sent: false })
})

test('the connection uses the address that was checked, even if the name changes', async () => {
  const port = await listen(
    createServer((_, response) => response.end('two')),
    '127.0.0.2',
  )
  await listen(
    createServer((_, response) => response.end('three')),
    '127.0.0.3',
    port,
  )
  let now = 0
  let address = '127.0.0.2'
  const clock = { now: () => now, monotonic: () => now }
  const request = outbound({ resolve: async () => [address], clock })
  const url = `http://moving.example:${port}/`
  expect(await request({ url })).toMatchObject({ address: '127.0.0.2', body: Buffer.from('two') })
  address = '127.0.0.3'
  now += 10_000
  expect(await request({ url })).toMatchObject({ address: '127.0.0.3', body: Buffer.from('three') })
})

test('after an unreachable address, the host’s next address is tried', async () => {
  const port = await listen(
    createServer((_, response) => response.end('two')),
    '127.0.0.2',
  )
  const request = outbound({ resolve: async () => ['127.0.0.9', '127.0.0.2'] })
  expect(await request({ url: `http://two.example:${port}/` })).toMatchObject({ kind: 'answer', address: '127.0.0.2' })
})

test('a request that has ended does not dial any more addresses', async () => {
  const server = createServer((_, response) => response.end('two'))
  let connections = 0
  server.on('connection', () => connections++)
  const port = await listen(server, '127.0.0.2')
  const request = outbound({ resolve: async () => ['127.0.0.9', '127.0.0.2'] })
  const one = `http://127.0.0.2:${port}/`
  const two = `http://two.example:${port}/`
  await request({ url: two, reuse: false }) // its addresses are cached
  expect(connections).toBe(1)

  const ended = { kind: 'failed', phase: 'connect', sent: false, message: 'the exchange was ended before it was sent' }
  const ending = new AbortController()
  const outcome = request({ url: two, reuse: false, signal: ending.signal })
  ending.abort() // while it dials the first address
  expect(await outcome).toEqual(ended)
  expect(await request({ url: one, reuse: false, signal: ending.signal })).toEqual(ended)
  expect(connections).toBe(1)
})

test('connections are reused, unless a request asks for a new one', async () => {
  const ports = new Set<number | undefined>()
  const port = await serve((incoming, response) => {
    ports.add(incoming.socket.remotePort)
    response.end()
  })
  const request = outbound()
  const url = `http://127.0.0.1:${port}/`
  await request({ url })
  await setImmediate() // the pool takes a connection back in the turn after its answer
  await request({ url })
  expect(ports.size).toBe(1)
  await request({ url, reuse: false })
  expect(ports.size).toBe(2)
})
