import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AdmissionInput } from '#tenants/admission/admit-batch.ts'
import { type AdmissionNodes, HOUR_MS, inputOf, nextEdgeMs, startAdmissionNodes } from './admission-nodes.ts'

let admission: AdmissionNodes
beforeAll(async () => {
  admission = await startAdmissionNodes(1)
})
afterAll(() => admission.close())

/** Each admission verdict, with a request that causes it. */
async function oneOfEach(nowMs: number): Promise<[verdict: string, entry: AdmissionInput][]> {
  const [tenantId, exhausted] = await Promise.all([admission.addTenant(), admission.addTenant(1)])
  const [used, usedBefore] = [randomUUID(), randomUUID()]
  await enterAlone(inputOf(tenantId, used, nowMs))
  await enterAlone(inputOf(tenantId, usedBefore, nowMs - HOUR_MS), nowMs - HOUR_MS)
  await enterAlone(inputOf(exhausted, randomUUID(), nowMs))
  await admission.db.query({
    text: `update qps_buckets set refilled_at = now() + interval '1 hour' where tenant_id = $1`,
    values: [exhausted],
  })
  return [
    ['admitted', inputOf(tenantId, randomUUID(), nowMs)],
    ['used', inputOf(tenantId, used, nowMs)],
    ['used', inputOf(tenantId, usedBefore, nowMs)],
    ['stale', inputOf(tenantId, randomUUID(), nowMs, 0n)],
    ['stale', inputOf(randomUUID(), randomUUID(), nowMs)],
    ['over-qps', inputOf(exhausted, randomUUID(), nowMs)],
  ]
}

async function enterAlone(entry: AdmissionInput, nowMs = entry.timestampMs): Promise<string> {
  const [node] = admission.nodes
  node!.nowMs = nowMs
  return (await node!.add(entry)).verdict
}

/** Single requests and batches use different statements (tenants/admission/admit-batch.ts). */
describe('the answer to a request', () => {
  const halfPastMs = nextEdgeMs() - HOUR_MS / 2
  for (const [where, nowMs] of [
    ['within a slot', halfPastMs],
    ['at the edge of one', nextEdgeMs()],
  ] as const) {
    it(`is the same alone and in a batch with others, ${where}`, async () => {
      const alone = await oneOfEach(nowMs)
      for (const [verdict, entry] of alone) expect([verdict, await enterAlone(entry)]).toEqual([verdict, verdict])
      const together = await oneOfEach(nowMs)
      const entered = await Promise.all(together.map(([, entry]) => enterAlone(entry, nowMs)))
      expect(entered).toEqual(together.map(([verdict]) => verdict))
    })
  }
})
