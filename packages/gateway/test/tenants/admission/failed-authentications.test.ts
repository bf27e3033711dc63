import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { suspendTenant } from '#tenants/change-tenant.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import {
  type Answer,
  addDealer,
  call,
  type Dealer,
  type Node,
  OPERATOR,
  type RequestParts,
  startNode,
} from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'

/** The values from failure-limit.ts: the burst of failures, and the refill rate of the allowance. */
const BURST = 30
const REGAINED_PER_S = 0.5

let database: TestDatabase
let node: Node
let dealer: Dealer
/** Counts the statements that read credentials. */
let reads = 0

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url, { TRUSTED_PROXIES: '127.0.0.1', DEFAULT_QPS_LIMIT: '100000' })
  dealer = await addDealer(node.deps)
  const { db } = node.deps
  const query = db.query.bind(db)
  db.query = (statement) => {
    if (statement.text.includes('tenant_secrets')) reads++
    return query(statement)
  }
})
beforeEach(() => {
  reads = 0
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

function from(address: string, parts: RequestParts = {}, by = dealer): Promise<Answer> {
  const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': address }
  return call(node, by, 'health', { ...parts, headers })
}

const unknownKey = () => ({ appKey: `nobody_${randomBytes(8).toString('hex')}` })
const badSignature = () => ({ secret: 'guessed' })

/** Sends concurrent requests. @returns the number of answers by code, and the duration */
async function flood(times: number, one: (i: number) => Promise<Answer>) {
  const start = performance.now()
  const answers = await Promise.all(Array.from({ length: times }, (_, i) => one(i)))
  const counts: Record<string, number> = {}
  for (const { code } of answers) counts[code] = (counts[code] ?? 0) + 1
  return { counts, answers, most: BURST + Math.ceil(((performance.now() - start) / 1000) * REGAINED_PER_S) + 1 }
}

describe('failed authentications', () => {
  it.each([
    ['with unknown AppKeys', unknownKey, '101004', '203.0.113.1'],
    ['with wrong signatures', badSignature, '101003', '203.0.113.2'],
  ])(
    '%s cost an address at most thirty look-ups, even if many arrive simultaneously',
    async (_, parts, code, address) => {
      const { counts, answers, most } = await flood(200, () => from(address, parts()))
      expect(Object.keys(counts).sort()).toEqual([code, '101007'])
      expect(counts[code]).toBeGreaterThanOrEqual(BURST)
      expect(counts[code]).toBeLessThanOrEqual(most)
      expect(reads).toBeLessThanOrEqual(most)
      const refused = answers.find((answer) => answer.code === '101007')!
      expect(refused.status).toBe(429)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
      expect(refused.headers).toMatchObject({ 'ratelimit-limit': String(BURST), 'ratelimit-remaining': '0' })
      expect(refused.headers['ratelimit-reset']).toBe(refused.headers['retry-after'])
    },
  )

  it('are counted per IPv4 address, and per /64 of an IPv6 address', async () => {
    const failing = async (addresses: string[]) => {
      const { counts } = await flood(120, (i) => from(addresses[i % addresses.length]!, unknownKey()))
      return counts['101007'] ?? 0
    }
    expect(await failing(['198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4'])).toBe(0)
    expect(await failing(['2001:db8:1:1::1', '2001:db8:1:1:ffff::2', '2001:db8:1:1:0:0:7:3'])).toBeGreaterThan(80)
    expect(await failing(['2001:db8:2:1::1', '2001:db8:2:2::1', '2001:db8:2:3::1', '2001:db8:2:4::1'])).toBe(0)
    // A mapped address counts as its IPv4 address.
    expect(await failing(['::ffff:198.51.100.9', '198.51.100.9', '::ffff:c633:6409'])).toBeGreaterThan(80)
  })
})

describe('correctly signed requests', () => {
  it('never count as failures, whether from a hundred uncached tenants at the same time or thousands from one', async () => {
    const dealers = await Promise.all(Array.from({ length: 100 }, () => addDealer(node.deps, 0)))
    const address = '203.0.113.10'
    const { counts } = await flood(200, (i) => from(address, {}, dealers[i % 100]!))
    expect(counts).toEqual({ '000000': 200 })
    await flood(400, () => from(address))
    expect((await flood(BURST, () => from(address, unknownKey()))).counts).toEqual({ '101004': BURST })
  })

  it('are accepted from an address that has failed too often, even after a settings change', async () => {
    const address = '203.0.113.11'
    expect((await from('203.0.113.12')).code).toBe('000000') // the node knows the dealer
    await flood(60, () => from(address, unknownKey()))
    expect((await from(address, unknownKey())).code).toBe('101007')
    expect((await from(address)).code).toBe('000000')
    // The node is not notified of this change; the request itself reveals it.
    await changeSettings({ ...node.deps, wake: { wake() {} } }, dealer.tenantId, { qpsLimit: 90_000 }, OPERATOR)
    expect((await from(address)).code).toBe('000000')
    // The node is notified of this change to another dealer, which leaves this dealer's cached settings valid.
    const other = await addDealer(node.deps, 0)
    const notified = new Promise<void>((resolve) => node.deps.wake.on('settings', () => resolve()))
    await changeSettings(node.deps, other.tenantId, { qpsLimit: 90_000 }, OPERATOR)
    await notified
    expect((await from(address)).code).toBe('000000')
  })

  it('from a suspended tenant or an address outside its allowlist share their look-ups', async () => {
    const suspended = await addDealer(node.deps, 0)
    await from('203.0.113.20', {}, suspended)
    await suspendTenant(node.deps, suspended.tenantId, OPERATOR)
    reads = 0
    const { counts } = await flood(200, () => from('203.0.113.20', {}, suspended))
    expect(counts).toEqual({ '101005': 200 })
    expect(reads).toBeLessThan(100)
  })
})
