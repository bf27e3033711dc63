import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Entry } from '../../src/admission/enter.ts'
import { type Entrances, entryOf, HOUR_MS, nextEdge_ms, openEntrances } from './entrances.ts'

let entrances: Entrances
beforeAll(async () => {
  entrances = await openEntrances(1)
})
afterAll(() => entrances.close())

/** What admission can say of a request, and one of each that it is said of. */
async function oneOfEach(now_ms: number): Promise<[verdict: string, entry: Entry][]> {
  const [tenantId, exhausted] = await Promise.all([entrances.addTenant(), entrances.addTenant(1)])
  const [used, usedBefore] = [randomUUID(), randomUUID()]
  await enterAlone(entryOf(tenantId, used, now_ms))
  await enterAlone(entryOf(tenantId, usedBefore, now_ms - HOUR_MS), now_ms - HOUR_MS)
  await enterAlone(entryOf(exhausted, randomUUID(), now_ms))
  await entrances.db.query({
    text: `update qps_buckets set refilled_at = now() + interval '1 hour' where tenant_id = $1`,
    values: [exhausted],
  })
  return [
    ['admitted', entryOf(tenantId, randomUUID(), now_ms)],
    ['used', entryOf(tenantId, used, now_ms)],
    ['used', entryOf(tenantId, usedBefore, now_ms)],
    ['stale', entryOf(tenantId, randomUUID(), now_ms, 0n)],
    ['stale', entryOf(randomUUID(), randomUUID(), now_ms)],
    ['over-qps', entryOf(exhausted, randomUUID(), now_ms)],
  ]
}

async function enterAlone(entry: Entry, now_ms = entry.timestamp_ms): Promise<string> {
  const [node] = entrances.nodes
  node!.now_ms = now_ms
  return (await node!.add(entry)).verdict
}

/** One statement serves lone requests and another batches (admission/enter.sql.ts). */
describe('what a request is told', () => {
  const halfPast_ms = nextEdge_ms() - HOUR_MS / 2
  for (const [where, now_ms] of [
    ['within a slot', halfPast_ms],
    ['at the edge of one', nextEdge_ms()],
  ] as const) {
    it(`is the same alone and in company, ${where}`, async () => {
      const alone = await oneOfEach(now_ms)
      for (const [verdict, entry] of alone) expect([verdict, await enterAlone(entry)]).toEqual([verdict, verdict])
      const together = await oneOfEach(now_ms)
      const entered = await Promise.all(together.map(([, entry]) => enterAlone(entry, now_ms)))
      expect(entered).toEqual(together.map(([verdict]) => verdict))
    })
  }
})
