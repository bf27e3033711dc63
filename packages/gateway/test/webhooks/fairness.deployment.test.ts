import { EVENT_TIMEOUT_MS } from '@dealer-esim/contract'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { deliveriesOf, eventsOf } from '#platform/record-events.ts'
import { ENDPOINT_IN_FLIGHT_FIRST } from '#webhooks/webhook-limits.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

let testbed: Testbed
let hanging: Receiver
let prompt: Receiver
beforeAll(async () => {
  testbed = await createTestbed()
  prompt = await startReceiver()
  testbed.startLoop()
})
// One for each test, so that another test's hanging requests do not interfere.
beforeEach(async () => {
  const own = await startReceiver(() => {})
  onTestFinished(() => own.close())
  hanging = own
})
afterAll(async () => {
  await testbed.close()
  await prompt.close()
})

/** Inserts a backlog as fast as the database allows. */
async function backlog(tenant: TestTenant, count: number): Promise<void> {
  await testbed.deps.db.query({
    text: `with event as materialized (
             select $1::uuid as tenant_id, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7000'
                         || '8000' || lpad(to_hex(n), 12, '0'))::uuid as notify_id,
                    'ORDER_PAID' as notify_type, $1::uuid as order_id, '{}'::json as content, now() as created_at
             from generate_series(1, $2::integer) n
           ), recorded as (${eventsOf('event')}
           )${deliveriesOf('event')}`,
    values: [tenant.tenantId, count],
  })
}

/** Milliseconds from the commit until the receiver gets the event, for one event at a time. */
async function latencies(tenant: TestTenant, count: number): Promise<number[]> {
  const measured: number[] = []
  for (let number = 0; number < count; number++) {
    const [notifyId] = await testbed.record(tenant)
    const committed = performance.now()
    const find = () => prompt.received.find((one) => one.notifyId === notifyId)
    await vi.waitFor(() => expect(find()).toBeDefined(), { timeout: 60_000, interval: 1 })
    measured.push(find()!.at - committed)
  }
  return measured.sort((left, right) => left - right)
}

const at = (sorted: number[], share: number) => sorted[Math.floor(sorted.length * share)]!

test('a backlog of 100 000 events at a hanging endpoint does not slow down other tenants’ deliveries', async () => {
  const patient = await testbed.tenant({ callbackUrl: prompt.url })
  await latencies(patient, 20) // warms up
  const alone = await latencies(patient, 100)
  const stuck = await testbed.tenant({ callbackUrl: hanging.url })
  const stuckSends = () => hanging.received.filter((one) => one.headers['rt-accesscode'] === stuck.appKey).length
  const startedAt = performance.now()
  await backlog(stuck, 100_000)
  await expect.poll(stuckSends).toBeGreaterThan(0)
  const withBacklog = await latencies(patient, 100)
  const words = (sorted: number[]) => `p50 ${at(sorted, 0.5).toFixed(1)} ms, p99 ${at(sorted, 0.99).toFixed(1)} ms`
  console.log(`alone: ${words(alone)}; with a hanging backlog: ${words(withBacklog)}`)
  // The bench measures the times. An event that queued behind a hanging request would wait for its time-out.
  expect(at(withBacklog, 0.5)).toBeLessThan(Math.max(at(alone, 0.5) * 10, EVENT_TIMEOUT_MS / 10))
  expect(at(withBacklog, 0.99)).toBeLessThan(Math.max(at(alone, 0.99) * 10, EVENT_TIMEOUT_MS))
  // On a slow machine, the first requests have timed out since, and the next have started.
  const rounds = 1 + Math.floor((performance.now() - startedAt) / EVENT_TIMEOUT_MS)
  expect(stuckSends()).toBeLessThanOrEqual(ENDPOINT_IN_FLIGHT_FIRST * rounds)
})

test('a hundred hanging endpoints leave capacity to endpoints that respond', async () => {
  for (let number = 0; number < 100; number++) {
    await testbed.record(await testbed.tenant({ callbackUrl: hanging.url }), 10)
  }
  const patient = await testbed.tenant({ callbackUrl: prompt.url })
  // Behind hanging requests, an event would wait for their time-outs: a hundred times as long as usual.
  expect(at(await latencies(patient, 20), 0.9)).toBeLessThan(EVENT_TIMEOUT_MS)
})
