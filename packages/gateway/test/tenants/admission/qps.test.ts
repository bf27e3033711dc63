import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, call, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { type AdmissionNodes, inputOf, startAdmissionNodes } from './admission-nodes.ts'

let admission: AdmissionNodes
let nodes: Node[]

beforeAll(async () => {
  admission = await startAdmissionNodes()
  nodes = await Promise.all([0, 1].map(() => startNode(admission.url)))
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()))
  await admission.close()
})

/** Sends concurrent requests to both nodes alternately. @returns the number of admitted ones, and the duration */
async function burst(tenantId: string, requests: number): Promise<{ admitted: number; tookS: number }> {
  const start = performance.now()
  const entered = await Promise.all(
    Array.from({ length: requests }, (_, i) => {
      const node = admission.nodes[i % 2]!
      node.nowMs = Date.now()
      return node.add(inputOf(tenantId, randomUUID(), Date.now()))
    }),
  )
  const admitted = entered.filter(({ verdict }) => verdict === 'admitted').length
  expect(admitted + entered.filter(({ verdict }) => verdict === 'over-qps').length).toBe(requests)
  return { admitted, tookS: (performance.now() - start) / 1000 }
}

async function setLimit(tenantId: string, limit: number): Promise<void> {
  await admission.db.query({
    text: 'update tenants set qps_limit = $2 where tenant_id = $1',
    values: [tenantId, limit],
  })
}

/** Pretends that no request has arrived during that time. */
async function rest(tenantId: string, seconds: number): Promise<void> {
  await admission.db.query({
    text: `update qps_buckets set refilled_at = refilled_at - $2 * interval '1 second' where tenant_id = $1`,
    values: [tenantId, seconds],
  })
}

describe('the QPS limit', () => {
  it('allows a burst of one second’s requests, then its rate, summed over two nodes', async () => {
    const tenantId = await admission.addTenant(50)
    let tookS = 0
    let admitted = 0
    for (let i = 0; i < 4; i++) {
      const one = await burst(tenantId, 150)
      if (i === 0) expect(one.admitted).toBeGreaterThanOrEqual(50)
      tookS += one.tookS
      admitted += one.admitted
    }
    expect(admitted).toBeLessThanOrEqual(50 + 50 * tookS + 1)
    await rest(tenantId, 3600)
    const rested = await burst(tenantId, 150)
    expect(rested.admitted).toBeGreaterThanOrEqual(50)
    expect(rested.admitted).toBeLessThanOrEqual(50 + 50 * rested.tookS + 1)
  })

  it('refills in fractions: ten per second means one every tenth of a second', async () => {
    const tenantId = await admission.addTenant(10)
    await burst(tenantId, 20)
    let admitted = 0
    const start = performance.now()
    while (performance.now() - start < 1_000) admitted += (await burst(tenantId, 2)).admitted
    const tookS = (performance.now() - start) / 1000
    expect(admitted).toBeGreaterThanOrEqual(Math.floor(10 * tookS) - 2)
    expect(admitted).toBeLessThanOrEqual(Math.ceil(10 * tookS) + 1)
  })

  it('applies a lower or higher value from the next request on', async () => {
    const tenantId = await admission.addTenant(1_000)
    expect((await burst(tenantId, 100)).admitted).toBe(100)
    await setLimit(tenantId, 3)
    const lowered = await burst(tenantId, 100)
    expect(lowered.admitted).toBeLessThanOrEqual(3 + 3 * lowered.tookS + 1)
    await setLimit(tenantId, 1_000)
    await rest(tenantId, 1)
    expect((await burst(tenantId, 500)).admitted).toBe(500)
  })

  it('for one tenant is not used up by another tenant in the same batch', async () => {
    const tenants = await Promise.all([5, 20, 1, 40].map((limit) => admission.addTenant(limit)))
    const admitted = await Promise.all(tenants.map((tenantId) => burst(tenantId, 30)))
    for (const [i, limit] of [5, 20, 1, 30].entries()) {
      expect(admitted[i]!.admitted).toBeGreaterThanOrEqual(limit)
      expect(admitted[i]!.admitted).toBeLessThanOrEqual(limit + [5, 20, 1, 40][i]! * admitted[i]!.tookS + 1)
    }
  })

  it.each([
    ['a second', 1.5],
    ['five minutes', 300],
    ['an hour', 3_600],
    ['a day', 86_400],
  ])('does not refuse requests for more than a second after the clock was set back by %s', async (_, seconds) => {
    const tenantId = await admission.addTenant(50)
    const alone = await admission.addTenant(50)
    for (const id of [tenantId, alone]) {
      await burst(id, 60) // the buckets are empty
      await rest(id, -seconds)
      await burst(id, 2)
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect((await burst(tenantId, 40)).admitted).toBe(40)
    expect((await burst(alone, 1)).admitted).toBe(1)
  })

  it('is reported by either node, with the time to wait', async () => {
    const dealer = await addDealer(nodes[0]!.deps)
    await changeSettings(nodes[0]!.deps, dealer.tenantId, { qpsLimit: 2 }, OPERATOR)
    await Promise.all([0, 1, 2].map(() => call(nodes[0]!, dealer, 'health')))
    await rest(dealer.tenantId, -0.9) // does not refill for most of a second
    const refused = await Promise.all(Array.from({ length: 20 }, (_, i) => call(nodes[i % 2]!, dealer, 'health')))
    for (const { code, headers } of refused.slice(2)) {
      expect(code).toBe('101007')
      expect(headers).toMatchObject({
        ...{ 'retry-after': '1', 'ratelimit-limit': '2' },
        ...{ 'ratelimit-remaining': '0', 'ratelimit-reset': '1' },
      })
    }
    await changeSettings(nodes[1]!.deps, dealer.tenantId, { qpsLimit: null }, OPERATOR)
    await rest(dealer.tenantId, 2)
    const free = await Promise.all(Array.from({ length: 20 }, (_, i) => call(nodes[i % 2]!, dealer, 'health')))
    expect(free.every((answer) => answer.code === '000000')).toBe(true)
  })
})

describe('a token bucket’s content', () => {
  it('stays between zero and one second’s worth, and does not grow when the clock is set back', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    console.log(`seed ${seed}`)
    const bucket = fc.record({
      tokens: fc.double({ min: 0, max: 200, noNaN: true }),
      sinceS: fc.integer({ min: -100, max: 100 }),
      limit: fc.integer({ min: 1, max: 100_000 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(bucket, { minLength: 1, maxLength: 50 }), async (buckets) => {
        const rows = await admission.db.query<{ tokens: number }>({
          text: `select qps_refilled(tokens, now() - since_s * interval '1 second', lim, now()) as tokens
                 from unnest($1::float8[], $2::int[], $3::int[]) with ordinality as b(tokens, since_s, lim, n) order by n`,
          values: [buckets.map((b) => b.tokens), buckets.map((b) => b.sinceS), buckets.map((b) => b.limit)],
        })
        for (const [i, { tokens, sinceS, limit }] of buckets.entries()) {
          expect(rows[i]!.tokens).toBeCloseTo(Math.min(limit, tokens + Math.max(0, sinceS) * limit), 3)
        }
      }),
      { seed, numRuns: 20 },
    )
  })
})
