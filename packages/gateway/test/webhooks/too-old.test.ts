import { afterEach, beforeEach, expect, test } from 'vitest'
import { firstUuidAt } from '../../src/lib/ids.ts'
import { recordEvents } from '../../src/webhooks/record.ts'
import { getReplay, type ReplayInput, startReplay } from '../../src/webhooks/replay/replay.ts'
import { stepReplay } from '../../src/webhooks/replay/replay-step.ts'
import { resendEvent } from '../../src/webhooks/replay/resend.ts'
import { SENDABLE_DAYS } from '../../src/webhooks/sending/retry.ts'
import { type Bed, openBed, type TestTenant } from './bed.ts'
import { type Receiver, startReceiver } from './receiver.ts'

// Two events that were recorded while the endpoint was disabled: one is past sending now, one just not.

const DAY_MS = 86_400_000

let bed: Bed
let receiver: Receiver
let tenant: TestTenant
let old: string
let young: string
let oldTime: Date
beforeEach(async () => {
  bed = await openBed() // one each: the clock runs weeks ahead of the partitions that are made
  receiver = await startReceiver()
  tenant = await bed.tenant({ callbackUrl: receiver.url })
  const enabled = 'update webhook_endpoints set enabled = $2 where tenant_id = $1'
  await bed.deps.db.query({ text: enabled, values: [tenant.tenantId, false] })
  oldTime = new Date(bed.deps.databaseClock.now())
  // The younger one is of tomorrow: partitions are made ahead, and none of a month ago is there.
  old = firstUuidAt(oldTime.getTime())
  young = firstUuidAt(oldTime.getTime() + DAY_MS)
  const event = { tenantId: tenant.tenantId, notifyType: 'ORDER_PAID', orderId: old, content: {}, createdAt: oldTime }
  await bed.deps.db.tx(async (tx) =>
    recordEvents(tx, [
      { ...event, notifyId: old },
      { ...event, notifyId: young },
    ] as Parameters<typeof recordEvents>[1]),
  )
  await bed.deps.db.query({ text: enabled, values: [tenant.tenantId, true] })
  bed.advance(SENDABLE_DAYS * DAY_MS + 60_000)
  bed.startLoop()
})
afterEach(async () => {
  await bed.close()
  await receiver.close()
})

const BY = { actor: 'cli:tester' } as const
const replay = (wish: ReplayInput) => startReplay(bed.deps, tenant.tenantId, wish, BY)
const step = (replayId: string) => stepReplay(bed.deps, tenant.tenantId, replayId)
const states = async () => (await bed.states(tenant)).map((event) => event.deliveryState)

test('an event that could be dropped before its attempts end is not sent again, a younger one is', async () => {
  await expect(resendEvent(bed.deps, tenant.tenantId, old, BY)).rejects.toMatchObject({
    status: 409,
    code: 'EVENT_TOO_OLD',
  })
  expect(await states()).toEqual(['UNSENT', 'UNSENT'])
  await resendEvent(bed.deps, tenant.tenantId, young, BY)
  await expect.poll(() => receiver.received.map((one) => one.notifyId)).toEqual([young])
})

test('a replay begins where events can still be sent, and says so', async () => {
  const { replayId, matched, from } = await replay({ from: oldTime })
  expect(matched).toBe(1)
  expect(from > oldTime).toBe(true)
  bed.advance(1_000)
  await step(replayId)
  bed.deps.wake.wake('webhooks')
  await expect.poll(() => receiver.received.map((one) => one.notifyId)).toEqual([young])
})

test('a replay of nothing that can still be sent is refused', async () => {
  const to = new Date(oldTime.getTime() + 1_000)
  await expect(replay({ from: oldTime, to })).rejects.toMatchObject({ status: 422, code: 'EVENTS_TOO_OLD' })
})

test('a replay that waited passes over what has become too old meanwhile', async () => {
  const { replayId, matched } = await replay({ from: oldTime })
  expect(matched).toBe(1)
  bed.advance(DAY_MS)
  await step(replayId)
  expect(await getReplay(bed.deps.db, tenant.tenantId, replayId)).toMatchObject({ replayState: 'DONE', replayed: 0 })
  expect(await states()).toEqual(['UNSENT', 'UNSENT'])
})
