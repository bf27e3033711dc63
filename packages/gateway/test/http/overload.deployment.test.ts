import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as passing } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { PIPELINED_MAX } from '#http/load-shedding/page-queue.ts'
import { REQUESTS_MAX, REQUESTS_MIN } from '#http/load-shedding/request-limit.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { openConnection, type RawConnection, requestText } from './raw-connection.ts'

let database: TestDatabase
let node: Node
let dealer: Dealer

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url, { DEFAULT_QPS_LIMIT: '100000' })
  dealer = await addDealer(node.deps)
  await call(node, dealer, 'health')
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

/** Blocks every reader of a balance until it is released, at the latest when its test ends. */
async function holdWallets(): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('begin; lock table wallets in access exclusive mode')
  const release = () => client.end() // which also ends the transaction
  onTestFinished(release)
  return { release }
}

/** Counts the statements waiting for the lock: their requests are in progress. */
async function waiting(): Promise<number> {
  const rows = await node.deps.db.query<{ count: number }>({
    text: `select count(*)::int as count from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
  })
  return rows[0]!.count
}

describe('requests beyond the limit in progress', () => {
  it('are refused immediately, while requests in progress are served', async () => {
    const hold = await holdWallets()
    const codes: string[] = []
    const calls = Array.from({ length: REQUESTS_MAX + 100 }, async () => {
      const answer = await call(node, dealer, 'account/balance')
      codes.push(answer.code)
      if (answer.code === '000002') expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1'])
    })
    await waitUntil(async () => codes.length >= 100)
    expect(new Set(codes)).toEqual(new Set(['000002']))
    await hold.release()
    await Promise.all(calls)
    // On a busy machine some have waited too long for the lock.
    const served = codes.filter((code) => code === '000000').length
    expect(served).toBeLessThanOrEqual(REQUESTS_MAX)
    expect(served).toBeGreaterThan(REQUESTS_MAX / 2)
    expect((await call(node, dealer, 'health')).code).toBe('000000')
  })

  it('release their slots when their callers disconnect', async () => {
    const hold = await holdWallets()
    const connections: RawConnection[] = []
    try {
      // More and more connections: the limit, which shrank under the earlier load, may have grown back in between.
      await waitUntil(async () => {
        const connection = openConnection(node.port)
        connections.push(connection)
        // Pipelined, because Node does not report the end of requests that it has not started.
        connection.write(Array.from({ length: 200 }, () => requestText(dealer, 'account/balance')).join(''))
        return (await call(node, dealer, 'health')).code === '000002'
      })
    } finally {
      for (const connection of connections) connection.destroy()
      await hold.release()
    }
    await waitUntil(async () => {
      const calls = await Promise.all(Array.from({ length: REQUESTS_MIN }, () => call(node, dealer, 'health')))
      return calls.every((answer) => answer.code === '000000')
    })
  })
})

/** The answers that a flood received within a few seconds. */
interface Flood {
  /** The times of orders from the last sending to the answer, ascending. */
  placedMs: number[]
  refusedMs: number[]
  /** Other answers. */
  others: number
}

const FLOOD = fileURLToPath(new URL('../../../../bench/flood-process.mjs', import.meta.url))
const CONNECTIONS = 2_000
const MEASURED_MS = 2_000
/** A machine that is busy with other things disturbs a round, so only five bad rounds in a row count. */
const ROUNDS = 5

/**
 * Sends orders over this many connections, which never wait.
 * @returns the answers during MEASURED_MS, once the load has settled
 */
async function flooded(baseUrl: string, buyer: Dealer, connections: number, settlesMs: number): Promise<Flood> {
  const { appKey, appSecret } = buyer
  const options = { port: new URL(baseUrl).port, connections, appKey, appSecret }
  const flood = fork(FLOOD, [JSON.stringify(options)], { execArgv: [] })
  const seen = async () => {
    flood.send('report')
    return ((await once(flood, 'message')) as [Flood])[0]
  }
  try {
    await once(flood, 'message')
    await passing(settlesMs)
    await seen()
    await passing(MEASURED_MS)
    return await seen()
  } finally {
    flood.kill()
    await once(flood, 'exit')
  }
}

const middle = (sorted: number[]) => sorted[Math.floor(sorted.length / 2)]!

function memoryMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
}

describe('two thousand callers that never wait', () => {
  afterAll(stopGateways)

  it('are mostly refused, and the rest are served about as quickly as usual', async () => {
    const gateway = await startGateway({
      databaseUrl: database.url,
      role: 'api',
      env: { DEFAULT_QPS_LIMIT: '100000' },
    })
    const quiet = await flooded(gateway.baseUrl, dealer, REQUESTS_MIN, 1_000)
    const beforeMb = memoryMb(gateway.pid)
    /** The orders placed and their time, each as a multiple of the usual one. */
    const rounds: { placed: number; time: number; refused: number; refusedAfterwards: number }[] = []
    // Without the share of time for refusals, no order was placed at all. If 64 callers are answered within a few
    // milliseconds, reading the refused requests dominates.
    const isServed = ({ placed, time, refused, refusedAfterwards }: (typeof rounds)[number]) =>
      refused > 0 && placed > 1 / 5 && time < 10 && refusedAfterwards === 0
    while (rounds.length < ROUNDS && !rounds.some(isServed)) {
      const crowd = await flooded(gateway.baseUrl, dealer, CONNECTIONS, 3_000)
      expect(memoryMb(gateway.pid) - beforeMb).toBeLessThan(200)
      expect(crowd.others).toBe(0)
      const after = await flooded(gateway.baseUrl, dealer, REQUESTS_MIN, 1_000)
      expect(after.others).toBe(0)
      // The flood is compared with the slower of the two times.
      const placed = crowd.placedMs.length / Math.min(quiet.placedMs.length, after.placedMs.length)
      const time = middle(crowd.placedMs) / Math.max(middle(quiet.placedMs), middle(after.placedMs))
      rounds.push({ placed, time, refused: crowd.refusedMs.length, refusedAfterwards: after.refusedMs.length })
    }
    expect(rounds.some(isServed), JSON.stringify(rounds)).toBe(true)
    await gateway.kill()
  }, 240_000)
})

const PAGE_FLOOD = fileURLToPath(new URL('page-flood-process.mjs', import.meta.url))
const CALLS = 50
const PAGES_PER_CALL_MAX = 200

describe('continuous page requests on many connections', () => {
  afterAll(stopGateways)

  it('alternate with dealers’ calls, so that a call waits for only a few pages', async () => {
    const gateway = await startGateway({ databaseUrl: database.url, role: 'api' })
    const options = { port: new URL(gateway.baseUrl).port, connections: 200, path: '/' }
    const flood = fork(PAGE_FLOOD, [JSON.stringify(options)], { execArgv: [] })
    const shown = async () => {
      flood.send('report')
      return ((await once(flood, 'message')) as [number])[0]
    }
    await once(flood, 'message')
    for (let called = 0; called < CALLS; called++) await call(gateway, dealer, 'health')
    const pagesPerCall: number[] = []
    while (pagesPerCall.length < ROUNDS && !pagesPerCall.some((pages) => pages < PAGES_PER_CALL_MAX)) {
      const before = await shown()
      for (let called = 0; called < CALLS; called++) {
        expect((await call(gateway, dealer, 'health')).code).toBe('000000')
      }
      pagesPerCall.push(((await shown()) - before) / CALLS)
    }
    // Without alternation: 600 pages per call; with it: 30 to 60.
    expect(Math.min(...pagesPerCall)).toBeGreaterThan(0)
    expect(Math.min(...pagesPerCall), pagesPerCall.join(', ')).toBeLessThan(PAGES_PER_CALL_MAX)
    flood.kill()
    await once(flood, 'exit')
  })
})

describe('thousands of page requests on one connection', () => {
  it.each(['/', '/console/', '/console/api/me', '/nowhere'])('close the connection: %s', async (path) => {
    const own = await startNode(database.url, { CONSOLE: 'on' })
    const connection = openConnection(own.port)
    connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(2_000))
    expect((await connection.all()).length).toBeLessThan(100)
    const other = openConnection(own.port)
    other.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    expect((await other.answers(1)).map((answer) => answer.status)).toEqual([302])
    other.destroy()
    await own.stop()
  })
})

describe('page requests beyond the queue limit', () => {
  it.each(['/docs/', '/console/', '/console/api/me'])('are refused in the format of their API: %s', async (path) => {
    const own = await startNode(database.url, { CONSOLE: 'on' })
    const crowd = Array.from({ length: 100 }, () => openConnection(own.port))
    await Promise.all(crowd.map(({ socket }) => once(socket, 'connect')))
    for (const connection of crowd) {
      connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(PIPELINED_MAX))
    }
    const answers = (await Promise.all(crowd.map((connection) => connection.answers(PIPELINED_MAX)))).flat()
    const refused = answers.filter((answer) => answer.status === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.some((answer) => answer.status >= 500 && answer.status !== 503)).toBe(false)
    for (const connection of crowd) connection.destroy()
    await own.stop()
  })
})

describe('request bodies that never arrive', () => {
  it('do not count towards the limit of requests in progress', async () => {
    const connections = Array.from({ length: REQUESTS_MAX + 100 }, () => openConnection(node.port))
    for (const connection of connections) {
      connection.write(requestText(dealer, 'health', { lines: ['Content-Length: 200000'] }))
    }
    const answers = await Promise.all(Array.from({ length: 200 }, () => call(node, dealer, 'health')))
    expect(new Set(answers.map((answer) => answer.code))).toEqual(new Set(['000000']))
    for (const connection of connections) connection.destroy()
  })

  it('are refused, largest first, when they exceed the memory budget', async () => {
    const before = process.memoryUsage().rss
    const whole = Buffer.from(requestText(dealer, 'health', { body: '{}'.padEnd(262_144) }))
    const small = openConnection(node.port)
    const begunBytes = whole.indexOf('{}') + 1
    small.write(whole.subarray(0, begunBytes))
    const large = Array.from({ length: 320 }, () => openConnection(node.port))
    for (const connection of large) connection.write(whole.subarray(0, -1))
    const given = await Promise.any(large.map((connection) => connection.answers(1)))
    expect([given[0]!.status, given[0]!.code]).toEqual([503, '000002'])
    expect((await call(node, dealer, 'health')).code).toBe('000000')
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024) // the senders run in this process too
    for (const connection of large) connection.destroy()
    small.write(whole.subarray(begunBytes))
    const [answer] = await small.answers(1)
    small.destroy()
    expect(answer!.code).toBe('000000') // it was read to the end, because all of it is signed
  })
})

describe('a stopping gateway', () => {
  it('answers requests in progress and closes their connections', async () => {
    const stopping = await startNode(database.url)
    await call(stopping, dealer, 'health')
    const hold = await holdWallets()
    const calls = Array.from({ length: 5 }, () => call(stopping, dealer, 'account/balance'))
    await waitUntil(async () => (await waiting()) >= 5)
    const deadlineMs = 100_000
    const stopped = stopping.stop(deadlineMs)
    await new Promise(setImmediate)
    const late = await call(stopping, dealer, 'health')
    expect([late.code, late.headers.connection]).toEqual(['000000', 'close'])
    await hold.release()
    for (const answer of await Promise.all(calls)) {
      expect([answer.code, answer.headers.connection]).toEqual(['000000', 'close'])
    }
    const start = performance.now()
    await stopped
    expect(performance.now() - start).toBeLessThan(deadlineMs) // a guard against waiting for idle connections
  })

  it('answers requests that have begun to arrive', async () => {
    const stopping = await startNode(database.url)
    const [inBody, inHeaders] = [openConnection(stopping.port), openConnection(stopping.port)]
    const text = requestText(dealer, 'health')
    inBody.write(text.slice(0, -1))
    inHeaders.write(text.slice(0, 60))
    const other = openConnection(stopping.port) // by the time it is answered, the other two have been read
    other.write(requestText(dealer, 'health'))
    await other.answers(1)
    const stopped = stopping.stop(10_000)
    await other.all()
    inBody.write(text.slice(-1))
    inHeaders.write(requestText(dealer, 'health').slice(60))
    for (const connection of [inBody, inHeaders]) {
      expect((await connection.all()).map((answer) => answer.headers.connection)).toEqual(['close'])
    }
    await stopped
  })

  it('does not wait for idle connections, and closes silent connections at the deadline', async () => {
    const stopping = await startNode(database.url)
    const idle = openConnection(stopping.port)
    idle.write(requestText(dealer, 'health'))
    await idle.answers(1)
    const slow = openConnection(stopping.port)
    slow.write(requestText(dealer, 'health', { lines: ['Content-Length: 100'] }))
    await waitUntil(async () => slow.socket.bytesWritten > 100)
    const deadlineMs = 1_000
    const start = performance.now()
    await stopping.stop(deadlineMs)
    expect(performance.now() - start).toBeLessThan(10 * deadlineMs) // else the slow connection is waited for forever
    expect(await idle.all()).toHaveLength(1)
    expect(await slow.all()).toHaveLength(0)
  })
})
