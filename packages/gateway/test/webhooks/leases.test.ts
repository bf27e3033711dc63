import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createDb } from '../../src/lib/postgres/db.ts'
import { createMetrics } from '../../src/lib/telemetry/metrics.ts'
import { loggedAttempt } from '../../src/webhooks/attempt-log.ts'
import { type Claim, claimEvents, leaveLanes, type Wanted } from '../../src/webhooks/claim.ts'
import { findDueTenants } from '../../src/webhooks/due.ts'
import { ENDPOINT_FLIGHTS_MAX, LEASE_MS } from '../../src/webhooks/limits.ts'
import { webhooksLoop } from '../../src/webhooks/loop.ts'
import { resendEvent } from '../../src/webhooks/resend.ts'
import type { NextStep } from '../../src/webhooks/retry.ts'
import { settle } from '../../src/webhooks/settle.ts'
import { type ExplainedQuery, explainQueries } from '../harness/statements.ts'
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

const [NODE, OTHER_NODE] = ['019a0000-0000-7000-8000-00000000000a', '019a0000-0000-7000-8000-00000000000b']
const now = () => bed.deps.databaseClock.now()
/** As a node claims that has nothing in hand. */
async function claim({ tenantId }: TestTenant, wanted: Partial<Wanted> = {}, node = NODE): Promise<Claim> {
  const all = { tenantId, most: 10, behind: undefined, except: [], ...wanted }
  const [claimed] = await claimEvents(bed.deps, node, [all], now())
  return claimed!
}
const idsOf = ({ events }: Claim) => events.map((event) => event.notifyId)
const acknowledge = (claimed: Claim) => conclude(bed.deps, claimed, { step: 'ACKNOWLEDGED' })
const conclude = (deps: Parameters<typeof settle>[0], { tenantId, events, signer }: Claim, next: NextStep) =>
  settle(deps, NODE, {
    settlements: events.map((event) => {
      const attempt = {
        attemptId: bed.deps.ids.uuid(),
        startedAt: new Date(now()),
        durationMs: 1,
        outcome: {
          kind: 'answer' as const,
          status: next.step === 'ACKNOWLEDGED' ? 200 : 500,
          headers: {},
          body: Buffer.alloc(0),
          truncated: false,
          address: '::1',
        },
      }
      const logged = loggedAttempt(attempt, event, event.attempts + 1, receiver.url, signer!)
      const { notifyId, turn, attempts } = event
      return { tenantId, notifyId, turn, attempts, logged, next }
    }),
    changes: [],
    left: [],
  })

test('a dealer whose secret cannot be read keeps nobody else waiting', async () => {
  const [damaged, sound] = [await bed.tenant(), await bed.tenant()]
  for (const tenant of [damaged, sound]) await bed.record(tenant)
  await bed.deps.db.query({
    text: `update tenant_secrets set ciphertext = '\\x00' where tenant_id = $1`,
    values: [damaged.tenantId],
  })
  const wanted = [damaged, sound].map(({ tenantId }) => ({ tenantId, most: 1, behind: undefined, except: [] }))
  const [first, second] = await claimEvents(bed.deps, NODE, wanted, now())
  expect([first!.signer, second!.signer?.tenantId]).toEqual([undefined, sound.tenantId])
})

test('from a lane that one node holds another gets nothing until the lease has ended', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const recorded = await bed.record(tenant, 3)
  expect(idsOf(await claim(tenant, { most: 2 }))).toHaveLength(2)
  expect(await claim(tenant, {}, OTHER_NODE)).toMatchObject({ events: [], heldUntilMs: undefined })
  bed.advance(LEASE_MS / 2)
  await claim(tenant) // holds it longer
  bed.advance(LEASE_MS / 2)
  expect((await claim(tenant, {}, OTHER_NODE)).events).toEqual([])
  bed.advance(LEASE_MS / 2)
  expect(idsOf(await claim(tenant, {}, OTHER_NODE)).sort()).toEqual(recorded)
  expect((await claim(tenant)).events).toEqual([])
})

test('a pass tells whose lane another node holds', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant)
  await claim(tenant)
  const isElsewhere = async (node: string) =>
    (await findDueTenants(bed.deps, node, undefined, 500)).find(({ tenantId }) => tenantId === tenant.tenantId)
      ?.isElsewhere
  expect([await isElsewhere(NODE), await isElsewhere(OTHER_NODE)]).toEqual([false, true])
  bed.advance(LEASE_MS)
  expect(await isElsewhere(OTHER_NODE)).toBe(false)
})

test('a lane that is left is free at once, unless its node has claimed again meanwhile', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant)
  const leave = ({ tenantId, heldUntilMs }: Claim) =>
    bed.deps.db.tx(async (tx) => leaveLanes(tx, NODE, [{ tenantId, heldUntilMs: heldUntilMs! }]))
  const first = await claim(tenant)
  bed.advance(1)
  const second = await claim(tenant)
  await leave(first)
  expect((await claim(tenant, {}, OTHER_NODE)).events).toEqual([])
  await leave(second)
  expect((await claim(tenant, {}, OTHER_NODE)).events).toHaveLength(1)
})

test('a claim that waits for a lane until it is left does not find what was sent meanwhile', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant)
  const sent = await claim(tenant)
  let waiting: Promise<Claim> | undefined
  await bed.deps.db.tx(async (tx) => {
    await tx.query({ text: 'delete from deliveries where tenant_id = $1', values: [tenant.tenantId] })
    leaveLanes(tx, NODE, [{ tenantId: tenant.tenantId, heldUntilMs: sent.heldUntilMs! }])
    waiting = claim(tenant, {}, OTHER_NODE)
    const blocked = async () => {
      const text = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%webhook_lanes%'
                    and datname = current_database()`
      return (await bed.deps.db.query({ text })).length
    }
    await expect.poll(blocked, { timeout: 5_000 }).toBe(1)
  })
  expect(await waiting).toMatchObject({ events: [], heldUntilMs: expect.any(Number) })
})

test('a claim goes on behind the last one, however many came due in one moment', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const recorded = await bed.record(tenant, 25)
  await bed.deps.db.query({
    text: 'update deliveries set due_at = now() where tenant_id = $1',
    values: [tenant.tenantId],
  })
  const claimed: string[] = []
  for (let behind: Claim['last']; ; ) {
    const next = await claim(tenant, { behind })
    if (next.events.length === 0) break
    claimed.push(...idsOf(next))
    behind = next.last
  }
  expect(claimed).toEqual(recorded)
  const except = recorded.slice(0, 20)
  expect(idsOf(await claim(tenant, { except }))).toEqual(recorded.slice(20))
})

test('of two attempts at one event, because its lane was taken, the first failure counts, and any success', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant)
  const retry = (dueMs: number) => ({ step: 'RETRY', dueMs, gone: false }) as const
  const late = await claim(tenant)
  bed.advance(LEASE_MS + 1)
  const current = await claim(tenant, {}, OTHER_NODE)
  await conclude(bed.deps, current, retry(1_000))
  await conclude(bed.deps, late, retry(2_000))
  expect(await bed.states(tenant)).toMatchObject([{ deliveryState: 'PENDING', attempts: 1, dueAt: new Date(1_000) }])
  await acknowledge(late)
  expect(await bed.states(tenant)).toMatchObject([{ deliveryState: 'DELIVERED' }])
  expect(await bed.attempts(tenant)).toHaveLength(3) // all were made, so all are in the log
})

test.for<NextStep>([
  { step: 'ACKNOWLEDGED' },
  { step: 'RETRY', dueMs: Date.now() + 60_000, gone: false },
  { step: 'DEAD', gone: false },
])('an event that is resent while it is under way is sent again, though that attempt ends in $step', async (next) => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const [notifyId] = await bed.record(tenant)
  const underWay = await claim(tenant)
  await resendEvent(bed.deps, tenant.tenantId, notifyId!, { actor: 'cli:test' })
  await conclude(bed.deps, underWay, next)
  expect(await bed.states(tenant)).toMatchObject([{ deliveryState: 'PENDING', attempts: 0 }])
  await acknowledge(await claim(tenant))
  expect(await bed.states(tenant)).toMatchObject([{ deliveryState: 'DELIVERED' }])
})

test.for<NextStep>([{ step: 'ACKNOWLEDGED' }, { step: 'RETRY', dueMs: Date.now(), gone: false }])(
  'to write $step takes no look at the other events of the tenant, before any statistics either',
  async (next, { skip }) => {
    const [server] = await bed.deps.db.query<{ version: number }>({
      text: `select current_setting('server_version_num')::int as version`,
    })
    skip(server!.version < 170_000, 'older servers look for each id of an array by itself, and find that too dear')
    const tenant = await bed.tenant({ callbackUrl: receiver.url })
    const seen: ExplainedQuery[] = []
    const deps = { ...bed.deps, db: explainQueries(bed.deps.db, seen) }
    await bed.record(tenant, 200)
    await conclude(deps, await claim(tenant, { most: 100 }), next)
    await bed.record(tenant, 2_000)
    await conclude(deps, await claim(tenant, { most: 100 }), next)
    const [alone, beside] = seen.filter(({ statement }) => statement.startsWith('webhooks-settle'))
    expect(beside!.discarded).toBeLessThanOrEqual(alone!.discarded)
  },
)

test('a claim takes no look at what the tenant has received, before any statistics either', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const seen: ExplainedQuery[] = []
  const deps = { ...bed.deps, db: explainQueries(bed.deps.db, seen) }
  const claimTen = async (behind: Claim['last']) => {
    await bed.record(tenant, 10)
    const wanted = { tenantId: tenant.tenantId, most: 10, behind, except: [] }
    const [claimed] = await claimEvents(deps, NODE, [wanted], now())
    await acknowledge(claimed!)
    return claimed!.last
  }
  for (const received of [10, 2_000]) {
    await bed.record(tenant, received)
    await acknowledge(await claim(tenant, { most: received }))
    await claimTen(await claimTen(undefined))
  }
  const [alone, , beside, goingOn] = seen.filter(({ statement }) => statement === 'webhooks-claim')
  expect(beside!.discarded).toBeLessThanOrEqual(alone!.discarded)
  // The first of several claims goes past what was acknowledged and not vacuumed since, dozens a page; the next do not.
  expect(beside!.pages).toBeLessThan(alone!.pages + 2_000 / 20)
  expect(goingOn!.pages).toBeLessThan(2 * alone!.pages)
})

test('a pass reads one row a tenant, also where its plan was made while nothing was to be delivered', async () => {
  const db = createDb({ url: bed.url, poolSize: 1, applicationName: 'one session' })
  onTestFinished(() => db.close())
  const pass = () => findDueTenants({ ...bed.deps, db }, NODE, undefined, 100)
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

test('a node leaves the lane of a tenant with the result of the last that it had in hand', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const node = bed.startLoop()
  await bed.record(tenant, 20)
  const isOwed = async () => (await bed.states(tenant)).some(({ deliveryState }) => deliveryState !== 'DELIVERED')
  await expect.poll(isOwed, { timeout: 10_000 }).toBe(false)
  await expect.poll(async () => (await claim(tenant)).heldUntilMs, { timeout: 10_000 }).toBeDefined()
  await node.stop(1_000)
})

test('what waits for an endpoint that is gone is left to the node that holds the lane, until its lease ends', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant, 3)
  await claim(tenant)
  const text = 'update webhook_endpoints set enabled = false where tenant_id = $1'
  await bed.deps.db.query({ text, values: [tenant.tenantId] })
  const statesOf = async (one: TestTenant) => (await bed.states(one)).map(({ deliveryState }) => deliveryState)
  const node = bed.startLoop()
  // The node has gone through a whole pass since: the second of two events, one after the other, was sent.
  const witness = await bed.tenant({ callbackUrl: receiver.url })
  for (const sent of [['DELIVERED'], ['DELIVERED', 'DELIVERED']]) {
    await bed.record(witness)
    await expect.poll(() => statesOf(witness), { timeout: 10_000 }).toEqual(sent)
  }
  expect(await statesOf(tenant)).toEqual(['PENDING', 'PENDING', 'PENDING'])
  bed.advance(LEASE_MS)
  await expect.poll(() => statesOf(tenant), { timeout: 10_000 }).toEqual(['UNSENT', 'UNSENT', 'UNSENT'])
  await node.stop(1_000)
})

test('two nodes send each event once between them', async () => {
  const tenants = await Promise.all(Array.from({ length: 5 }, () => bed.tenant({ callbackUrl: receiver.url })))
  const recorded = (await Promise.all(tenants.map((tenant) => bed.record(tenant, 100)))).flat()
  const nodes = [bed.startLoop(), bed.startLoop()]
  await vi.waitFor(async () => {
    const states = (await Promise.all(tenants.map((tenant) => bed.states(tenant)))).flat()
    expect(states.every((event) => event.deliveryState === 'DELIVERED')).toBe(true)
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
  const delivered = states.filter((event) => event.deliveryState === 'DELIVERED')
  const received = receiver.received.filter((one) => one.headers['rt-accesscode'] === tenant.appKey)
  expect(delivered).toHaveLength(received.length)
  const left = states.length - delivered.length
  expect(left).toBeGreaterThan(0)
  expect((await claim(tenant, { most: 500 })).events).toHaveLength(left)
})

test('what waited until the lease was late is begun under another', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  let aheadMs = 0
  const begun: { notifyId: string; claims: number }[] = []
  let claims = 0
  const db: typeof bed.deps.db = {
    ...bed.deps.db,
    tx: (work) =>
      bed.deps.db.tx((tx) =>
        work({
          ...tx,
          query(statement) {
            if (statement.name === 'webhooks-claim' && statement.values?.[0] === tenant.tenantId) claims++
            return tx.query(statement)
          },
        } as typeof tx),
      ),
  }
  const clock = { ...bed.deps.clock, monotonic: () => bed.deps.clock.monotonic() + aheadMs }
  const node = webhooksLoop({ ...bed.deps, db, clock, metrics: createMetrics() })
  const isDelivered = async () => (await bed.states(tenant)).every(({ deliveryState }) => deliveryState === 'DELIVERED')
  try {
    await bed.record(tenant, 100) // an endpoint that answers has events claimed ahead
    await expect.poll(isDelivered, { timeout: 10_000 }).toBe(true)
    const answers: (() => void)[] = []
    receiver.script = (_, response, { headers, notifyId }) => {
      if (headers['rt-accesscode'] !== tenant.appKey) return void response.end()
      begun.push({ notifyId, claims })
      answers.push(() => response.end())
    }
    await bed.record(tenant, 100)
    await expect.poll(() => answers.length).toBe(ENDPOINT_FLIGHTS_MAX)
    const [before] = [claims]
    aheadMs = LEASE_MS
    for (const answer of answers.splice(0)) answer()
    await expect.poll(() => answers.length, { timeout: 10_000 }).toBe(100 - ENDPOINT_FLIGHTS_MAX)
    for (const answer of answers) answer()
    await expect.poll(isDelivered, { timeout: 10_000 }).toBe(true)
    expect(begun.slice(ENDPOINT_FLIGHTS_MAX).every(({ claims: at }) => at > before!)).toBe(true)
    expect(new Set(begun.map(({ notifyId }) => notifyId)).size).toBe(100)
  } finally {
    await node.stop(1_000)
  }
})

test('what becomes of the events of one tenant does not hold up the claim of any', async () => {
  const [busy, quiet] = [
    await bed.tenant({ callbackUrl: receiver.url }),
    await bed.tenant({ callbackUrl: receiver.url }),
  ]
  await bed.record(busy, 50)
  await bed.record(quiet, 1)
  // A transaction that locks events of the busy tenant, as a result does.
  await bed.deps.db.tx(async (tx) => {
    await tx.query({ text: 'select from deliveries where tenant_id = $1 for update', values: [busy.tenantId] })
    expect((await claim(quiet)).events).toHaveLength(1)
    expect((await claim(busy)).events).toHaveLength(10)
  })
})
