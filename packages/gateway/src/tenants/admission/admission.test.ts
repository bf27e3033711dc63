import { createHmac } from 'node:crypto'
import { CLOCK_WINDOW_MS } from '@dealer-esim/contract'
import { describe, expect, it, test } from 'vitest'
import type { Tenant } from '../tenant.ts'
import { checkRequest, createTenantCache } from './admission.ts'

const NOW_MS = Date.parse('2026-11-20T13:00:00.000Z')
const APP_KEY = 'demo_app_key'
const SECRET = 'demo_app_secret'
const REQUEST_ID = '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11'
const TENANT: Tenant = {
  ...{
    tenantId: REQUEST_ID,
    appKey: APP_KEY,
    clientName: 'T',
    currencyCode: 'USD',
    status: 'ACTIVE',
    fencedUntilMs: null,
    testOffsetMs: 0,
    testAdvancedAtMs: null,
    isInRecovery: false,
    servedBy: null,
    version: 1n,
    key: null,
  },
  ...{ ipAllowlist: [], qpsLimit: null, unsignedRequests: false, dailySpendLimit: null },
  secrets: [{ secretId: 's', secret: SECRET, validUntilMs: null, provenAtMs: NOW_MS }],
}

/** The verdict on a request signed this long after the gateway's time. */
function verdictAt(offsetMs: number, operation: 'health' | 'test/balance/set' = 'health', more: object = {}) {
  const timestamp = String(NOW_MS + offsetMs)
  const body = Buffer.from('{}')
  const signature = createHmac('sha256', SECRET)
    .update(timestamp + REQUEST_ID + APP_KEY + body)
    .digest('hex')
  const headers = { appKey: APP_KEY, requestId: REQUEST_ID, timestamp, signature }
  const context = { databaseClock: { now: () => NOW_MS }, deployment: 'production' as const, ...more }
  const judgement = checkRequest(context, { headers, body, address: '192.0.2.1', operations: [operation] }, TENANT)
  return judgement.ok ? 'ok' : judgement.code
}

test('the clock window is 300 s in either direction, inclusive', () => {
  expect(CLOCK_WINDOW_MS).toBe(300_000)
  expect([-300_001, -300_000, 0, 300_000, 300_001].map((ms) => verdictAt(ms))).toEqual([
    '101001',
    'ok',
    'ok',
    'ok',
    '101001',
  ])
})

test('test operations are for test twins, and for every tenant of a deployment that is not production', () => {
  expect(verdictAt(0, 'test/balance/set')).toBe('000109')
  expect(verdictAt(0, 'test/balance/set', { deployment: 'test' })).toBe('ok')
  expect(verdictAt(0, 'test/balance/set', { twins: {} })).toBe('ok')
})

/** A table that is slow to read: each read sees the state at its start, and ends when the test ends it. */
function slowTable() {
  const table = { version: 1n, isThere: true, reads: 0, ends: [] as ((error?: Error) => void)[] }
  const cache = createTenantCache(async (appKey) => {
    table.reads++
    const seen = table.isThere ? ({ appKey, version: table.version } as Tenant) : undefined
    await new Promise<void>((resolve, reject) => table.ends.push((error) => (error ? reject(error) : resolve())))
    return seen
  })
  return { table, cache }
}

const turn = () => new Promise(setImmediate)

describe('rereading a tenant', () => {
  it('starts only after it was requested, and requests made meanwhile share one read', async () => {
    const { table, cache } = slowTable()
    const first = cache.reload('a')
    await turn()
    table.version = 2n
    const later = Array.from({ length: 100 }, () => cache.reload('a'))
    await turn()
    expect(table.reads).toBe(1)
    table.ends.shift()!()
    expect((await first)!.version).toBe(1n)
    await turn()
    expect(table.reads).toBe(2)
    table.version = 3n
    const last = cache.reload('a')
    table.ends.shift()!()
    expect((await Promise.all(later)).every((tenant) => tenant!.version === 2n)).toBe(true)
    await turn()
    table.ends.shift()!()
    expect((await last)!.version).toBe(3n)
    expect(cache.get('a')!.version).toBe(3n)
    expect(table.reads).toBe(3)
  })

  it('shares a failed read too, without affecting the next read', async () => {
    const { table, cache } = slowTable()
    const failing = [cache.reload('a'), cache.reload('a')]
    await turn()
    const next = cache.reload('a')
    table.ends.shift()!(new Error('lost'))
    for (const read of failing) await expect(read).rejects.toThrow('lost')
    await turn()
    table.ends.shift()!()
    expect((await next)!.version).toBe(1n)
  })

  it('forgets a tenant that no longer exists', async () => {
    const { table, cache } = slowTable()
    const read = async () => {
      const reading = cache.reload('a')
      await turn()
      table.ends.shift()!()
      return reading
    }
    await read()
    expect(cache.get('a')).toBeDefined()
    table.isThere = false
    expect(await read()).toBeUndefined()
    expect(cache.get('a')).toBeUndefined()
  })

  it('keeps at most fifty thousand tenants', async () => {
    const cache = createTenantCache(async (appKey) => ({ appKey }) as Tenant)
    for (let i = 0; i <= 50_000; i++) await cache.reload(`a${i}`)
    expect(cache.get('a0')).toBeUndefined()
    expect(cache.get('a1')).toBeDefined()
  })
})
