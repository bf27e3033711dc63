import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { openConnection, type RawAnswer, requestText } from './raw-connection.ts'

let database: TestDatabase
let node: Node
let dealer: Dealer

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  dealer = await addDealer(node.deps)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

/** The server's first answer to these bytes; the connection is then closed. */
async function say(bytes: string | Buffer): Promise<RawAnswer> {
  const connection = openConnection(node.port)
  connection.write(bytes)
  const [answer] = await connection.answers(1)
  connection.destroy()
  return answer!
}

describe('bytes that are not a well-formed request', () => {
  const filler = 'x'.repeat(20_000)
  const signed = (lines: string[]) => () => requestText(dealer, 'health', { lines })
  const cases: [string, () => string, number, string][] = [
    ['no HTTP at all', () => 'good morning\r\n\r\n', 400, '000102'],
    ['a TLS hello on the plain port', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, '000102'],
    ['HTTP/2 by prior knowledge', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, '000102'],
    ['headers of 20 kB', () => `POST / HTTP/1.1\r\nHost: x\r\nA: ${filler}\r\n\r\n`, 400, '000102'],
    ['a path of 20 kB', () => `POST /${filler} HTTP/1.1\r\nHost: x\r\n\r\n`, 400, '000102'],
    ['a NUL in the path', () => 'POST /open-api/v1/hea\0lth HTTP/1.1\r\nHost: x\r\n\r\n', 400, '000102'],
    ['two lengths', signed(['Content-Length: 2', 'Content-Length: 3']), 400, '000102'],
    ['a length and chunks', signed(['Content-Length: 2', 'Transfer-Encoding: chunked']), 400, '000102'],
    ['a negative length', signed(['Content-Length: -1']), 400, '000102'],
    ['a broken chunk', signed(['Transfer-Encoding: chunked']), 400, '000102'],
    ['CONNECT', () => 'CONNECT gateway:443 HTTP/1.1\r\nHost: gateway:443\r\n\r\n', 404, '000109'],
    ['a path that cannot be decoded', () => requestText(dealer, 'he%zzalth'), 404, '000109'],
    [
      'a malformed media type and an unknown path',
      () => 'POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Type: -Type: a\r\nContent-Length: 2\r\n\r\n{}',
      404,
      '000109',
    ],
    ['no Host', () => requestText(dealer, 'health').replace('Host: gateway\r\n', ''), 400, '000101'],
  ]
  it.each(cases)('are answered with an envelope: %s', async (_, bytes, status, code) => {
    const answer = await say(bytes())
    expect([answer.status, answer.code]).toEqual([status, code])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.data).toMatchObject({ requestId: expect.any(String), details: expect.any(Array) })
  })

  it('do not keep their connection open', async () => {
    const connection = openConnection(node.port)
    connection.write('good morning\r\n\r\n')
    expect(await connection.all()).toHaveLength(1)
  })

  it('never replace the answers to earlier requests', async () => {
    const connection = openConnection(node.port)
    connection.write(`${requestText(dealer, 'account/balance')}${requestText(dealer, 'health')}good morning\r\n\r\n`)
    const answers = await connection.all()
    expect(answers.map((answer) => answer.code)).toEqual(['000000', '000000', '000102'])
  })

  it('leave the server working', async () => {
    for (let i = 0; i < 20; i++) {
      const connection = openConnection(node.port)
      connection.write(requestText(dealer, 'health', { lines: ['Content-Length: 100'] }))
      connection.destroy()
    }
    expect((await call(node, dealer, 'health')).code).toBe('000000')
  })
})

describe('unusual but well-formed requests', () => {
  it('are answered in order when they are pipelined', async () => {
    const connection = openConnection(node.port)
    const ids = Array.from({ length: 20 }, () => randomUUID())
    connection.write(ids.map((requestId) => requestText(dealer, 'health', { requestId })).join(''))
    const answers = await connection.answers(20)
    connection.destroy()
    expect(answers.map((answer) => answer.headers['rt-requestid'])).toEqual(ids)
    expect(new Set(answers.map((answer) => answer.code))).toEqual(new Set(['000000']))
  })

  it('may arrive in chunks or one byte at a time', async () => {
    const chunked = requestText(dealer, 'health', { lines: ['Transfer-Encoding: chunked'] })
    expect((await say(chunked.replace(/\{\}$/, '1\r\n{\r\n1\r\n}\r\n0\r\n\r\n'))).code).toBe('000000')
    const connection = openConnection(node.port)
    connection.socket.setNoDelay(true)
    for (const byte of requestText(dealer, 'health')) {
      connection.write(byte)
      await new Promise(setImmediate)
    }
    const [answer] = await connection.answers(1)
    connection.destroy()
    expect(answer!.code).toBe('000000')
  })

  it('may send Expect: 100-continue, or an unknown expectation', async () => {
    expect((await say(requestText(dealer, 'health', { lines: ['Expect: 100-continue'] }))).code).toBe('000000')
    expect((await say(requestText(dealer, 'health', { lines: ['Expect: a miracle'] }))).code).toBe('000000')
    expect((await say(requestText(dealer, 'health', { lines: ['Connection: upgrade', 'Upgrade: h2c'] }))).code).toBe(
      '000000',
    )
  })

  it('may contain the server name in their target, and an encoded path', async () => {
    expect((await say(requestText(dealer, 'health').replace(' /', ' http://gateway/'))).code).toBe('000000')
    expect((await say(requestText(dealer, 'health').replace(' /', ' HTTPS://gateway:8443/'))).code).toBe('000000')
    const get = (target: string) => say(`GET ${target} HTTP/1.1\r\nHost: gateway\r\n\r\n`)
    const root = await get('/')
    for (const target of ['http://gateway', 'http://gateway?a']) expect((await get(target)).status).toBe(root.status)
    expect((await say(requestText(dealer, 'he%61lth'))).code).toBe('000000')
    expect((await say(requestText(dealer, 'he%61lth', { method: 'GET' }))).code).toBe('000103')
  })

  it('are refused when a relevant header is repeated', async () => {
    const twice = ['RT-AccessCode', 'RT-RequestID', 'RT-Timestamp', 'X-Signature', 'Content-Type', 'Host']
    for (const name of twice) {
      const text = requestText(dealer, 'health')
      const [line] = new RegExp(`^${name}:.*$`, 'm').exec(text)!
      const answer = await say(text.replace(`${line}\r\n`, `${line}\r\n${line}\r\n`))
      expect([name, answer.code]).toEqual([name, '000102'])
    }
  })

  it('are refused while their body is still being sent, if the body is too large', async () => {
    const connection = openConnection(node.port)
    connection.write(requestText(dealer, 'health', { lines: ['Transfer-Encoding: chunked'] }).replace(/\{\}$/, ''))
    const chunk = `8000\r\n${' '.repeat(0x8000)}\r\n`
    for (let i = 0; i < 9; i++) connection.write(chunk)
    const [answer] = await connection.answers(1)
    expect([answer!.status, answer!.code]).toEqual([413, '000111'])
    // The rest is discarded, and the connection remains usable.
    connection.write(`${chunk}0\r\n\r\n${requestText(dealer, 'health')}`)
    const answers = await connection.answers(2)
    connection.destroy()
    expect(answers[1]!.code).toBe('000000')
  })
})
