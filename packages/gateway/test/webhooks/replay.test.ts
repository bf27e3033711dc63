import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { searchAudit } from '#platform/audit/search-audit.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { getEvent, listEvents } from '#webhooks/list-events.ts'
import { cancelReplay, getReplay, type ReplayInput, startReplay } from '#webhooks/replay/replay.ts'
import { replayLoop, stepReplay } from '#webhooks/replay/replay-step.ts'
import { resendEvent } from '#webhooks/replay/resend-event.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

let testbed: Testbed
let receiver: Receiver
beforeAll(async () => {
  testbed = await createTestbed()
  receiver = await startReceiver()
  testbed.startLoop()
})
afterAll(async () => {
  await testbed.close()
  await receiver.close()
})
afterEach(() => {
  receiver.received = []
  receiver.script = 200
})

const BY = { actor: 'cli:tester' } as const
const replay = (tenant: TestTenant, input: Partial<ReplayInput> = {}) =>
  startReplay(testbed.deps, tenant.tenantId, { from: new Date(Date.now() - 3_600_000), ...input }, BY)
const step = (tenant: TestTenant, replayId: string) => stepReplay(testbed.deps, tenant.tenantId, replayId)
const inState = (tenant: TestTenant, state: string, count: number) =>
  vi.waitFor(async () => {
    const states = await testbed.states(tenant)
    expect(states.filter((event) => event.deliveryState === state)).toHaveLength(count)
  }, 60_000)

async function unsentThenEnabled(count: number): Promise<TestTenant> {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const enabled = 'update webhook_endpoints set enabled = $2 where tenant_id = $1'
  await testbed.deps.db.query({ text: enabled, values: [tenant.tenantId, false] })
  await testbed.record(tenant, count)
  await testbed.deps.db.query({ text: enabled, values: [tenant.tenantId, true] })
  return tenant
}

test('events recorded while the endpoint was disabled are replayed once each, with their notifyId', async () => {
  const tenant = await unsentThenEnabled(120)
  const recorded = (await testbed.states(tenant)).map((event) => event.notifyId)
  const { replayId, matched } = await replay(tenant, { ratePerS: 50 })
  expect(matched).toBe(120)
  for (let second = 0; second < 3; second++) {
    testbed.advance(1_000)
    await step(tenant, replayId)
    testbed.deps.wake.wake('webhooks')
  }
  await inState(tenant, 'DELIVERED', 120)
  testbed.advance(1_000)
  await step(tenant, replayId)
  expect(await getReplay(testbed.deps.db, tenant.tenantId, replayId)).toMatchObject({
    replayState: 'DONE',
    replayed: 120,
  })
  expect(receiver.received.map((one) => one.notifyId).sort()).toEqual(recorded.sort())
})

test('a replay does not exceed its rate', async () => {
  const tenant = await unsentThenEnabled(100)
  const startedAt = testbed.deps.databaseClock.now()
  // The clock continues to run during the test.
  const allowed = () => (20 * (testbed.deps.databaseClock.now() - startedAt)) / 1_000
  const { replayId } = await replay(tenant, { ratePerS: 20 })
  testbed.advance(500)
  const first = (await step(tenant, replayId)).replayed
  expect(first).toBeGreaterThanOrEqual(10)
  expect(first).toBeLessThanOrEqual(allowed())
  const second = (await step(tenant, replayId)).replayed
  expect(first + second).toBeLessThanOrEqual(allowed())
})

test('a replay continues where it stopped after its node died', async () => {
  const tenant = await unsentThenEnabled(60)
  const { replayId } = await replay(tenant, { ratePerS: 30 })
  testbed.advance(1_000)
  await step(tenant, replayId)
  // Only the step's transaction can be lost: another node finds the rest in the table.
  const loop = replayLoop({ ...testbed.deps, log: silentLog })
  await vi.waitFor(async () => {
    testbed.advance(500)
    expect((await getReplay(testbed.deps.db, tenant.tenantId, replayId)).replayState).toBe('DONE')
  }, 60_000)
  await loop.stop(1_000)
  await inState(tenant, 'DELIVERED', 60)
  const received = receiver.received.filter((one) => one.headers['rt-accesscode'] === tenant.appKey)
  expect(received).toHaveLength(60)
  expect(new Set(received.map((one) => one.notifyId)).size).toBe(60)
})

test('a replay selects events by type, outcome and time', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(tenant, 2, 'DELIVERY_UPDATED')
  const [paid] = await testbed.record(tenant, 1, 'ORDER_PAID')
  await inState(tenant, 'DELIVERED', 3)
  receiver.received = []
  expect((await replay(tenant)).matched).toBe(0) // delivered events are skipped by default
  const past = new Date(Date.now() - 60_000)
  expect((await replay(tenant, { to: past, outcomes: ['DELIVERED'] })).matched).toBe(0)
  const { replayId, matched } = await replay(tenant, { outcomes: ['DELIVERED'], notifyTypes: ['ORDER_PAID'] })
  expect(matched).toBe(1)
  testbed.advance(1_000)
  await step(tenant, replayId)
  testbed.deps.wake.wake('webhooks')
  await expect.poll(() => receiver.received.map((one) => one.notifyId)).toEqual([paid])
})

test('events that wait for a retry are left out of a replay, until their endpoint was disabled and enabled', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  receiver.script = 503
  const recorded = await testbed.record(tenant, 3)
  await vi.waitFor(async () => {
    const attempts = (await testbed.states(tenant)).map((event) => event.attempts)
    expect(attempts).toEqual([1, 1, 1])
  }, 60_000)
  receiver.script = 200
  expect((await replay(tenant)).matched).toBe(0)
  const set = (enabled: boolean) => setWebhook(testbed.deps, tenant.tenantId, { enabled }, { actor: 'tenant' })
  await set(false)
  await inState(tenant, 'UNSENT', 3)
  await set(true)
  receiver.received = []
  const { replayId, matched } = await replay(tenant)
  expect(matched).toBe(3)
  testbed.advance(1_000)
  await step(tenant, replayId)
  testbed.deps.wake.wake('webhooks')
  await expect.poll(() => receiver.received.map((one) => one.notifyId).sort()).toEqual([...recorded].sort())
})

test('a replay waits while the endpoint is disabled, and ends when the replay is cancelled', async () => {
  const tenant = await unsentThenEnabled(10)
  const { replayId } = await replay(tenant)
  const disable = 'update webhook_endpoints set enabled = false where tenant_id = $1'
  await testbed.deps.db.query({ text: disable, values: [tenant.tenantId] })
  testbed.advance(1_000)
  expect((await step(tenant, replayId)).replayed).toBe(0)
  expect(await cancelReplay(testbed.deps, tenant.tenantId, replayId, BY)).toMatchObject({ replayState: 'CANCELLED' })
  await expect(cancelReplay(testbed.deps, tenant.tenantId, replayId, BY)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const cancels = { tenantId: tenant.tenantId, action: 'webhook.cancel_replay' }
  expect((await searchAudit(testbed.deps.db, cancels, { limit: 2 })).rows).toMatchObject([
    { actor: BY.actor, subject: replayId },
  ])
})

test('a replay gives way to new events, and does not make up for the time spent waiting', async () => {
  const tenant = await unsentThenEnabled(100)
  const { replayId } = await replay(tenant, { ratePerS: 10 })
  const held: (() => void)[] = []
  receiver.script = (_, response) => void held.push(() => response.writeHead(200).end())
  await testbed.record(tenant, 1_000)
  testbed.advance(5_000)
  expect(await step(tenant, replayId)).toEqual({ replayed: 0, more: false })
  receiver.script = 200
  for (const answer of held) answer()
  await inState(tenant, 'DELIVERED', 1_000)
  testbed.advance(1_000)
  const { replayed } = await step(tenant, replayId)
  expect(replayed).toBeGreaterThanOrEqual(10)
  expect(replayed).toBeLessThan(50)
})

test('hundreds of paused replays and a failing one do not delay another tenant’s replay', async () => {
  const insert = `insert into webhook_replays (tenant_id, replay_id, notify_types, delivery_states, from_id, to_id, cursor_id,
      rate_per_s, matched, stepped_at, actor, created_at)
    select $1, $2, '{ORDER_PAID}', '{UNSENT}', $2, $2, $2, 1, 0, now() - interval '1 hour', 'cli:tester', now()`
  const run = async (tenant: TestTenant) => {
    const replayId = testbed.deps.ids.uuid()
    await testbed.deps.db.query({ text: insert, values: [tenant.tenantId, replayId] })
    return replayId
  }
  for (let waiting = 0; waiting < 100; waiting++) await run(await testbed.tenant())
  const failing = await run(await testbed.tenant({ callbackUrl: receiver.url }))
  await testbed.deps.db.query({
    text: `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$`,
  })
  await testbed.deps.db.query({
    text: `create trigger refused before update on webhook_replays for each row when (old.replay_id = '${failing}')
           execute function refuse()`,
  })
  const tenant = await unsentThenEnabled(5)
  const { replayId } = await replay(tenant)
  testbed.advance(1_000)
  const loop = replayLoop(testbed.deps)
  try {
    await vi.waitFor(async () => {
      expect((await getReplay(testbed.deps.db, tenant.tenantId, replayId)).replayState).toBe('DONE')
    }, 60_000)
    await inState(tenant, 'DELIVERED', 5)
  } finally {
    await loop.stop(1_000)
    await testbed.deps.db.query({ text: 'drop function refuse() cascade' })
    await testbed.deps.db.query({ text: 'delete from webhook_replays where rate_per_s = 1' })
  }
})

test('a replay leaves out events to which the endpoint is not subscribed, and says how many', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url, eventTypes: ['ORDER_PAID'] })
  await testbed.record(tenant, 2, 'DELIVERY_UPDATED')
  await inState(tenant, 'UNSENT', 2)
  const { replayId, ...started } = await replay(tenant)
  expect(started).toMatchObject({
    ...{ matched: 0, notifyTypes: ['ORDER_PAID'] },
    unsubscribed: [{ notifyType: 'DELIVERY_UPDATED', count: 2 }],
  })
  testbed.advance(1_000)
  await step(tenant, replayId)
  const done = await getReplay(testbed.deps.db, tenant.tenantId, replayId)
  expect(done).toMatchObject({ replayState: 'DONE', replayed: 0 })
  expect((await replay(tenant, { notifyTypes: ['ORDER_PAID'] })).unsubscribed).toEqual([])
})

test('a replay is refused without an endpoint, with an empty range or with too high a rate', async () => {
  const without = await testbed.tenant()
  await expect(replay(without)).rejects.toMatchObject({ code: 'NO_ENDPOINT' })
  const tenant = await testbed.tenant({ callbackUrl: receiver.url, eventTypes: ['ORDER_PAID'] })
  await expect(replay(tenant, { notifyTypes: ['DELIVERY_UPDATED'] })).rejects.toMatchObject({ code: 'NOT_SUBSCRIBED' })
  await expect(replay(tenant, { from: new Date(Date.now() + 60_000) })).rejects.toMatchObject({ code: 'EMPTY_RANGE' })
  await expect(replay(tenant, { ratePerS: 1_001 })).rejects.toMatchObject({ code: 'RATE' })
})

test('a dealer can have at most five replays at the same time, however many are started simultaneously', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const started = await Promise.allSettled(Array.from({ length: 8 }, () => replay(tenant, { ratePerS: 1 })))
  const refused = started.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
  expect(refused).toEqual(['TOO_MANY_REPLAYS', 'TOO_MANY_REPLAYS', 'TOO_MANY_REPLAYS'])
})

test('one event is sent again on demand, with the same notifyId', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const [notifyId] = await testbed.record(tenant)
  await inState(tenant, 'DELIVERED', 1)
  await resendEvent(testbed.deps, tenant.tenantId, notifyId!, BY)
  await expect.poll(() => receiver.received.map((one) => one.notifyId)).toEqual([notifyId, notifyId])
  const other = await testbed.tenant({ callbackUrl: receiver.url })
  await expect(resendEvent(testbed.deps, other.tenantId, notifyId!, BY)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('the delivery log shows all attempts for this tenant only, without secrets', async () => {
  const tenant = await testbed.tenant({ callbackUrl: `${receiver.url}?token=hunter2` })
  receiver.script = (_, response, received) => {
    response.writeHead(500)
    response.end(
      `secret ${tenant.appSecret}, ${received.headers['x-signature']}, ${received.headers['webhook-signature']}`,
    )
  }
  const [notifyId] = await testbed.record(tenant)
  await expect.poll(async () => (await testbed.states(tenant))[0]?.attempts).toBe(1)
  receiver.script = 200
  testbed.advance(13_000)
  await inState(tenant, 'DELIVERED', 1)
  const { attemptList } = await getEvent(testbed.deps.db, tenant.tenantId, notifyId!)
  expect(attemptList).toMatchObject([
    { attemptNo: 2, acknowledged: true, httpStatus: 200, answer: null },
    { attemptNo: 1, acknowledged: false, httpStatus: 500, outcome: 'status 500', address: '127.0.0.1' },
  ])
  expect(attemptList[1]?.answer).toBe('secret ***, ***, v1,***')
  expect(attemptList[1]?.url).toBe(`${receiver.url}?token=***`)
  const other = await testbed.tenant()
  await expect(getEvent(testbed.deps.db, other.tenantId, notifyId!)).rejects.toThrow('There is no such event')
})

test('the delivery log masks secrets that an answer repeats, even in a different form', async () => {
  const tenant = await testbed.tenant({ callbackUrl: `${receiver.url}?token=hunter%2D2x&v=1` })
  const base64 = Buffer.from(tenant.appSecret).toString('base64')
  receiver.script = (request, response, { headers }) => {
    const escaped = `v1,${'ab/'.repeat(14)}c=`.replaceAll('/', '\\/') // as encoded by PHP
    const dumped = JSON.stringify(`a\n${headers['webhook-signature']}\t${headers['x-signature']}`)
    response.writeHead(500).end(`${request.url} hunter-2x v=1 whsec_${base64} ${escaped} ${dumped}`)
  }
  const [notifyId] = await testbed.record(tenant)
  await expect.poll(async () => (await testbed.states(tenant))[0]?.attempts).toBe(1)
  receiver.script = 200
  const [attempt] = (await getEvent(testbed.deps.db, tenant.tenantId, notifyId!)).attemptList
  expect(attempt!.answer).toBe('/events?token=***&v=1 *** v=1 whsec_*** v1,*** "a\\nv1,***\\t***"')
})

test('events are listed newest first, page by page, filtered by state', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const recorded = (await testbed.record(tenant, 5)).toReversed()
  await inState(tenant, 'DELIVERED', 5)
  const list = (filter: Parameters<typeof listEvents>[1], before?: string) =>
    listEvents(testbed.deps.db, { ...filter, tenantId: tenant.tenantId }, { limit: 2, before })
  expect((await list({})).map((event) => event.notifyId)).toEqual(recorded.slice(0, 2))
  expect((await list({}, recorded[1])).map((event) => event.notifyId)).toEqual(recorded.slice(2, 4))
  expect(await list({ deliveryStates: ['DEAD'] })).toEqual([])
  expect(await list({ deliveryStates: ['DELIVERED', 'DEAD'] })).toHaveLength(2)
  expect(await list({ from: new Date(Date.now() + 1_000) })).toEqual([])
})
