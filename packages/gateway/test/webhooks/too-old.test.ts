import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { recordEvents } from '#platform/record-events.ts'
import { getReplay, type ReplayInput, startReplay } from '#webhooks/replay/replay.ts'
import { stepReplay } from '#webhooks/replay/replay-step.ts'
import { resendEvent } from '#webhooks/replay/resend-event.ts'
import { SENDABLE_DAYS } from '#webhooks/webhook-limits.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

// Two events recorded while the endpoint was disabled: one too old to be sent, the other just young enough.

const DAY_MS = 86_400_000

let testbed: Testbed
let receiver: Receiver
let tenant: TestTenant
let old: string
let young: string
let oldTime: Date
beforeEach(async () => {
  testbed = await createTestbed() // one per test, because the clock then runs weeks ahead of the partitions
  receiver = await startReceiver()
  tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const enabled = 'update webhook_endpoints set enabled = $2 where tenant_id = $1'
  await testbed.deps.db.query({ text: enabled, values: [tenant.tenantId, false] })
  oldTime = new Date(testbed.deps.databaseClock.now())
  // The younger one is dated tomorrow, because partitions exist for the future but not for the past month.
  old = firstUuidAt(oldTime.getTime())
  young = firstUuidAt(oldTime.getTime() + DAY_MS)
  const event = { tenantId: tenant.tenantId, notifyType: 'ORDER_PAID', orderId: old, content: {}, createdAt: oldTime }
  await testbed.deps.db.tx(async (tx) =>
    recordEvents(tx, [
      { ...event, notifyId: old },
      { ...event, notifyId: young },
    ] as Parameters<typeof recordEvents>[1]),
  )
  await testbed.deps.db.query({ text: enabled, values: [tenant.tenantId, true] })
  testbed.advance(SENDABLE_DAYS * DAY_MS + 60_000)
  testbed.startLoop()
})
afterEach(async () => {
  await testbed.close()
  await receiver.close()
})

const BY = { actor: 'cli:tester' } as const
const replay = (input: ReplayInput) => startReplay(testbed.deps, tenant.tenantId, input, BY)
const step = (replayId: string) => stepReplay(testbed.deps, tenant.tenantId, replayId)
const states = async () => (await testbed.states(tenant)).map((event) => event.deliveryState)

test('an event is not sent again if it could be dropped before its attempts end', async () => {
  await expect(resendEvent(testbed.deps, tenant.tenantId, old, BY)).rejects.toMatchObject({
    status: 409,
    code: 'EVENT_TOO_OLD',
  })
  expect(await states()).toEqual(['UNSENT', 'UNSENT'])
  await resendEvent(testbed.deps, tenant.tenantId, young, BY)
  await expect.poll(() => receiver.received.map((one) => one.notifyId)).toEqual([young])
})

test('a replay starts with the oldest sendable event and reports that start', async () => {
  const { replayId, matched, from } = await replay({ from: oldTime })
  expect(matched).toBe(1)
  expect(from > oldTime).toBe(true)
  testbed.advance(1_000)
  await step(replayId)
  testbed.deps.wake.wake('webhooks')
  await expect.poll(() => receiver.received.map((one) => one.notifyId)).toEqual([young])
})

test('a replay without sendable events is refused', async () => {
  const to = new Date(oldTime.getTime() + 1_000)
  await expect(replay({ from: oldTime, to })).rejects.toMatchObject({ status: 422, code: 'EVENTS_TOO_OLD' })
})

test('a paused replay skips events that have become too old', async () => {
  const { replayId, matched } = await replay({ from: oldTime })
  expect(matched).toBe(1)
  testbed.advance(DAY_MS)
  await step(replayId)
  expect(await getReplay(testbed.deps.db, tenant.tenantId, replayId)).toMatchObject({
    replayState: 'DONE',
    replayed: 0,
  })
  expect(await states()).toEqual(['UNSENT', 'UNSENT'])
})
