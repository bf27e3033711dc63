import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { connect } from '../../src/lib/db.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { type Claim, claimEvents, releaseEvents } from '../../src/webhooks/claim.ts'
import { DELIVERY_OF_EVENT, STATE_OF_EVENT } from '../../src/webhooks/delivery-state.ts'
import { findDueTenants } from '../../src/webhooks/due.ts'
import { ENDPOINT_FLIGHTS_MAX, LEASE_MS } from '../../src/webhooks/limits.ts'
import { webhooksLoop } from '../../src/webhooks/loop.ts'
import type { NextStep } from '../../src/webhooks/retry.ts'
import { settle } from '../../src/webhooks/settle.ts'
import { type Explained, explained } from '../harness/explained.ts'
import { type Bed, openBed, type TestTenant } from './bed.ts'
import { type Receiver, startReceiver } from './receiver.ts'

let bed: Bed
let receiver: Receiver
beforeAll(async () => {
  bed = await openBed()
  receiver = await startReceiver()
})
afterAll(async () => {
  await bed.close()
  await receiver.close()
})
afterEach(() => {
  receiver.received = []
  receiver.script = 200
})

const now = () => bed.deps.databaseClock.now()
async function claim({ tenantId }: TestTenant, most = 10): Promise<Claim> {
  const [claimed] = await claimEvents(bed.deps, [{ tenantId, most }], now())
  return claimed!
}
const acknowledge = (claimed: Claim) => conclude(bed.deps, claimed, { step: 'ACKNOWLEDGED' })
const conclude = (deps: Parameters<typeof settle>[0], { tenantId, events, signer }: Claim, next: NextStep) =>
  settle(
    deps,
    events.map((event) => ({
      kind: 'ATTEMPTED' as const,
      tenantId,
      event,
      url: receiver.url,
      signer: signer!,
      attempt: {
        attemptId: bed.deps.ids.uuid(),
        startedAt: new Date(now()),
        duration_ms: 1,
        outcome: { kind: 'answer', status: 200, headers: {}, body: Buffer.alloc(0), truncated: false, address: '::1' },
      },
      next,
      endedAt_ms: now(),
    })),
    [],
  )

test('a dealer whose secret cannot be read keeps nobody else waiting', async () => {
  const [damaged, sound] = [await bed.tenant(), await bed.tenant()]
  for (const tenant of [damaged, sound]) await bed.record(tenant)
  await bed.deps.db.query({
    text: `update tenant_secrets set ciphertext = '\\x00' where tenant_id = $1`,
    values: [damaged.tenantId],
  })
  const wanted = [damaged, sound].map(({ tenantId }) => ({ tenantId, most: 1 }))
  const [first, second] = await claimEvents(bed.deps, wanted, now())
  expect([first!.signer, second!.signer?.tenantId]).toEqual([undefined, sound.tenantId])
})

test('what one node has claimed is not claimed by another until its lease has ended', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant, 3)
  const first = await claim(tenant, 2)
  const second = await claim(tenant, 2)
  expect([first.events.length, second.events.length]).toEqual([2, 1])
  expect((await claim(tenant)).events).toEqual([])
  bed.advance(LEASE_MS + 1)
  expect((await claim(tenant)).events).toHaveLength(3)
})

test('a result that comes after its lease has gone to another node changes nothing', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant)
  const late = await claim(tenant)
  bed.advance(LEASE_MS + 1)
  const current = await claim(tenant)
  await acknowledge(late)
  expect(await bed.states(tenant)).toMatchObject([{ delivery_state: 'PENDING', attempts: 0 }])
  await acknowledge(current)
  expect(await bed.states(tenant)).toMatchObject([{ delivery_state: 'DELIVERED', attempts: 1 }])
  expect(await bed.attempts(tenant)).toHaveLength(2) // both were made, so both are in the log
})

test('a claimed delivery stays on its page, so that no index has to follow it', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant, 200)
  const pages = () =>
    bed.deps.db.query<{ notify_id: string; page: string }>({
      text: `select notify_id, split_part(ctid::text, ',', 1) as page from deliveries where tenant_id = $1 order by notify_id`,
      values: [tenant.tenantId],
    })
  const recorded = await pages()
  expect((await claim(tenant, 200)).events).toHaveLength(200)
  expect(await pages()).toEqual(recorded)
})

test.for<NextStep>([{ step: 'ACKNOWLEDGED' }, { step: 'RETRY', due_ms: Date.now(), gone: false }])(
  'to write $step takes no look at the other events of the tenant, before any statistics either',
  async (next, { skip }) => {
    const [server] = await bed.deps.db.query<{ version: number }>({
      text: `select current_setting('server_version_num')::int as version`,
    })
    skip(server!.version < 170_000, 'older servers look for each id of an array by itself, and find that too dear')
    const tenant = await bed.tenant({ callbackUrl: receiver.url })
    const seen: Explained[] = []
    const deps = { ...bed.deps, db: explained(bed.deps.db, seen) }
    await bed.record(tenant, 200)
    await conclude(deps, await claim(tenant, 100), next)
    await bed.record(tenant, 2_000)
    await conclude(deps, await claim(tenant, 100), next)
    const [alone, beside] = seen.filter(({ statement }) => statement.startsWith('webhooks-settle'))
    expect(beside!.discarded).toBeLessThanOrEqual(alone!.discarded)
  },
)

test('a claim takes no look at what the tenant has received, before any statistics either', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const seen: Explained[] = []
  const deps = { ...bed.deps, db: explained(bed.deps.db, seen) }
  for (const received of [10, 2_000]) {
    await bed.record(tenant, received)
    await acknowledge(await claim(tenant, received))
    await bed.record(tenant, 10)
    const [claimed] = await claimEvents(deps, [{ tenantId: tenant.tenantId, most: 10 }], now())
    await acknowledge(claimed!)
  }
  const [alone, beside] = seen.filter(({ statement }) => statement === 'webhooks-claim')
  expect(beside!.discarded).toBeLessThanOrEqual(alone!.discarded)
  expect(beside!.pages).toBeLessThan(2 * alone!.pages)
})

test('a pass reads one row a tenant, also where its plan was made while nothing was to be delivered', async () => {
  const db = connect({ url: bed.url, poolSize: 1, applicationName: 'one session' })
  onTestFinished(() => db.close())
  const pass = () => findDueTenants({ ...bed.deps, db }, undefined, 100)
  const rowsScanned = async () => {
    await db.query({ text: 'select pg_stat_force_next_flush()' })
    const [scanned] = await db.query<{ rows: number }>({
      text: `select sum(seq_tup_read)::int as rows from pg_stat_user_tables where relname like 'deliveries%'`,
    })
    return scanned!.rows
  }
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await db.query({ text: 'delete from deliveries' })
  await db.query({ text: 'vacuum analyze deliveries' })
  for (let times = 0; times < 7; times++) await pass() // after five the server keeps a plan
  await bed.record(tenant, 2_000)
  const before = await rowsScanned()
  expect(await pass()).toHaveLength(1)
  expect((await rowsScanned()) - before).toBe(0)
})

test('what is given back is free at once', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant, 2)
  await releaseEvents(bed.deps.db, (await claim(tenant)).events)
  expect((await claim(tenant)).events).toHaveLength(2)
})

test('two nodes send each event once between them', async () => {
  const tenants = await Promise.all(Array.from({ length: 5 }, () => bed.tenant({ callbackUrl: receiver.url })))
  const recorded = (await Promise.all(tenants.map((tenant) => bed.record(tenant, 100)))).flat()
  const nodes = [bed.startLoop(), bed.startLoop()]
  await vi.waitFor(async () => {
    const states = (await Promise.all(tenants.map((tenant) => bed.states(tenant)))).flat()
    expect(states.every((event) => event.delivery_state === 'DELIVERED')).toBe(true)
  }, 20_000)
  await Promise.all(nodes.map((node) => node.stop(1_000)))
  const appKeys = new Set(tenants.map((tenant) => tenant.appKey))
  const received = receiver.received.filter((one) => appKeys.has(String(one.headers['rt-accesscode'])))
  expect(received.map((one) => one.notifyId).sort()).toEqual(recorded.sort())
})

test('a node that stops finishes what is under way and gives back the rest', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  receiver.script = (_, response) => void delay(50).then(() => response.end())
  await bed.record(tenant, 200)
  const node = bed.startLoop()
  await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(0), { timeout: 5_000, interval: 1 })
  await node.stop(5_000)
  const states = await bed.states(tenant)
  const delivered = states.filter((event) => event.delivery_state === 'DELIVERED')
  const received = receiver.received.filter((one) => one.headers['rt-accesscode'] === tenant.appKey)
  expect(delivered).toHaveLength(received.length)
  const left = states.length - delivered.length
  expect(left).toBeGreaterThan(0)
  expect((await claim(tenant, 500)).events).toHaveLength(left)
})

test('what waited until its lease was late is given back together, and sent under another', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  let ahead_ms = 0
  let givenBack = 0
  const db: typeof bed.deps.db = {
    ...bed.deps.db,
    tx: (work) =>
      bed.deps.db.tx((tx) =>
        work({
          query: (statement) => tx.query(statement),
          send(statement) {
            const isRelease = /^update deliveries set lease_token = null/.test(statement.text)
            if (isRelease && statement.values?.[0] === tenant.tenantId) givenBack++
            tx.send(statement)
          },
        } as typeof tx),
      ),
  }
  const clock = { ...bed.deps.clock, monotonic: () => bed.deps.clock.monotonic() + ahead_ms }
  const node = webhooksLoop({ ...bed.deps, db, clock, metrics: createMetrics() })
  const inState = async (where: string) => {
    const text = `select count(*)::int as count from events e ${DELIVERY_OF_EVENT} where e.tenant_id = $1 and ${where}`
    return (await bed.deps.db.query<{ count: number }>({ text, values: [tenant.tenantId] }))[0]!.count
  }
  try {
    await bed.record(tenant, 100) // an endpoint that answers has events claimed ahead
    await expect.poll(() => inState(`${STATE_OF_EVENT} = 'DELIVERED'`), { timeout: 10_000 }).toBe(100)
    const answers: (() => void)[] = []
    receiver.script = (_, response, { headers }) => {
      if (headers['rt-accesscode'] === tenant.appKey) answers.push(() => response.end())
      else response.end()
    }
    await bed.record(tenant, 100)
    await expect.poll(() => inState(`delivery_state = 'PENDING' and lease_until > now()`)).toBe(100)
    await expect.poll(() => answers.length).toBe(ENDPOINT_FLIGHTS_MAX)
    ahead_ms = LEASE_MS
    receiver.script = 200
    for (const answer of answers) answer()
    await expect.poll(() => inState(`${STATE_OF_EVENT} = 'DELIVERED'`), { timeout: 10_000 }).toBe(200)
    expect(givenBack).toBe(1)
  } finally {
    await node.stop(1_000)
  }
})

test('a burst of events of one tenant does not hold up the claim of another', async () => {
  const [busy, quiet] = [
    await bed.tenant({ callbackUrl: receiver.url }),
    await bed.tenant({ callbackUrl: receiver.url }),
  ]
  await bed.record(busy, 50)
  await bed.record(quiet, 1)
  // A transaction that locks events of the busy tenant, as a claim or a result does.
  await bed.deps.db.tx(async (tx) => {
    await tx.query({ text: 'select from deliveries where tenant_id = $1 for update', values: [busy.tenantId] })
    expect((await claim(quiet)).events).toHaveLength(1)
    expect((await claim(busy)).events).toEqual([])
  })
})
