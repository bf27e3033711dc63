import { signRequest } from '@dealer-esim/contract/node'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed } from './webhook-testbed.ts'

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

const settled = (tenant: Parameters<Testbed['states']>[0], state: string) =>
  vi.waitFor(async () => {
    const states = await testbed.states(tenant)
    expect(states.map((event) => event.deliveryState)).toEqual(states.map(() => state))
    return states
  }, 60_000)

test('an event is sent as soon as it is recorded, signed in both schemes', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const [notifyId] = await testbed.record(tenant)
  await settled(tenant, 'DELIVERED')
  expect(receiver.received).toHaveLength(1)
  const { headers, body } = receiver.received[0]!
  expect(JSON.parse(body)).toEqual({
    notifyId,
    notifyType: 'ORDER_PAID',
    eventGenerateTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    content: { orderNo: 'X', sequence: 1, amount: 45000 },
  })
  const standard = new Webhook(Buffer.from(tenant.appSecret).toString('base64'))
  expect(() => standard.verify(body, headers as Record<string, string>)).not.toThrow()
  const parts = {
    timestamp: String(headers['rt-timestamp']),
    requestId: String(headers['rt-requestid']),
    appKey: String(headers['rt-accesscode']),
  }
  expect(headers['x-signature']).toBe(signRequest(tenant.appSecret, parts, body))
  expect(headers['webhook-id']).toBe(notifyId)
})

test('hundreds of events for many tenants arrive once each', async () => {
  const tenants = await Promise.all(Array.from({ length: 20 }, () => testbed.tenant({ callbackUrl: receiver.url })))
  const recorded = (await Promise.all(tenants.map((tenant) => testbed.record(tenant, 40)))).flat()
  // Polling the states of twenty tenants at the same time would slow down the sender.
  await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThanOrEqual(recorded.length), 20_000)
  for (const tenant of tenants) await settled(tenant, 'DELIVERED')
  expect(receiver.received.map((one) => one.notifyId).sort()).toEqual(recorded.sort())
})

test('an event without an endpoint, or with a type that is not subscribed, is UNSENT', async () => {
  const without = await testbed.tenant()
  const choosy = await testbed.tenant({ callbackUrl: receiver.url, eventTypes: ['ORDER_PAID'] })
  await testbed.record(without)
  await testbed.record(choosy, 1, 'DELIVERY_UPDATED')
  await settled(without, 'UNSENT')
  await settled(choosy, 'UNSENT')
  expect(receiver.received).toHaveLength(0)
})

test('a retry has the same notifyId and a new RequestID', async () => {
  receiver.script = 500
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const [notifyId] = await testbed.record(tenant)
  await expect.poll(async () => (await testbed.states(tenant))[0]?.attempts).toBe(1)
  receiver.script = 204
  testbed.advance(13_000)
  await settled(tenant, 'DELIVERED')
  expect(receiver.received.map((one) => one.notifyId)).toEqual([notifyId, notifyId])
  expect(new Set(receiver.received.map((one) => one.headers['rt-requestid'])).size).toBe(2)
})

test('events waiting for a disabled endpoint become UNSENT', async () => {
  receiver.script = 500
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(tenant, 5)
  await expect.poll(async () => (await testbed.states(tenant)).every((event) => event.attempts === 1)).toBe(true)
  await testbed.deps.db.query({
    text: 'update webhook_endpoints set enabled = false where tenant_id = $1',
    values: [tenant.tenantId],
  })
  testbed.deps.wake.wake('webhooks')
  await settled(tenant, 'UNSENT')
})

test('a failed attempt is logged at info, but an acknowledged attempt is not', async () => {
  const info = vi.spyOn(testbed.deps.log, 'info')
  const lines = () => info.mock.calls.filter(([, text]) => text === 'delivery attempt').map(([line]) => line)
  const well = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.record(well)
  await settled(well, 'DELIVERED')
  expect(lines()).toEqual([])
  receiver.script = 500
  const badly = await testbed.tenant({ callbackUrl: receiver.url })
  const [notifyId] = await testbed.record(badly)
  await vi.waitFor(() => expect(lines()).toMatchObject([{ notifyId, attempt: 1, outcome: 'status 500' }]), 20_000)
  info.mockRestore()
})
