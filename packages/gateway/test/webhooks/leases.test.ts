import { setTimeout as delay } from 'node:timers/promises'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { loggedAttempt } from '#webhooks/attempt-log.ts'
import { resendEvent } from '#webhooks/replay/resend-event.ts'
import { type Claim, type ClaimRequest, claimEvents, releaseQueues } from '#webhooks/sending/claim-deliveries.ts'
import type { NextStep } from '#webhooks/sending/delivery-attempt.ts'
import { listDueTenants } from '#webhooks/sending/due-tenants.ts'
import { saveResults } from '#webhooks/sending/save-results.ts'
import { webhooksLoop } from '#webhooks/sending/sender.ts'
import { ENDPOINT_IN_FLIGHT_MAX, LEASE_MS } from '#webhooks/webhook-limits.ts'
import { type ExplainedQuery, explainQueries } from '../harness/databases/statements.ts'
import { vacuum } from '../harness/databases/tables.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

let testbed: Testbed
let receiver: Receiver
beforeAll(async () => {
  testbed = await createTestbed()
  receiver = await startReceiver()
})
afterAll(async () => {
  await testbed.close()
  await receiver.close()
})
afterEach(() => {
  receiver.received = []
  receiver.script = 200
})

const [NODE, OTHER_NODE] = ['019a0000-0000-7000-8000-00000000000a', '019a0000-0000-7000-8000-00000000000b']
const now = () => testbed.deps.databaseClock.now()
/** Claims like a node that has not claimed anything yet. */
async function claim({ tenantId }: TestTenant, wanted: Partial<ClaimRequest> = {}, node = NODE): Promise<Claim> {
  const all = { tenantId, limit: 10, after: undefined, excludedIds: [], ...wanted }
  const [claimed] = await claimEvents(testbed.deps, node, [all], now())
  return claimed!
}
const idsOf = ({ events }: Claim) => events.map((event) => event.notifyId)
const acknowledge = (claimed: Claim) => saveOutcome(testbed.deps, claimed, { step: 'ACKNOWLEDGED' })
const saveOutcome = (deps: Parameters<typeof saveResults>[0], { tenantId, events, signer }: Claim, next: NextStep) =>
  saveResults(
    deps,
    NODE,
    events.map((event) => {
      const attempt = {
        attemptId: testbed.deps.ids.uuid(),
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
      const { notifyId, generation, attempts } = event
      return { tenantId, notifyId, generation, attempts, logged, next }
    }),
    [],
  )

test('a tenant whose secret cannot be decrypted does not delay other tenants', async () => {
  const [damaged, sound] = [await testbed.tenant(), await testbed.tenant()]
  for (const tenant of [damaged, sound]) await testbed.record(tenant)
  await testbed.deps.db.query({
    text: `update tenant_secrets set ciphertext = '\\x00' where tenant_id = $1`,
    values: [damaged.tenantId],
  })
  const wanted = [damaged, sound].map(({ tenantId }) => ({ tenantId, limit: 1, after: undefined, excludedIds: [] }))
  const [first, second] = await claimEvents(testbed.deps, NODE, wanted, now())
  expect([first!.signer, second!.signer?.tenantId]).toEqual([undefined, sound.tenantId])
})

test('a node claims from an endpoint queue held by another node only after the lease has ended', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const recorded = await testbed.record(tenant, 3)
  expect(idsOf(await claim(tenant, { limit: 2 }))).toHaveLength(2)
  expect(await claim(tenant, {}, OTHER_NODE)).toMatchObject({ events: [], heldUntilMs: undefined })
  testbed.advance(LEASE_MS / 2)
  await claim(tenant) // extends the lease
  testbed.advance(LEASE_MS / 2)
  expect((await claim(tenant, {}, OTHER_NODE)).events).toEqual([])
  testbed.advance(LEASE_MS / 2)
  expect(idsOf(await claim(tenant, {}, OTHER_NODE)).sort()).toEqual(recorded)
  expect((await claim(tenant)).events).toEqual([])
})

test('a pass reports the endpoint queues that other nodes hold', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(tenant)
  await claim(tenant)
  const isElsewhere = async (node: string) =>
    (await listDueTenants(testbed.deps, node, undefined, 500)).find(({ tenantId }) => tenantId === tenant.tenantId)
      ?.isHeldElsewhere
  expect([await isElsewhere(NODE), await isElsewhere(OTHER_NODE)]).toEqual([false, true])
  testbed.advance(LEASE_MS)
  expect(await isElsewhere(OTHER_NODE)).toBe(false)
})

test('a released endpoint queue is free immediately, unless its node has claimed the queue again', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(tenant)
  const leave = ({ tenantId, heldUntilMs }: Claim) =>
    testbed.deps.db.tx(async (tx) => releaseQueues(tx, NODE, [{ tenantId, heldUntilMs: heldUntilMs! }]))
  const first = await claim(tenant)
  testbed.advance(1)
  const second = await claim(tenant)
  await leave(first)
  expect((await claim(tenant, {}, OTHER_NODE)).events).toEqual([])
  await leave(second)
  expect((await claim(tenant, {}, OTHER_NODE)).events).toHaveLength(1)
})

test('a claim that waits for an endpoint queue to be released skips events sent in the meantime', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(tenant)
  const sent = await claim(tenant)
  let waiting: Promise<Claim> | undefined
  await testbed.deps.db.tx(async (tx) => {
    await tx.query({ text: 'delete from deliveries where tenant_id = $1', values: [tenant.tenantId] })
    releaseQueues(tx, NODE, [{ tenantId: tenant.tenantId, heldUntilMs: sent.heldUntilMs! }])
    waiting = claim(tenant, {}, OTHER_NODE)
    const blocked = async () => {
      const text = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%endpoint_queues%'
                    and datname = current_database()`
      return (await testbed.deps.db.query({ text })).length
    }
    await expect.poll(blocked).toBe(1)
  })
  expect(await waiting).toMatchObject({ events: [], heldUntilMs: expect.any(Number) })
})

test('a claim continues where the previous one ended, even among events due at the same moment', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const recorded = await testbed.record(tenant, 25)
  await testbed.deps.db.query({
    text: 'update deliveries set due_at = now() where tenant_id = $1',
    values: [tenant.tenantId],
  })
  const claimed: string[] = []
  for (let after: Claim['last']; ; ) {
    const next = await claim(tenant, { after })
    if (next.events.length === 0) break
    claimed.push(...idsOf(next))
    after = next.last
  }
  expect(claimed).toEqual(recorded)
  const excludedIds = recorded.slice(0, 20)
  expect(idsOf(await claim(tenant, { excludedIds }))).toEqual(recorded.slice(20))
})

test('when two nodes attempt an event after an expired lease, the first failure counts, as does any success', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(tenant)
  const retry = (dueMs: number) => ({ step: 'RETRY', dueMs, gone: false }) as const
  const late = await claim(tenant)
  testbed.advance(LEASE_MS + 1)
  const current = await claim(tenant, {}, OTHER_NODE)
  await saveOutcome(testbed.deps, current, retry(1_000))
  await saveOutcome(testbed.deps, late, retry(2_000))
  expect(await testbed.states(tenant)).toMatchObject([
    { deliveryState: 'PENDING', attempts: 1, dueAt: new Date(1_000) },
  ])
  await acknowledge(late)
  expect(await testbed.states(tenant)).toMatchObject([{ deliveryState: 'DELIVERED' }])
  expect(await testbed.attempts(tenant)).toHaveLength(3) // all attempts were made, so all are in the log
})

test.for<NextStep>([
  { step: 'ACKNOWLEDGED' },
  { step: 'RETRY', dueMs: Date.now() + 60_000, gone: false },
  { step: 'DEAD', gone: false },
])('an event resent during an attempt is sent again, even though that attempt ends in $step', async (next) => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const [notifyId] = await testbed.record(tenant)
  const underWay = await claim(tenant)
  await resendEvent(testbed.deps, tenant.tenantId, notifyId!, { actor: 'cli:test' })
  await saveOutcome(testbed.deps, underWay, next)
  expect(await testbed.states(tenant)).toMatchObject([{ deliveryState: 'PENDING', attempts: 0 }])
  await acknowledge(await claim(tenant))
  expect(await testbed.states(tenant)).toMatchObject([{ deliveryState: 'DELIVERED' }])
})

test.for<NextStep>([{ step: 'ACKNOWLEDGED' }, { step: 'RETRY', dueMs: Date.now(), gone: false }])(
  'saving $step does not read the tenant’s other deliveries, even without statistics',
  async (next, { skip }) => {
    const [server] = await testbed.deps.db.query<{ version: number }>({
      text: `select current_setting('server_version_num')::int as version`,
    })
    skip(
      server!.version < 170_000,
      'older servers look up each id of an array separately, which the planner considers too expensive',
    )
    const tenant = await testbed.tenant({ callbackUrl: receiver.url })
    const seen: ExplainedQuery[] = []
    const deps = { ...testbed.deps, db: explainQueries(testbed.deps.db, seen) }
    await testbed.record(tenant, 200)
    await saveOutcome(deps, await claim(tenant, { limit: 100 }), next)
    await testbed.record(tenant, 2_000)
    await saveOutcome(deps, await claim(tenant, { limit: 100 }), next)
    const [alone, withOthers] = seen.filter(({ statement }) => /^webhooks-(acknowledge|save)$/.test(statement))
    expect(withOthers!.discarded).toBeLessThanOrEqual(alone!.discarded)
  },
)

test('a claim does not read the tenant’s delivered events, even without statistics', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const seen: ExplainedQuery[] = []
  const deps = { ...testbed.deps, db: explainQueries(testbed.deps.db, seen) }
  const claimTen = async (behind: Claim['last']) => {
    await testbed.record(tenant, 10)
    const wanted = { tenantId: tenant.tenantId, limit: 10, after: behind, excludedIds: [] }
    const [claimed] = await claimEvents(deps, NODE, [wanted], now())
    await acknowledge(claimed!)
    return claimed!.last
  }
  for (const received of [10, 2_000]) {
    await testbed.record(tenant, received)
    await acknowledge(await claim(tenant, { limit: received }))
    await claimTen(await claimTen(undefined))
  }
  const [alone, , withOthers, goingOn] = seen.filter(({ statement }) => statement === 'webhooks-claim')
  expect(withOthers!.discarded).toBeLessThanOrEqual(alone!.discarded)
  // The first of several claims reads past acknowledged rows that are not vacuumed yet, dozens per page; later claims do
  // not.
  expect(withOthers!.pages).toBeLessThan(alone!.pages + 2_000 / 20)
  expect(goingOn!.pages).toBeLessThan(2 * alone!.pages)
})

test('a pass reads one row per tenant, even with a plan made on an empty table', async () => {
  const db = createDb({ url: testbed.url, poolSize: 1, applicationName: 'one session' })
  onTestFinished(() => db.close())
  const pass = () => listDueTenants({ ...testbed.deps, db }, NODE, undefined, 100)
  const rowsScanned = async () => {
    await db.query({ text: 'select pg_stat_force_next_flush()' })
    const [scanned] = await db.query<{ rows: number }>({
      text: `select sum(seq_tup_read)::int as rows from pg_stat_user_tables where relname like 'deliveries%'`,
    })
    return scanned!.rows
  }
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await db.query({ text: 'delete from deliveries' })
  await vacuum(db, 'deliveries')
  for (let times = 0; times < 7; times++) await pass() // after five executions the server keeps a plan
  await testbed.record(tenant, 2_000)
  const before = await rowsScanned()
  expect(await pass()).toHaveLength(1)
  expect((await rowsScanned()) - before).toBe(0)
})

test('a node releases an endpoint queue with the result of its last claimed event', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const node = testbed.startLoop()
  await testbed.record(tenant, 20)
  const isOwed = async () => (await testbed.states(tenant)).some(({ deliveryState }) => deliveryState !== 'DELIVERED')
  await expect.poll(isOwed).toBe(false)
  await expect.poll(async () => (await claim(tenant)).heldUntilMs).toBeDefined()
  await node.stop(1_000)
})

test('events of a disabled endpoint are left to the node that holds the queue, until its lease ends', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(tenant, 3)
  await claim(tenant)
  const text = 'update webhook_endpoints set enabled = false where tenant_id = $1'
  await testbed.deps.db.query({ text, values: [tenant.tenantId] })
  const statesOf = async (one: TestTenant) => (await testbed.states(one)).map(({ deliveryState }) => deliveryState)
  const node = testbed.startLoop()
  // The node has since completed a pass: the second of two consecutive events was sent.
  const witness = await testbed.tenant({ callbackUrl: receiver.url })
  for (const sent of [['DELIVERED'], ['DELIVERED', 'DELIVERED']]) {
    await testbed.record(witness)
    await expect.poll(() => statesOf(witness)).toEqual(sent)
  }
  expect(await statesOf(tenant)).toEqual(['PENDING', 'PENDING', 'PENDING'])
  testbed.advance(LEASE_MS)
  await expect.poll(() => statesOf(tenant)).toEqual(['UNSENT', 'UNSENT', 'UNSENT'])
  await node.stop(1_000)
})

test('two nodes send each event exactly once between them', async () => {
  const tenants = await Promise.all(Array.from({ length: 5 }, () => testbed.tenant({ callbackUrl: receiver.url })))
  const recorded = (await Promise.all(tenants.map((tenant) => testbed.record(tenant, 100)))).flat()
  const nodes = [testbed.startLoop(), testbed.startLoop()]
  await vi.waitFor(async () => {
    const states = (await Promise.all(tenants.map((tenant) => testbed.states(tenant)))).flat()
    expect(states.every((event) => event.deliveryState === 'DELIVERED')).toBe(true)
  }, 20_000)
  await Promise.all(nodes.map((node) => node.stop(1_000)))
  const appKeys = new Set(tenants.map((tenant) => tenant.appKey))
  const received = receiver.received.filter((one) => appKeys.has(String(one.headers['rt-accesscode'])))
  expect(received.map((one) => one.notifyId).sort()).toEqual(recorded.sort())
})

test('a stopping node finishes its requests in flight and releases the other events', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  receiver.script = (_, response) => void delay(50).then(() => response.end())
  await testbed.record(tenant, 200)
  const node = testbed.startLoop()
  await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(0), { timeout: 20_000, interval: 1 })
  await node.stop(5_000)
  const states = await testbed.states(tenant)
  const delivered = states.filter((event) => event.deliveryState === 'DELIVERED')
  const received = receiver.received.filter((one) => one.headers['rt-accesscode'] === tenant.appKey)
  expect(delivered).toHaveLength(received.length)
  const left = states.length - delivered.length
  expect(left).toBeGreaterThan(0)
  expect((await claim(tenant, { limit: 500 })).events).toHaveLength(left)
})

test('an event whose lease is nearly over is claimed again before it is sent', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  let aheadMs = 0
  const begun: { notifyId: string; claims: number }[] = []
  let claims = 0
  const db: typeof testbed.deps.db = {
    ...testbed.deps.db,
    tx: (work) =>
      testbed.deps.db.tx((tx) =>
        work({
          ...tx,
          query(statement) {
            if (statement.name === 'webhooks-claim' && statement.values?.[0] === tenant.tenantId) claims++
            return tx.query(statement)
          },
        } as typeof tx),
      ),
  }
  const clock = { ...testbed.deps.clock, monotonic: () => testbed.deps.clock.monotonic() + aheadMs }
  const node = webhooksLoop({ ...testbed.deps, db, clock, metrics: createMetrics() })
  const isDelivered = async () =>
    (await testbed.states(tenant)).every(({ deliveryState }) => deliveryState === 'DELIVERED')
  try {
    await testbed.record(tenant, 100) // events are claimed ahead for an endpoint that responds
    await expect.poll(isDelivered).toBe(true)
    const answers: (() => void)[] = []
    receiver.script = (_, response, { headers, notifyId }) => {
      if (headers['rt-accesscode'] !== tenant.appKey) return void response.end()
      begun.push({ notifyId, claims })
      answers.push(() => response.end())
    }
    await testbed.record(tenant, 100)
    await expect.poll(() => answers.length).toBe(ENDPOINT_IN_FLIGHT_MAX)
    const [before] = [claims]
    aheadMs = LEASE_MS
    for (const answer of answers.splice(0)) answer()
    await expect.poll(() => answers.length).toBe(100 - ENDPOINT_IN_FLIGHT_MAX)
    for (const answer of answers) answer()
    await expect.poll(isDelivered).toBe(true)
    expect(begun.slice(ENDPOINT_IN_FLIGHT_MAX).every(({ claims: at }) => at > before!)).toBe(true)
    expect(new Set(begun.map(({ notifyId }) => notifyId)).size).toBe(100)
  } finally {
    await node.stop(1_000)
  }
})

test('one tenant’s locked deliveries do not delay any claim', async () => {
  const [busy, quiet] = [
    await testbed.tenant({ callbackUrl: receiver.url }),
    await testbed.tenant({ callbackUrl: receiver.url }),
  ]
  await testbed.record(busy, 50)
  await testbed.record(quiet, 1)
  // A transaction that locks events of the busy tenant, as saving a result does.
  await testbed.deps.db.tx(async (tx) => {
    await tx.query({ text: 'select from deliveries where tenant_id = $1 for update', values: [busy.tenantId] })
    expect((await claim(quiet)).events).toHaveLength(1)
    expect((await claim(busy)).events).toHaveLength(10)
  })
})
