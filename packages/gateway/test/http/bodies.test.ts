import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { openConnection, type RawAnswer, type RawConnection } from './raw-connection.ts'

/* A request that can be answered without its body is answered before the body arrives, and the body is not stored. */

const PUBLIC_URL = 'https://esim.example.com'

let database: TestDatabase
let node: Node

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url, {
    ...{ DEPLOYMENT: 'test', PUBLIC_URL, TRUSTED_PROXIES: '127.0.0.1', CONSOLE: 'on' },
  })
  const smdp = { url: 'https://smdp.example.com', functionRequesterIdentifier: '1.2.3' }
  const listed = { ...smdp, notices: { addresses: ['203.0.113.8'] } }
  await addSupplier(node.deps, { name: 'smdp', type: 'es2plus', config: listed }, OPERATOR)
  const upstream = { url: 'https://upstream.example.com', appKey: 'upstream_key', appSecret: 'a secret' }
  await addSupplier(node.deps, { name: 'upstream', type: 'gateway', config: upstream }, OPERATOR)
  await node.deps.suppliers.refresh()
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

const HTTPS = ['X-Forwarded-For: 203.0.113.7', 'X-Forwarded-Proto: https']
const HTTP = ['X-Forwarded-For: 203.0.113.8', 'X-Forwarded-Proto: http']

/** The head of a POST that announces a body. */
function head(path: string, length: number, lines: string[] = HTTPS): string {
  const all = ['Host: gateway', 'Content-Type: application/json', `Content-Length: ${length}`, ...lines]
  return `POST ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`
}

/** The answer to the head alone. */
async function answerToHead(path: string, lines?: string[]): Promise<RawAnswer> {
  const connection = openConnection(node.port)
  connection.write(head(path, 100_000, lines))
  const [answer] = await connection.answers(1)
  connection.destroy()
  return answer!
}

describe('the request head is enough to answer', () => {
  it('that the requested path does not exist', async () => {
    for (const path of ['/nope', '/', '/qr/token', '/docs/signing', '/suppliers/upstream', '/console/nope']) {
      const answer = await answerToHead(path)
      expect([path, answer.status, answer.code]).toEqual([path, 404, '000109'])
    }
  })

  it('that a console path is unknown, the caller is not signed in, or a sign-in is too large', async () => {
    const lines = [...HTTPS, `Origin: ${PUBLIC_URL}`]
    const statuses = []
    for (const path of ['nope', 'stock/import?supplier=a&productCode=b', 'session'])
      statuses.push((await answerToHead(`/console/api/${path}`, lines)).status)
    expect(statuses).toEqual([404, 401, 413])
  })

  it('that no supplier has this address, or that HTTPS is required', async () => {
    const notification = '/gsma/rsp2/es2plus/handleDownloadProgressInfo'
    for (const [path, lines, words] of [
      [notification, HTTPS, 'no supplier has this certificate or address'],
      [notification, HTTP, 'HTTPS is required'],
      ['/suppliers/upstream/events', HTTP, 'HTTPS is required'],
    ] as const) {
      const answer = await answerToHead(path, [...lines])
      expect([path, answer.status, answer.text]).toEqual([path, 403, expect.stringContaining(words)])
    }
  })
})

describe('at the supplier API', () => {
  const EVENTS = '/suppliers/upstream/events'
  const BODY_BYTES = 256_000
  const ARRIVED = Buffer.alloc(250_000, ' ')

  it('unfinished bodies beyond the budget are refused, while small events are accepted', async () => {
    const refused: RawAnswer[] = []
    const crowd: RawConnection[] = Array.from({ length: 80 }, () => openConnection(node.port))
    for (const [index, connection] of crowd.entries()) {
      // From two addresses, because one may have at most 64 events in progress.
      connection.write(
        head(EVENTS, BODY_BYTES, [`X-Forwarded-For: 203.0.113.${index % 2}`, 'X-Forwarded-Proto: https']),
      )
      connection.write(ARRIVED)
      connection.answers(1).then(
        (answers) => void refused.push(...answers),
        () => {},
      )
    }
    // 80 of them take 20 MB, but at most 16 MiB may be held.
    await expect.poll(() => refused.length).toBeGreaterThanOrEqual(13)
    expect(new Set(refused.map((answer) => answer.status))).toEqual(new Set([503]))
    const small = openConnection(node.port)
    small.write(`${head(EVENTS, 2)}{}`)
    expect((await small.answers(1))[0]!.status).toBe(401)
    for (const connection of [...crowd, small]) connection.destroy()
  })

  it('a body whose announced size is too large is refused before it is read', async () => {
    const connection = openConnection(node.port)
    connection.write(head(EVENTS, 300_000))
    expect((await connection.answers(1))[0]!.status).toBe(413)
    connection.destroy()
  })
})
