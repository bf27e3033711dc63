import type { ServerResponse } from 'node:http'
import { webhookSecret } from '@dealer-esim/contract'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { resetSecret } from '../../src/tenants/secret.ts'
import { setWebhook } from '../../src/webhooks/endpoint/set-webhook.ts'
import { CLAIM_AHEAD_FACTOR, ENDPOINT_IN_FLIGHT_MAX } from '../../src/webhooks/limits.ts'
import { type Bed, openBed, type TestTenant } from './bed.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/* Events are claimed ahead for an endpoint that answers. A setting that changes holds for those, too. */

const CLAIMED_MAX = CLAIM_AHEAD_FACTOR * ENDPOINT_IN_FLIGHT_MAX
const patient = { timeout: 10_000 }

let bed: Bed
let loop: ReturnType<Bed['startLoop']>
let receiver: Receiver
let other: Receiver
let tenant: TestTenant
/** Requests at the receiver that wait for their answer. */
let held: ServerResponse[]

beforeAll(async () => {
  bed = await openBed()
  loop = bed.startLoop()
})
/** As many events of the tenant are claimed as may be, by one claim, and as many are under way as may be. */
beforeEach(async () => {
  receiver = await startReceiver()
  other = await startReceiver()
  tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.record(tenant, 100)
  await expect.poll(() => receiver.events.length, patient).toBe(100)
  receiver.received = []
  held = []
  receiver.script = (_, response) => void held.push(response)
  await bed.record(tenant, CLAIMED_MAX + 100)
  await expect.poll(() => held.length, patient).toBe(ENDPOINT_IN_FLIGHT_MAX)
})
afterEach(async () => {
  receiver.script = 200
  for (const response of held) response.end()
  await expect.poll(() => loop.idle, patient).toBe(true)
  await receiver.close()
  await other.close()
})
afterAll(() => bed.close())

/** The sender has gone through a whole pass since: the second of two events, one after the other, was sent. */
async function aPassLater(): Promise<void> {
  const witness = await startReceiver()
  const another = await bed.tenant({ callbackUrl: witness.url })
  for (const count of [1, 2]) {
    await bed.record(another)
    await expect.poll(() => witness.events.length, patient).toBe(count)
  }
  await witness.close()
}

const set = (request: Parameters<typeof setWebhook>[2]) =>
  setWebhook(bed.deps, tenant.tenantId, request, { actor: 'tenant' })

/** Makes room for one more. */
const answerOne = () => held.shift()!.end()

test('the next event goes to the URL that was set, though it was claimed for the old one', async () => {
  await set({ callbackUrl: other.url })
  await aPassLater()
  answerOne()
  await expect.poll(() => other.events.length, patient).toBeGreaterThan(0)
  expect(receiver.events.length).toBe(ENDPOINT_IN_FLIGHT_MAX)
})

test('an event whose type is not wanted any more is not sent, though it was claimed when it was', async () => {
  await set({ eventTypes: ['DELIVERY_UPDATED'] })
  await aPassLater()
  answerOne()
  const unsent = async () => (await bed.states(tenant)).some((event) => event.deliveryState === 'UNSENT')
  await expect.poll(unsent, patient).toBe(true)
  expect(receiver.events.length).toBe(ENDPOINT_IN_FLIGHT_MAX)
})

test('what was claimed for a URL that is removed is not sent, whichever node looks after what waits', async () => {
  const beside = bed.startLoop()
  await set({ callbackUrl: null })
  const unsent = async () => (await bed.states(tenant)).filter((event) => event.deliveryState === 'UNSENT').length
  await expect.poll(unsent, patient).toBe(CLAIMED_MAX + 100 - ENDPOINT_IN_FLIGHT_MAX)
  for (const response of held.splice(0)) response.end()
  await expect.poll(() => loop.idle, patient).toBe(true)
  expect(receiver.events.length).toBe(ENDPOINT_IN_FLIGHT_MAX)
  expect(await unsent()).toBe(CLAIMED_MAX + 100 - ENDPOINT_IN_FLIGHT_MAX)
  await beside.stop(1_000)
})

test('an event that was claimed before a reset is signed with the new secret', async () => {
  const { appSecret } = await resetSecret(bed.deps, tenant.tenantId, { graceMs: 0 }, { actor: 'cli:test' })
  await aPassLater()
  answerOne()
  await expect.poll(() => receiver.events.length, patient).toBe(ENDPOINT_IN_FLIGHT_MAX + 1)
  const { body, headers } = receiver.events.at(-1)!
  const verifier = new Webhook(webhookSecret(appSecret))
  expect(() => verifier.verify(body, headers as Record<string, string>)).not.toThrow()
})
