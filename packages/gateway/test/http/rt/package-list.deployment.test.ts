import { createHash, randomUUID } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { setTenantPlan } from '#catalogue/prices/price-assignments.ts'
import { createPlan, setPlanRule } from '#catalogue/prices/price-plans.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import { addDealer, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { familyCall, familyHeaders } from './family-program.ts'

/** More than the largest wholesalers list, so that the answer is larger than a connection's buffers. */
const PACKAGES = 6_000
const READERS = 8
const DATED_MS = 6_000

let database: TestDatabase
let node: Node
let dealer: Dealer
/** How many are on sale: tests add some, also those that are tried again. */
let onSale = 0

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  dealer = await addDealer(node.deps)
  while (onSale < PACKAGES) await addPackages(2_000)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

async function addPackages(count: number): Promise<void> {
  const from = onSale
  const packages = Array.from({ length: count }, (_, index) => {
    const packageCode = `P_${String(from + index).padStart(5, '0')}`
    return packageInput({
      packageCode,
      description: `${packageCode} `.repeat(100),
      status: 'ON_SALE',
      prices: [{ currencyCode: 'USD', price: 10_000 + from + index, retailPrice: null }],
      suppliers: [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }],
    })
  })
  await putPackages(node.deps, packages, OPERATOR)
  onSale += count
}

const list = (headers: Record<string, string> = {}, body: object = {}) =>
  familyCall(node.baseUrl, dealer, 'package/list', body, { headers })

/** Requests the list and reads only the head of the answer. The connection is closed after the test. */
function openList(of = dealer, encoding?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const accepted = encoding === undefined ? {} : { 'Accept-Encoding': encoding }
    const headers = { ...familyHeaders(of, ''), ...accepted }
    const agent = new Agent()
    opened.push(agent)
    const sent = request(`${node.baseUrl}/api/v1/open/package/list`, { method: 'POST', agent, headers }, resolve)
    sent.on('error', reject)
    sent.end()
  })
}

const opened: Agent[] = []
afterEach(() => {
  for (const agent of opened.splice(0)) agent.destroy()
})

async function readAll(
  answer: IncomingMessage,
  onChunk: () => void = () => {},
): Promise<{ bytes: number; hash: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    hash.update(chunk)
    onChunk()
  }
  return { bytes, hash: hash.digest('hex') }
}

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')
function heldBytes(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe('package/list', () => {
  test('contains every package in the dealer API, in the same order and at the same prices', async () => {
    const { obj } = await list()
    const expected: [string, number][] = []
    const catalogue = await node.deps.catalogue.latest()
    const buyer = { tenantId: dealer.tenantId, currencyCode: 'USD' }
    let cursor: string | null = null
    do {
      const page = listPackages(catalogue, buyer, { pageSize: 500, ...(cursor && { cursor }) })
      expected.push(
        ...page.packageList.map((item): [string, number] => [item.packageCode, (item as { price: number }).price]),
      )
      cursor = page.nextCursor
    } while (cursor)
    expect(expected).toHaveLength(onSale)
    const listed = obj.packageList.map(({ packageCode, price }: { packageCode: string; price: number }) => [
      packageCode,
      price,
    ])
    expect(listed).toEqual(expected)
  })

  test('uses memory that does not depend on the list length', async () => {
    const { bytes } = await readAll(await openList())
    const grownBytes = async () => {
      const before = heldBytes()
      let peak = 0
      let chunks = 0
      await readAll(await openList(), () => {
        if (chunks++ % 50 === 0) peak = Math.max(peak, heldBytes())
      })
      expect(chunks).toBeGreaterThan(100)
      return peak - before
    }
    // Other work in the process may also take memory at that moment, but not every time.
    expect(Math.min(await grownBytes(), await grownBytes(), await grownBytes())).toBeLessThan(bytes / 8)
  })

  test('prepares nothing for callers that read nothing, and leaves the gateway free for others', async () => {
    const began = performance.now()
    const { bytes, hash } = await readAll(await openList())
    const aloneMs = performance.now() - began
    const before = heldBytes()
    const readers = await Promise.all(Array.from({ length: READERS }, () => openList()))
    const other = await addDealer(node.deps)
    const startedAt = performance.now()
    for (let calls = 0; calls < 20; calls++) {
      expect(await familyCall(node.baseUrl, other, 'balance/query')).toMatchObject({ success: true })
    }
    expect((await readAll(await openList(other))).bytes).toBe(bytes)
    expect(performance.now() - startedAt).toBeLessThan(10 * aloneMs + 10_000) // a guard against waiting for the readers
    await delay(READERS * aloneMs) // as long as it takes to prepare all of these lists
    // Data buffered by the operating system is not in our memory. The answers read above are freed shortly afterwards.
    await vi.waitFor(() => expect(heldBytes() - before).toBeLessThan((READERS * bytes) / 8), 60_000)
    expect((await list()).errorCode).toBe('900001')
    const read = await Promise.all(readers.map((reader) => readAll(reader)))
    expect(read.map((one) => one.hash)).toEqual(readers.map(() => hash))
    await vi.waitFor(async () => expect((await readAll(await openList())).hash).toBe(hash), 60_000)
  })

  test('comes from a single catalogue version, even if a package is added while the list is read', async () => {
    const before = onSale
    const answer = await openList()
    await addPackages(1)
    const texts: Buffer[] = []
    for await (const chunk of answer as AsyncIterable<Buffer>) texts.push(chunk)
    const { obj } = JSON.parse(Buffer.concat(texts).toString())
    expect(obj.packageList).toHaveLength(before)
    expect((await list()).obj.packageList).toHaveLength(before + 1)
  })

  test('releases the slot of a reader that disconnects', async () => {
    const readers = await Promise.all(Array.from({ length: READERS }, () => openList()))
    expect((await list()).errorCode).toBe('900001')
    for (const reader of readers) reader.destroy()
    await vi.waitFor(async () => expect((await list()).errorCode).toBeNull(), 60_000)
  })
})

describe('package/list compression', () => {
  const bytesOf = async (answer: IncomingMessage): Promise<Buffer> => {
    const chunks: Buffer[] = []
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk)
    return Buffer.concat(chunks)
  }

  test.each(['gzip', 'gzip, deflate, br', 'deflate, GZIP;q=0.5', '*', 'br;q=1.0, *;q=0.1'])(
    'is gzip for a program that accepts “%s”, and decompresses to the same bytes',
    async (encoding) => {
      const plain = await bytesOf(await openList())
      const answer = await openList(dealer, encoding)
      expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' })
      const bytes = await bytesOf(answer)
      expect(gunzipSync(bytes).equals(plain)).toBe(true)
      expect(bytes.length).toBeLessThan(plain.length / 8)
    },
  )

  test.each([undefined, '', 'identity', 'br', 'deflate', 'gzip;q=0', 'gzip;q=0.000, *', '*;q=0', 'x-gzip'])(
    'is omitted for a program that accepts “%s”',
    async (encoding) => {
      const answer = await openList(dealer, encoding)
      expect(answer.headers['content-encoding']).toBeUndefined()
      expect(answer.headers.vary).toBe('Accept-Encoding')
      expect(JSON.parse((await bytesOf(answer)).toString()).success).toBe(true)
    },
  )

  test('uses memory that does not depend on the length of the list', async () => {
    const { bytes: plainBytes } = await readAll(await openList())
    const before = heldBytes()
    const readers = await Promise.all(Array.from({ length: READERS }, () => openList(dealer, 'gzip')))
    await vi.waitFor(() => expect(heldBytes() - before).toBeLessThan((READERS * plainBytes) / 8), 60_000)
    const read = await Promise.all(readers.map((reader) => readAll(reader)))
    expect(new Set(read.map(({ hash }) => hash)).size).toBe(1)
  })

  test('is omitted for answers with activation codes, secrets or money', async () => {
    for (const [operation, body] of [
      ['balance/query', {}],
      ['esim/query', { pager: { pageNum: 1, pageSize: 500 } }],
      ['esim/order', {}],
      ['webhook/query', {}],
      ['location/list', {}],
    ] as const) {
      const { headers } = await familyCall(node.baseUrl, dealer, operation, body, {
        headers: { 'Accept-Encoding': 'gzip' },
      })
      expect([operation, headers.get('content-encoding')]).toEqual([operation, null])
    }
  })

  test('has its own ETag, because the bytes differ, and both ETags are recognised', async () => {
    const [plain, zipped] = [await openList(), await openList(dealer, 'gzip')]
    for (const answer of [plain, zipped]) await bytesOf(answer)
    expect(zipped.headers.etag).toBe(`W/${plain.headers.etag}`)
    for (const etag of [plain.headers.etag, zipped.headers.etag]) {
      const answer = await list({ 'If-None-Match': etag! })
      expect(answer.obj).toEqual({ notModified: true })
      expect(answer.headers.get('content-encoding')).toBeNull()
    }
  })
})

describe('the ETag of package/list', () => {
  const etagOf = async (body: object = {}, of = dealer) => {
    const answer = await familyCall(node.baseUrl, of, 'package/list', body)
    return answer.headers.get('etag')
  }

  test('sent back by a caller that has the list gets HTTP 200 and no list', async () => {
    const etag = (await etagOf())!
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/) // fetch accepts gzip
    for (const sent of [etag, etag.slice(2), `"other", ${etag}`]) {
      const answer = await list({ 'If-None-Match': sent })
      expect(answer).toMatchObject({ status: 200, success: true, errorCode: null, obj: { notModified: true } })
      expect(answer.obj).toEqual({ notModified: true })
      expect(answer.headers.get('etag')).toBe(etag)
    }
    expect((await list({ 'If-None-Match': '"other"' })).obj.packageList).toHaveLength(onSale)
  })

  test('differs by filter and dealer, and changes with the catalogue', async () => {
    const etags = [await etagOf(), await etagOf({ packageCode: 'P_00001' }), await etagOf({ type: 'TOPUP' })]
    etags.push(await etagOf({}, await addDealer(node.deps)))
    expect(new Set(etags).size).toBe(4)
    expect(await etagOf({ locationCode: '', type: null })).toBe(etags[0])
    await addPackages(1)
    expect(await etagOf()).not.toBe(etags[0])
    expect((await list({ 'If-None-Match': etags[0]! })).obj.packageList).toHaveLength(onSale)
  })

  test('changes when a dated price rule begins and when it ends', async () => {
    const { deps } = node
    const buyer = await addDealer(deps)
    const planName = `WINTER-${randomUUID().slice(0, 8).toUpperCase()}`
    await createPlan(deps, planName, OPERATOR)
    await setTenantPlan(deps, buyer.tenantId, planName, OPERATOR)
    // Long enough to ask for the price before and between them on a busy machine.
    const validFrom = new Date(deps.databaseClock.now() + DATED_MS)
    const validUntil = new Date(validFrom.getTime() + DATED_MS)
    await setPlanRule(deps, { planName, validFrom }, { percent: -500_000n, validUntil }, OPERATOR)
    const body = { packageCode: 'P_00000' }
    /** The ETag and the price as seen by a program that requests only changes. */
    let [known, price]: (string | number | undefined)[] = []
    const poll = async () => {
      const headers = known === undefined ? {} : { 'If-None-Match': String(known) }
      const answer = await familyCall(node.baseUrl, buyer, 'package/list', body, { headers })
      if (!answer.obj.notModified) price = answer.obj.packageList[0].price
      known = answer.headers.get('etag')!
      return price
    }
    expect(await poll()).toBe(10_000)
    await vi.waitUntil(() => deps.databaseClock.now() >= validFrom.getTime(), 60_000)
    expect(await poll()).toBe(5_000)
    await vi.waitUntil(() => deps.databaseClock.now() >= validUntil.getTime(), 60_000)
    expect(await poll()).toBe(10_000)
  })
})
