import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { searchAudit } from '../../src/audit/search.ts'
import { silentLog } from '../../src/lib/telemetry/log.ts'
import { listEvents, showEvent } from '../../src/webhooks/read.ts'
import { cancelReplay, type ReplayWish, showReplay, startReplay } from '../../src/webhooks/replay.ts'
import { replayLoop, stepReplay } from '../../src/webhooks/replay-step.ts'
import { resendEvent } from '../../src/webhooks/resend.ts'
import { type Bed, openBed, type TestTenant } from './bed.ts'
import { type Receiver, startReceiver } from './receiver.ts'

let bed: Bed
let receiver: Receiver
beforeAll(async () => {
  bed = await openBed()
  receiver = await startReceiver()
  bed.startLoop()
})
afterAll(async () => {
  await bed.close()
  await receiver.close()
})
afterEach(() => {
  receiver.received = []
  receiver.script = 200
})

const BY = { actor: 'cli:tester' } as const
const replay = (tenant: TestTenant, wish: Partial<ReplayWish> = {}) =>
  startReplay(bed.deps, tenant.tenantId, { from: new Date(Date.now() - 3_600_000), ...wish }, BY)
const step = (tenant: TestTenant, replayId: string) => stepReplay(bed.deps, tenant.tenantId, replayId)
const inState = (tenant: TestTenant, state: string, count: number) =>
  vi.waitFor(async () => {
    const states = await bed.states(tenant)
    expect(states.filter((event) => event.deliveryState === state)).toHaveLength(count)
  }, 10_000)

async function unsentThenEnabled(count: number): Promise<TestTenant> {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const enabled = 'update webhook_endpoints set enabled = $2 where tenant_id = $1'
  await bed.deps.db.query({ text: enabled, values: [tenant.tenantId, false] })
  await bed.record(tenant, count)
  await bed.deps.db.query({ text: enabled, values: [tenant.tenantId, true] })
  return tenant
}

test('events that were recorded while the endpoint was disabled are replayed, each once, with their notifyId', async () => {
  const tenant = await unsentThenEnabled(120)
  const recorded = (await bed.states(tenant)).map((event) => event.notifyId)
  const { replayId, matched } = await replay(tenant, { ratePerS: 50 })
  expect(matched).toBe(120)
  for (let second = 0; second < 3; second++) {
    bed.advance(1_000)
    await step(tenant, replayId)
    bed.deps.wake.wake('webhooks')
  }
  await inState(tenant, 'DELIVERED', 120)
  bed.advance(1_000)
  await step(tenant, replayId)
  expect(await showReplay(bed.deps.db, tenant.tenantId, replayId)).toMatchObject({ replayState: 'DONE', replayed: 120 })
  expect(receiver.received.map((one) => one.notifyId).sort()).toEqual(recorded.sort())
})

test('a replay keeps its rate', async () => {
  const tenant = await unsentThenEnabled(100)
  const startedAt = bed.deps.databaseClock.now()
  // The clock runs on while the test does.
  const allowed = () => (20 * (bed.deps.databaseClock.now() - startedAt)) / 1_000
  const { replayId } = await replay(tenant, { ratePerS: 20 })
  bed.advance(500)
  const first = (await step(tenant, replayId)).replayed
  expect(first).toBeGreaterThanOrEqual(10)
  expect(first).toBeLessThanOrEqual(allowed())
  const second = (await step(tenant, replayId)).replayed
  expect(first + second).toBeLessThanOrEqual(allowed())
})

test('a replay goes on where it was when its node died', async () => {
  const tenant = await unsentThenEnabled(60)
  const { replayId } = await replay(tenant, { ratePerS: 30 })
  bed.advance(1_000)
  await step(tenant, replayId)
  // The step's transaction is all that there is to lose: another node finds the rest in the table.
  const loop = replayLoop({ ...bed.deps, log: silentLog })
  await vi.waitFor(async () => {
    bed.advance(500)
    expect((await showReplay(bed.deps.db, tenant.tenantId, replayId)).replayState).toBe('DONE')
  }, 15_000)
  await loop.stop(1_000)
  await inState(tenant, 'DELIVERED', 60)
  const received = receiver.received.filter((one) => one.headers['rt-accesscode'] === tenant.appKey)
  expect(received).toHaveLength(60)
  expect(new Set(received.map((one) => one.notifyId)).size).toBe(60)
})

test('a replay chooses by type, outcome and time', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant, 2, 'DELIVERY_UPDATED')
  const [paid] = await bed.record(tenant, 1, 'ORDER_PAID')
  await inState(tenant, 'DELIVERED', 3)
  receiver.received = []
  expect((await replay(tenant)).matched).toBe(0) // delivered ones are left alone unless asked for
  const past = new Date(Date.now() - 60_000)
  expect((await replay(tenant, { to: past, outcomes: ['DELIVERED'] })).matched).toBe(0)
  const { replayId, matched } = await replay(tenant, { outcomes: ['DELIVERED'], notifyTypes: ['ORDER_PAID'] })
  expect(matched).toBe(1)
  bed.advance(1_000)
  await step(tenant, replayId)
  bed.deps.wake.wake('webhooks')
  await expect.poll(() => receiver.received.map((one) => one.notifyId)).toEqual([paid])
})

test('a replay waits while the endpoint is disabled, and ends when it is cancelled', async () => {
  const tenant = await unsentThenEnabled(10)
  const { replayId } = await replay(tenant)
  const disable = 'update webhook_endpoints set enabled = false where tenant_id = $1'
  await bed.deps.db.query({ text: disable, values: [tenant.tenantId] })
  bed.advance(1_000)
  expect((await step(tenant, replayId)).replayed).toBe(0)
  expect(await cancelReplay(bed.deps, tenant.tenantId, replayId, BY)).toMatchObject({ replayState: 'CANCELLED' })
  await expect(cancelReplay(bed.deps, tenant.tenantId, replayId, BY)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const cancels = { tenantId: tenant.tenantId, action: 'webhook.cancel_replay' }
  expect(await searchAudit(bed.deps.db, cancels, 2)).toMatchObject([{ actor: BY.actor, subject: replayId }])
})

test('replays that cannot move, by the hundred, and one that fails do not hold up another dealer’s', async () => {
  const insert = `insert into webhook_replays (tenant_id, replay_id, notify_types, delivery_states, from_id, to_id, cursor_id,
      rate_per_s, matched, stepped_at, actor, created_at)
    select $1, $2, '{ORDER_PAID}', '{UNSENT}', $2, $2, $2, 1, 0, now() - interval '1 hour', 'cli:tester', now()`
  const run = async (tenant: TestTenant) => {
    const replayId = bed.deps.ids.uuid()
    await bed.deps.db.query({ text: insert, values: [tenant.tenantId, replayId] })
    return replayId
  }
  for (let waiting = 0; waiting < 100; waiting++) await run(await bed.tenant())
  const failing = await run(await bed.tenant({ callbackUrl: receiver.url }))
  await bed.deps.db.query({
    text: `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$`,
  })
  await bed.deps.db.query({
    text: `create trigger refused before update on webhook_replays for each row when (old.replay_id = '${failing}')
           execute function refuse()`,
  })
  const tenant = await unsentThenEnabled(5)
  const { replayId } = await replay(tenant)
  bed.advance(1_000)
  const loop = replayLoop(bed.deps)
  try {
    await vi.waitFor(async () => {
      expect((await showReplay(bed.deps.db, tenant.tenantId, replayId)).replayState).toBe('DONE')
    }, 15_000)
    await inState(tenant, 'DELIVERED', 5)
  } finally {
    await loop.stop(1_000)
    await bed.deps.db.query({ text: 'drop function refuse() cascade' })
    await bed.deps.db.query({ text: 'delete from webhook_replays where rate_per_s = 1' })
  }
})

test('a replay without an endpoint, of nothing, or too fast is refused', async () => {
  const without = await bed.tenant()
  await expect(replay(without)).rejects.toMatchObject({ code: 'NO_ENDPOINT' })
  const tenant = await bed.tenant({ callbackUrl: receiver.url, eventTypes: ['ORDER_PAID'] })
  await expect(replay(tenant, { notifyTypes: ['DELIVERY_UPDATED'] })).rejects.toMatchObject({ code: 'NOT_SUBSCRIBED' })
  await expect(replay(tenant, { from: new Date(Date.now() + 60_000) })).rejects.toMatchObject({ code: 'EMPTY_RANGE' })
  await expect(replay(tenant, { ratePerS: 1_001 })).rejects.toMatchObject({ code: 'RATE' })
})

test('one event is sent again on demand, with the same notifyId', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const [notifyId] = await bed.record(tenant)
  await inState(tenant, 'DELIVERED', 1)
  await resendEvent(bed.deps, tenant.tenantId, notifyId!, BY)
  await expect.poll(() => receiver.received.map((one) => one.notifyId)).toEqual([notifyId, notifyId])
  const other = await bed.tenant({ callbackUrl: receiver.url })
  await expect(resendEvent(bed.deps, other.tenantId, notifyId!, BY)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('the log shows every attempt of a tenant, with the answer and without its secrets, and nobody else’s', async () => {
  const tenant = await bed.tenant({ callbackUrl: `${receiver.url}?token=hunter2` })
  receiver.script = (_, response, received) => {
    response.writeHead(500)
    response.end(
      `secret ${tenant.appSecret}, ${received.headers['x-signature']}, ${received.headers['webhook-signature']}`,
    )
  }
  const [notifyId] = await bed.record(tenant)
  await expect.poll(async () => (await bed.states(tenant))[0]?.attempts).toBe(1)
  receiver.script = 200
  bed.advance(13_000)
  await inState(tenant, 'DELIVERED', 1)
  const { attemptList } = await showEvent(bed.deps.db, tenant.tenantId, notifyId!)
  expect(attemptList).toMatchObject([
    { attemptNo: 2, acknowledged: true, httpStatus: 200, answer: null },
    { attemptNo: 1, acknowledged: false, httpStatus: 500, outcome: 'status 500', address: '127.0.0.1' },
  ])
  expect(attemptList[1]?.answer).toBe('secret ***, ***, v1,***')
  expect(attemptList[1]?.url).toBe(`${receiver.url}?token=***`)
  const other = await bed.tenant()
  await expect(showEvent(bed.deps.db, other.tenantId, notifyId!)).rejects.toThrow('There is no such event')
})

test('events are listed newest first, page by page, by state', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const recorded = (await bed.record(tenant, 5)).toReversed()
  await inState(tenant, 'DELIVERED', 5)
  const list = (filter: Parameters<typeof listEvents>[1], before?: string) =>
    listEvents(bed.deps.db, { ...filter, tenantId: tenant.tenantId }, { most: 2, before })
  expect((await list({})).map((event) => event.notifyId)).toEqual(recorded.slice(0, 2))
  expect((await list({}, recorded[1])).map((event) => event.notifyId)).toEqual(recorded.slice(2, 4))
  expect(await list({ deliveryStates: ['DEAD'] })).toEqual([])
  expect(await list({ deliveryStates: ['DELIVERED', 'DEAD'] })).toHaveLength(2)
  expect(await list({ from: new Date(Date.now() + 1_000) })).toEqual([])
})
