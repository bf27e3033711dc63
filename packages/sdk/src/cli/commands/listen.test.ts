import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { command } from '#test/command.ts'
import { APP_SECRET, EVENT, signedEvent } from '#test/signed-event.ts'
import { startReceiver } from './receiver.ts'

/** Starts the command on a free port, runs `work` against it and interrupts it. */
async function listening(
  argv: string[],
  work: (post: (event?: object) => Promise<number>, target: URL) => Promise<void>,
) {
  const interrupt = new AbortController()
  let listen: (url: string) => void = () => undefined
  const url = new Promise<string>((resolve) => {
    listen = resolve
  })
  const env = { DEALER_ESIM_APP_SECRET: APP_SECRET }
  const running = command(['listen', '--port', '0', ...argv], {
    env,
    interrupted: interrupt.signal,
    onErr: (text) => listen(/http:\/\/[\d.]+:\d+\//.exec(text)?.[0] ?? ''),
  })
  const target = await url
  await work(async (event) => {
    const { headers, body } = event === undefined ? signedEvent() : signedEvent(event)
    return (await fetch(target, { method: 'POST', headers, body })).status
  }, new URL(target))
  interrupt.abort()
  return running
}

test('listen shows genuine events, refuses all others and ends on Ctrl-C', async () => {
  const { code, out } = await listening([], async (post) => {
    expect(await post()).toBe(204)
    expect(await post({ standard: null, request: 'another' })).toBe(401)
  })
  expect(code).toBe(0)
  expect(out).toMatch(/204 {2}✓ ORDER_PAID {2}O1 {2}#1 {2}PAID/)
  expect(out).toMatch(/401 {2}not verified: .*another secret/)
})

test.each([
  ['of a new kind', { notifyType: 'REFUND\x1b[2J', content: { orderNo: 'O1' } }, 'REFUND [2J  N1'],
  ['of a new kind with nothing in it', { notifyType: 'REFUND', content: {} }, 'REFUND  N1'],
  ['without eSIMs', { notifyType: 'DELIVERY_UPDATED', content: { orderNo: 'O1' } }, 'DELIVERY_UPDATED  N1'],
  ['without an amount', { notifyType: 'ORDER_PAID', content: { orderNo: 'O1' } }, 'ORDER_PAID  N1'],
])('an event %s is shown with the members that it contains', async (_what, event, words) => {
  const { code, out } = await listening([], async (post) =>
    expect(await post({ event: { notifyId: 'N1', ...event } })).toBe(204),
  )
  expect([code, out]).toEqual([0, expect.stringContaining(`204  ✓ ${words}\n`)])
})

test('an error in the receiver is reported', async () => {
  const printed: string[] = []
  const where = { host: '127.0.0.1', port: 0, path: '/' }
  const failing = () => Promise.reject(new Error('out of order\x1b[2J'))
  const receiver = await startReceiver(where, failing, (text) => printed.push(text))
  onTestFinished(() => receiver.close())
  await expect(fetch(receiver.url)).rejects.toThrow()
  expect(printed).toEqual(['A request could not be handled: out of order [2J\n'])
})

test('a request with an invalid target is answered, and the next event is received', async () => {
  const { code, out } = await listening([], async (post, { port }) => {
    const socket = connect(Number(port), '127.0.0.1')
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    socket.write('GET // HTTP/1.1\r\nHost: receiver\r\nConnection: close\r\n\r\n')
    await once(socket, 'close')
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
    expect(await post()).toBe(204)
  })
  expect([code, out]).toEqual([0, expect.stringContaining('ORDER_PAID')])
})

test('--fail refuses genuine events, so that the gateway sends them again', async () => {
  await listening(['--fail', '100%'], async (post) => expect(await post()).toBe(500))
})

test('--forward also forwards events that --fail answers with 500', async () => {
  let forwarded = 0
  const upstream = createServer((_request, response) => {
    forwarded++
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/events`
  const { out } = await listening(['--fail', '100%', '--json', '--forward', url], async (post) =>
    expect(await post()).toBe(500),
  )
  upstream.closeAllConnections()
  upstream.close()
  expect(forwarded).toBe(1)
  expect(JSON.parse(out).note).toBe(`→ ${url} answered 204, then failed on purpose`)
})

test('--forward reports why the URL was not reached', async () => {
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/`
  await new Promise((resolve) => closed.close(resolve))
  const { out } = await listening(['--forward', url], async (post) => expect(await post()).toBe(502))
  expect(out).toMatch(/ECONNREFUSED/)
})

test('--delay delays the answer', async () => {
  await listening(['--delay', '100ms'], async (post) => {
    const started = performance.now()
    expect(await post()).toBe(204)
    expect(performance.now() - started).toBeGreaterThanOrEqual(99)
  })
})

test('a test event succeeds immediately, so that the callback URL can be set with --fail and --delay', async () => {
  const { code, out } = await listening(['--fail', '100%', '--delay', '1m'], async (post) =>
    expect(await post({ event: { notifyId: 'N1', notifyType: 'CHECK_HEALTH', content: {} } })).toBe(204),
  )
  expect([code, out]).toEqual([0, expect.stringContaining('204  ✓ CHECK_HEALTH\n')])
})

test('--json prints one document per line', async () => {
  const { out } = await listening(['--json'], async (post) => void (await post()))
  expect(JSON.parse(out)).toMatchObject({ status: 204, verified: true, event: EVENT })
})

test('--forward forwards the event unchanged, including signatures, and returns the status', async () => {
  const seen: { headers: Record<string, unknown>; body: string }[] = []
  const upstream = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ headers: request.headers, body })
    response.writeHead(202).end()
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/events`
  await listening(['--forward', url], async (post) => expect(await post()).toBe(202))
  upstream.closeAllConnections()
  upstream.close()
  expect(JSON.parse(seen[0]?.body ?? '')).toEqual(EVENT)
  expect(seen[0]?.headers).toMatchObject({ 'webhook-signature': expect.any(String), 'x-signature': expect.any(String) })
})
