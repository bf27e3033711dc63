import { codes, isCode, operationNames } from '@dealer-esim/contract'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addDealer, call, type Dealer, type Node, startNode } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { openConnection, type RawAnswer, requestText } from '../raw-connection.ts'
import { addPackages } from './api-fixture.ts'
import { type FuzzedRequest, fuzzedRequest, stirred } from './fuzz-requests.ts'

/* Every request is answered with an envelope. SEED=… repeats a run; FUZZ_REQUESTS=… makes it longer. */

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 3_000)
const AT_ONCE = 20
const PATIENCE_MS = 20_000

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const logged: unknown[] = []
const heard = new Set<string>()
let database: TestDatabase
let node: Node
let dealer: Dealer

beforeAll(async () => {
  console.info(`fuzz: SEED=${seed}`)
  database = await createTestDatabase()
  const log: Log = { ...silentLog, error: (fault: unknown) => void logged.push(fault) }
  node = await startNode(database.url, { DEFAULT_QPS_LIMIT: '100000' }, { log })
  dealer = await addDealer(node.deps)
  await addPackages(node)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

describe('any input', () => {
  it('in a body or a header is answered with an envelope, and never with a 5xx', async () => {
    const requests = fc.sample(fuzzedRequest, { seed, numRuns: REQUESTS })
    await eachOf(requests, describeRequest, async ({ path, body, headers }) => {
      expectEnvelope(await call(node, dealer, '', { path, body, headers }))
    })
    // The refusals differ from each other.
    const usual = ['000000', '000102', '000104', '000105', '000107', '000108', '000109', '000110', '200013', '310241']
    expect([...heard]).toEqual(expect.arrayContaining(usual))
  })

  it('in the form of raw bytes gets an envelope, or the connection ends', async () => {
    const plan = fc.tuple(fc.constantFrom(...operationNames), stirred)
    let answered = 0
    await eachOf(
      fc.sample(plan, { seed, numRuns: Math.ceil(REQUESTS / 2) }),
      ([operation, stir]) => stir(Buffer.from(requestText(dealer, operation))).toString('latin1'),
      async ([operation, stir]) => {
        const answers = await answersTo(stir(Buffer.from(requestText(dealer, operation))))
        for (const answer of answers) expectEnvelope(answer)
        answered += answers.length
      },
    )
    expect(answered).toBeGreaterThan(REQUESTS / 4)
  })

  it('leaves the server working, with no unexpected failure in its log', async () => {
    expect((await call(node, dealer, 'health')).code).toBe('000000')
    expect(logged).toEqual([])
  })
})

/** Sends requests concurrently. Reports a failing or hanging request in full, so that it can be repeated alone. */
async function eachOf<One>(all: One[], textOf: (one: One) => string, work: (one: One) => Promise<void>): Promise<void> {
  const rest = [...all]
  async function sendNext(): Promise<void> {
    for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
      const current = one
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('no answer')), PATIENCE_MS)
      })
      await Promise.race([work(current), late])
        .catch((error: Error) => {
          error.message = `${textOf(current)}\n${error.message}`
          throw error
        })
        .finally(() => clearTimeout(timer))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendNext))
}

function describeRequest({ path, body, headers }: FuzzedRequest): string {
  return JSON.stringify({ path, body: body.toString(), headers })
}

function expectEnvelope(answer: { status: number; text: string; headers: object }): void {
  const { status, text } = answer
  expect(status, text).toBeLessThan(500)
  const { code, message, data, ...more } = JSON.parse(text)
  expect(isCode(code), text).toBe(true)
  expect(status).toBe(codes[code as keyof typeof codes].http)
  expect(answer.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' })
  expect(message).toEqual(expect.any(String))
  if (code === '000000') expect(data).toEqual(expect.any(Object))
  else expect(data).toMatchObject({ requestId: expect.any(String), details: expect.any(Array) })
  expect(more).toEqual({})
  expect(text).not.toMatch(/node_modules|\bat .*\.[tj]s:\d|select .* from/)
  heard.add(code)
}

/** Sends these bytes, ends the connection, and returns the whole answer. */
function answersTo(bytes: Buffer): Promise<RawAnswer[]> {
  const connection = openConnection(node.port)
  connection.write(bytes)
  connection.socket.end()
  return connection.all()
}
