import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AdmissionInput } from '../../src/admission/admit-batch.ts'
import { type Entrances, entryOf, HOUR_MS, nextEdgeMs, openEntrances } from './admission-nodes.ts'

let entrances: Entrances
beforeAll(async () => {
  entrances = await openEntrances(1)
})
afterAll(() => entrances.close())

/** What admission can say of a request, and one of each that it is said of. */
async function oneOfEach(nowMs: number): Promise<[verdict: string, entry: AdmissionInput][]> {
  const [tenantId, exhausted] = await Promise.all([entrances.addTenant(), entrances.addTenant(1)])
  const [used, usedBefore] = [randomUUID(), randomUUID()]
  await enterAlone(entryOf(tenantId, used, nowMs))
  await enterAlone(entryOf(tenantId, usedBefore, nowMs - HOUR_MS), nowMs - HOUR_MS)
  await enterAlone(entryOf(exhausted, randomUUID(), nowMs))
  await entrances.db.query({
    text: `update qps_buckets set refilled_at = now() + interval '1 hour' where tenant_id = $1`,
    values: [exhausted],
  })
  return [
    ['admitted', entryOf(tenantId, randomUUID(), nowMs)],
    ['used', entryOf(tenantId, used, nowMs)],
    ['used', entryOf(tenantId, usedBefore, nowMs)],
    ['stale', entryOf(tenantId, randomUUID(), nowMs, 0n)],
    ['stale', entryOf(randomUUID(), randomUUID(), nowMs)],
    ['over-qps', entryOf(exhausted, randomUUID(), nowMs)],
  ]
}

async function enterAlone(entry: AdmissionInput, nowMs = entry.timestampMs): Promise<string> {
  const [node] = entrances.nodes
  node!.nowMs = nowMs
  return (await node!.add(entry)).verdict
}

/** One statement serves lone requests and another batches (admission/admit-batch.ts). */
describe('what a request is told', () => {
  const halfPastMs = nextEdgeMs() - HOUR_MS / 2
  for (const [where, nowMs] of [
    ['within a slot', halfPastMs],
    ['at the edge of one', nextEdgeMs()],
  ] as const) {
    it(`is the same alone and in company, ${where}`, async () => {
      const alone = await oneOfEach(nowMs)
      for (const [verdict, entry] of alone) expect([verdict, await enterAlone(entry)]).toEqual([verdict, verdict])
      const together = await oneOfEach(nowMs)
      const entered = await Promise.all(together.map(([, entry]) => enterAlone(entry, nowMs)))
      expect(entered).toEqual(together.map(([verdict]) => verdict))
    })
  }
})
