import type { ServerResponse } from 'node:http'
import { webhookSecret } from '@dealer-esim/contract'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { resetSecret } from '#tenants/app-secret.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { CLAIM_AHEAD_FACTOR, ENDPOINT_IN_FLIGHT_MAX } from '#webhooks/webhook-limits.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

/* Events are claimed ahead for an endpoint that responds. A changed setting applies to them too. */

const CLAIMED_MAX = CLAIM_AHEAD_FACTOR * ENDPOINT_IN_FLIGHT_MAX
const patient = { timeout: 20_000 }

let testbed: Testbed
let loop: ReturnType<Testbed['startLoop']>
let receiver: Receiver
let other: Receiver
let tenant: TestTenant
/** Requests at the receiver that are waiting to be answered. */
let held: ServerResponse[]

beforeAll(async () => {
  testbed = await createTestbed()
  loop = testbed.startLoop()
})
/** One claim has taken as many of the tenant's events as allowed, and as many as allowed are being sent. */
beforeEach(async () => {
  receiver = await startReceiver()
  other = await startReceiver()
  tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(tenant, 100)
  await expect.poll(() => receiver.events.length, patient).toBe(100)
  receiver.received = []
  held = []
  receiver.script = (_, response) => void held.push(response)
  await testbed.record(tenant, CLAIMED_MAX + 100)
  await expect.poll(() => held.length, patient).toBe(ENDPOINT_IN_FLIGHT_MAX)
})
afterEach(async () => {
  receiver.script = 200
  for (const response of held) response.end()
  await expect.poll(() => loop.idle, patient).toBe(true)
  await receiver.close()
  await other.close()
})
afterAll(() => testbed.close())

/** Waits for a whole pass of the sender: the second of two consecutive events has been sent. */
async function aPassLater(): Promise<void> {
  const witness = await startReceiver()
  const another = await testbed.tenant({ callbackUrl: witness.url })
  for (const count of [1, 2]) {
    await testbed.record(another)
    await expect.poll(() => witness.events.length, patient).toBe(count)
  }
  await witness.close()
}

const set = (request: Parameters<typeof setWebhook>[2]) =>
  setWebhook(testbed.deps, tenant.tenantId, request, { actor: 'tenant' })

/** Lets one more request finish. */
const answerOne = () => held.shift()!.end()

test('an event claimed for the old URL is sent to the new one', async () => {
  await set({ callbackUrl: other.url })
  await aPassLater()
  answerOne()
  await expect.poll(() => other.events.length, patient).toBeGreaterThan(0)
  expect(receiver.events.length).toBe(ENDPOINT_IN_FLIGHT_MAX)
})

test('a claimed event is not sent if its type is no longer subscribed', async () => {
  await set({ eventTypes: ['DELIVERY_UPDATED'] })
  await aPassLater()
  answerOne()
  const unsent = async () => (await testbed.states(tenant)).some((event) => event.deliveryState === 'UNSENT')
  await expect.poll(unsent, patient).toBe(true)
  expect(receiver.events.length).toBe(ENDPOINT_IN_FLIGHT_MAX)
})

test('an event claimed for a removed URL is not sent, whichever node marks it UNSENT', async () => {
  const other = testbed.startLoop()
  await set({ callbackUrl: null })
  const unsent = async () => (await testbed.states(tenant)).filter((event) => event.deliveryState === 'UNSENT').length
  await expect.poll(unsent, patient).toBe(CLAIMED_MAX + 100 - ENDPOINT_IN_FLIGHT_MAX)
  for (const response of held.splice(0)) response.end()
  await expect.poll(() => loop.idle, patient).toBe(true)
  expect(receiver.events.length).toBe(ENDPOINT_IN_FLIGHT_MAX)
  expect(await unsent()).toBe(CLAIMED_MAX + 100 - ENDPOINT_IN_FLIGHT_MAX)
  await other.stop(1_000)
})

test('an event claimed before a secret reset is signed with the new secret', async () => {
  const { appSecret } = await resetSecret(testbed.deps, tenant.tenantId, { graceMs: 0 }, { actor: 'cli:test' })
  await aPassLater()
  answerOne()
  await expect.poll(() => receiver.events.length, patient).toBe(ENDPOINT_IN_FLIGHT_MAX + 1)
  const { body, headers } = receiver.events.at(-1)!
  const verifier = new Webhook(webhookSecret(appSecret))
  expect(() => verifier.verify(body, headers as Record<string, string>)).not.toThrow()
})
