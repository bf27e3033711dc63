import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { waitForBlockedStatements } from '#test/harness/databases/statements.ts'
import { ONLY_HERE, partitionsOf, tablesOf } from '#test/harness/databases/tables.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type AdmissionNodes, HOUR_MS, inputOf, MINUTE_MS, nextEdgeMs, startAdmissionNodes } from './admission-nodes.ts'

/** Contract §3: the clock window, and the time beyond it for which a RequestID counts. */
const WINDOW_MS = 5 * MINUTE_MS
const KEPT_MS = HOUR_MS

let admission: AdmissionNodes
let tenantId: string
const edgeMs = nextEdgeMs() + HOUR_MS

beforeAll(async () => {
  admission = await startAdmissionNodes()
  tenantId = await admission.addTenant()
})
afterAll(() => admission.close())

/** Admits a request at a given moment, with a timestamp at the given distance from it. */
async function enter(requestId: string, atMs: number, offMs = 0, node = 0): Promise<string> {
  const entrance = admission.nodes[node]!
  entrance.nowMs = atMs
  return (await entrance.add(inputOf(tenantId, requestId, atMs + offMs))).verdict
}

/** Stops statements between inserting their RequestIDs and the commit, by locking the tenant's bucket. */
async function holdBucket(ofTenant: string) {
  const buckets = await tablesOf(admission.db, 'qps_buckets')
  const client = new pg.Client({ connectionString: admission.url })
  await client.connect()
  return {
    async lock() {
      await client.query(`${ONLY_HERE}; begin`)
      await client.query(`select from ${buckets} where tenant_id = $1 for update`, [ofTenant])
    },
    waitedForBy: (statements: number) =>
      waitUntil(async () => {
        const { rows } = await client.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length >= statements
      }),
    release: async () => void (await client.query('commit')),
    close: () => client.end(),
  }
}

describe('a RequestID', () => {
  const offs = [-WINDOW_MS, -MINUTE_MS, 0, MINUTE_MS, WINDOW_MS]
  const firsts = [-30, -11, -6.5, -5.5, -4, -1, 0, 1, 4, 5.5, 6.5, 11].map((minutes) => edgeMs + minutes * MINUTE_MS)

  it('is refused the second time with the same timestamp, even across a slot boundary', async () => {
    for (const first of firsts) {
      for (const off of offs) {
        const requestId = randomUUID()
        expect(await enter(requestId, first, off)).toBe('admitted')
        const again = Math.min(first + 3 * MINUTE_MS, first + off + WINDOW_MS)
        const verdict = await enter(requestId, again, first + off - again, 1)
        expect([first - edgeMs, off, verdict]).toEqual([first - edgeMs, off, 'used'])
      }
    }
  })

  it('is refused with any other timestamp until its retention ends', async () => {
    const delaysMs = [0, 1, 4.5, 6, 30, 55, 58, 59.9].map((minutes) => minutes * MINUTE_MS)
    const cases = firsts.flatMap((first) =>
      offs.flatMap((off) => delaysMs.flatMap((later) => offs.map((again) => ({ first, off, later, again })))),
    )
    const counting = cases.filter(({ off, later }) => later <= off + WINDOW_MS + KEPT_MS)
    const ids = counting.map(() => randomUUID())
    const verdicts: Record<string, number> = {}
    for (const first of firsts) {
      const own = counting.flatMap((one, i) => (one.first === first ? [{ ...one, id: ids[i]! }] : []))
      await Promise.all(own.map(({ id, off }) => enter(id, first, off)))
      for (const later of delaysMs) {
        const now = own.filter((one) => one.later === later)
        const entered = await Promise.all(now.map(({ id, again }) => enter(id, first + later, again, 1)))
        for (const verdict of entered) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1
      }
    }
    expect(verdicts).toEqual({ used: counting.length })
  })

  it('is the same in upper and lower case, even within one batch', async () => {
    const requestId = randomUUID()
    const spellings = [requestId, requestId.toUpperCase(), requestId.replace('a', 'A').replace('b', 'B')]
    const verdicts = await Promise.all(spellings.map((spelling) => enter(spelling, edgeMs - 30 * MINUTE_MS)))
    expect(verdicts.sort()).toEqual(['admitted', 'used', 'used'])
  })

  it('is admitted exactly once when a hundred concurrent requests use it, on either side of a slot boundary', async () => {
    for (const minutes of [-20, -5, 0, 5]) {
      const requestId = randomUUID()
      const at = edgeMs + minutes * MINUTE_MS
      const verdicts = await Promise.all(
        Array.from({ length: 100 }, (_, i) => enter(requestId, at, offs[i % offs.length], i % 2)),
      )
      expect(verdicts.filter((verdict) => verdict === 'admitted')).toHaveLength(1)
      expect(verdicts.filter((verdict) => verdict === 'used')).toHaveLength(99)
    }
  })

  it('is admitted once by two concurrent requests with timestamps on both sides of a slot boundary', async () => {
    const bucket = await holdBucket(tenantId)
    const minutes = [-4.9, -3, 0, 3, 4.9]
    for (const [i, at] of minutes.map((minute) => edgeMs + minute * MINUTE_MS).entries()) {
      const requestId = randomUUID()
      const timestamps = [Math.min(at, edgeMs - 1), Math.max(at, edgeMs)]
      const [first, second] = admission.nodes.map((node, n) => {
        node.nowMs = at + (i % 2 === n ? -50_000 : 0)
        return () => node.add(inputOf(tenantId, requestId, timestamps[(i + n) % 2]!))
      })
      await bucket.lock()
      const entering = [first!()]
      await bucket.waitedForBy(1) // it has inserted its id but not committed
      entering.push(second!())
      await bucket.waitedForBy(2)
      await bucket.release()
      const verdicts = (await Promise.all(entering)).map((entered) => entered.verdict)
      expect([minutes[i], ...verdicts]).toEqual([minutes[i], 'admitted', 'used'])
    }
    await bucket.close()
  })

  it('may be used by two tenants', async () => {
    const requestId = randomUUID()
    const other = await admission.addTenant()
    expect(await enter(requestId, edgeMs)).toBe('admitted')
    expect((await admission.nodes[0]!.add(inputOf(other, requestId, edgeMs))).verdict).toBe('admitted')
  })

  it('is not used up by a request that was checked against outdated settings', async () => {
    const requestId = randomUUID()
    const [node] = admission.nodes
    node!.nowMs = edgeMs
    expect((await node!.add(inputOf(tenantId, requestId, edgeMs, 0n))).verdict).toBe('stale')
    expect((await node!.add(inputOf(tenantId, requestId, edgeMs, 1n))).verdict).toBe('admitted')
  })
})

describe('missing partitions', () => {
  it('are created when a request needs them', async () => {
    const { db, nodes } = admission
    for (const name of await partitionsOf(db, 'request_ids')) await db.query({ text: `drop table ${name}` })
    const before = nodes.map((node) => node.partitionsMade)
    const at = Date.now()
    const ids = Array.from({ length: 60 }, () => randomUUID())
    const verdicts = await Promise.all(ids.map((id, i) => enter(id, at, 0, i % 2)))
    expect(new Set(verdicts)).toEqual(new Set(['admitted']))
    expect(nodes[0]!.partitionsMade).toBeGreaterThan(before[0]!)
    expect(new Set(await Promise.all(ids.map((id, i) => enter(id, at, 0, (i + 1) % 2))))).toEqual(new Set(['used']))
  })
})

describe('one table’s partitions', () => {
  it('are created and dropped without delaying users of another table', async () => {
    const { db } = admission
    for (const table of ['request_ids', 'events']) {
      await db.query({ text: `drop table ${(await partitionsOf(db, table)).at(-1)}` })
    }
    const reader = new pg.Client({ connectionString: admission.url })
    await reader.connect()
    await reader.query(`${ONLY_HERE}; begin; lock table ${await tablesOf(db, 'events')} in share update exclusive mode`)
    const made = maintainPartitions(db).then(
      () => 'made',
      () => 'gave up',
    )
    await waitForBlockedStatements(db)
    expect(await enter(randomUUID(), Date.now())).toBe('admitted') // while creating partitions waits for the reader
    expect(await Promise.race([made, 'waits'])).toBe('waits')
    await reader.query('commit')
    await reader.end()
    expect(await made).toBe('made')
  })
})

describe('random requests to two nodes with different clocks', () => {
  const step = fc.record({
    walkMs: fc.nat({ max: 2 * MINUTE_MS }),
    requests: fc.array(
      fc.record({
        node: fc.nat({ max: 1 }),
        tenant: fc.nat({ max: 2 }),
        id: fc.nat({ max: 30 }),
        offMs: fc.integer({ min: -WINDOW_MS, max: WINDOW_MS }),
        isUpper: fc.boolean(),
      }),
      { minLength: 1, maxLength: 40 },
    ),
  })

  it('admit each id once until it expires, and never fail', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    console.log(`seed ${seed}`)
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 25 }),
        fc.integer({ min: -30_000, max: 30_000 }),
        async (steps, skewMs) => {
          const tenants = await Promise.all([0, 1, 2].map(() => admission.addTenant()))
          const ids = Array.from({ length: 31 }, () => randomUUID())
          /** The end of the period for which an id counts. */
          const counts = new Map<string, number>()
          let now = nextEdgeMs() - 20 * MINUTE_MS
          for (const { walkMs, requests } of steps) {
            now += walkMs
            for (const [i, node] of admission.nodes.entries()) node.nowMs = now + i * skewMs
            const entered = await Promise.all(
              requests.map(async ({ node, tenant, id, offMs, isUpper }) => {
                const requestId = isUpper ? ids[id]!.toUpperCase() : ids[id]!
                const timestamp = now + offMs
                const { verdict } = await admission.nodes[node]!.add(inputOf(tenants[tenant]!, requestId, timestamp))
                return { key: `${tenant}/${id}`, verdict, until: timestamp + WINDOW_MS + KEPT_MS }
              }),
            )
            const keys = new Set(entered.map((one) => one.key))
            for (const key of keys) {
              const own = entered.filter((one) => one.key === key)
              const admitted = own.filter((one) => one.verdict === 'admitted')
              expect(admitted.length + own.filter((one) => one.verdict === 'used').length).toBe(own.length)
              expect(admitted.length).toBe((counts.get(key) ?? 0) > now ? 0 : 1)
              if (admitted[0]) counts.set(key, admitted[0].until)
            }
          }
        },
      ),
      { seed, numRuns: 25, endOnFailure: true },
    )
  })
})
