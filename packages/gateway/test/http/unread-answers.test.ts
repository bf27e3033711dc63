import { connect, type Socket } from 'node:net'
import { createDb as connectDb } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RequestLine } from '#http/request-log.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, signedHeaders, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage } from '../harness/shop.ts'

const PACKAGES = 10
const DESCRIPTION_CHARACTERS = 100_000
const CONNECTIONS = 40
const PIPELINED = 6
const BURST = 150

let database: TestDatabase
let node: Node
let dealer: Dealer
let answered = 0
const lines: RequestLine[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  const db = connectDb({ url: database.url, poolSize: 1, applicationName: 'test unsent' })
  for (let at = 0; at < PACKAGES; at++) await addPackage(db, `P_${at}`, [{ supplier: 'sandbox', productCode: 'P' }])
  await db.query({ text: `update packages set description = repeat('x', $1)`, values: [DESCRIPTION_CHARACTERS] })
  await db.query({
    text: `insert into list_prices select package_code, 'USD', 1, null, false, now(), now() from packages`,
  })
  await db.close()
  node = await startNode(
    database.url,
    {},
    {
      logRequest(line) {
        answered++
        lines.push(line)
      },
    },
  )
  dealer = await addDealer(node.deps)
  await changeSettings(node.deps, dealer.tenantId, { qpsLimit: 10_000 }, OPERATOR)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

function request(): string {
  const headers = Object.entries(signedHeaders(dealer, { body: '{}' })).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /open-api/v1/package/list HTTP/1.1\r\nHost: x\r\n${headers.join('')}Content-Length: 2\r\n\r\n{}`
}

/** Reads until all answers have arrived or the server ends the connection. @returns true if all arrived */
function readToEnd(socket: Socket, allBytes: number): Promise<boolean> {
  return new Promise((resolve) => {
    let bytes = 0
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes >= allBytes) resolve(true)
    })
    socket.on('close', () => resolve(false))
    socket.resume()
  })
}

it('unread answers are bounded, because the connection that holds the most is closed', async () => {
  const page = await call(node, dealer, 'package/list')
  expect(page.text.length).toBeGreaterThan(PACKAGES * DESCRIPTION_CHARACTERS)
  answered = 0
  const crowd: Socket[] = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect(node.port, '127.0.0.1').pause()
    socket.on('error', () => {})
    socket.write(Array.from({ length: PIPELINED }, request).join(''))
    return socket
  })
  try {
    await expect.poll(() => answered, { timeout: 30_000 }).toBe(CONNECTIONS * PIPELINED)
    const again = await call(node, dealer, 'package/list')
    expect([again.code, again.text.length]).toEqual(['000000', page.text.length])
    // A quarter of a gigabyte, of which the system buffers a part and we may hold 64 MiB.
    const whole = await Promise.all(crowd.map((socket) => readToEnd(socket, PIPELINED * page.text.length)))
    expect(whole.filter((all) => !all).length).toBeGreaterThan(CONNECTIONS / 4)
    expect(whole).toContain(true)
  } finally {
    for (const socket of crowd) socket.destroy()
  }
})

it('pages that one dealer pipelines without reading are bounded, and other dealers are served', async () => {
  const other = await addDealer(node.deps)
  await call(node, other, 'health')
  lines.length = 0
  const socket = connect(node.port, '127.0.0.1').pause()
  socket.on('error', () => {})
  socket.write(Array.from({ length: BURST }, request).join(''))
  await expect.poll(() => lines.length, { interval: 1 }).toBeGreaterThan(0)
  expect((await call(node, other, 'health')).code).toBe('000000')
  await expect.poll(() => lines.length).toBe(BURST + 1)
  const served = lines.filter(({ code, operation }) => operation === 'package/list' && code === '000000')
  // 8 MiB per connection, plus what the system buffers.
  expect(served.length).toBeLessThan(16)
  expect(await readToEnd(socket, BURST * PACKAGES * DESCRIPTION_CHARACTERS)).toBe(false)
})
