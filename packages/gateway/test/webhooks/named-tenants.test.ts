import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { Sender } from '#webhooks/sending/sender.ts'
import { createWebhookMetrics } from '#webhooks/sending/sending-telemetry.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

/* A wakeup lists the tenants whose events were just recorded. The sender claims for them without considering others. */

let testbed: Testbed
let receiver: Receiver
let sender: Sender
beforeAll(async () => {
  testbed = await createTestbed()
  receiver = await startReceiver()
})
afterAll(async () => {
  await testbed.close()
  await receiver.close()
})
beforeEach(() => {
  const deps = { ...testbed.deps, metrics: createMetrics() }
  sender = new Sender(deps, createWebhookMetrics(deps), () => {})
})
afterEach(async () => {
  await sender.stop(5_000)
  receiver.received = []
})

const addTenant = () => testbed.tenant({ callbackUrl: receiver.url })
const receives = (events: number) =>
  vi.waitFor(() => expect(new Set(receiver.received.map(({ notifyId }) => notifyId)).size).toBe(events), 60_000)
const hasSavedAll = () => vi.waitFor(() => expect(sender.idle).toBe(true), 60_000)

/** Creates tenants whose endpoints the sender knows from an earlier event. */
async function knownTenants(count: number): Promise<TestTenant[]> {
  const tenants = await Promise.all(Array.from({ length: count }, addTenant))
  for (const tenant of tenants) await testbed.record(tenant)
  await sender.pass()
  await receives(count)
  await hasSavedAll()
  receiver.received = []
  return tenants
}
const idsOf = (tenants: readonly TestTenant[]) => tenants.map(({ tenantId }) => tenantId)

test('events for a named tenant are sent, and events for others are left to the next pass', async () => {
  const [named, other] = await knownTenants(2)
  const [notifyId] = await testbed.record(named!)
  await testbed.record(other!)
  expect(await sender.claimFor([named!.tenantId])).toBe(true)
  await receives(1)
  expect(receiver.received.map((event) => event.notifyId)).toEqual([notifyId])
  await sender.pass()
  await receives(2)
})

test('a tenant with an unknown endpoint is left to a pass over all tenants', async () => {
  const [known] = await knownTenants(1)
  const unknown = await addTenant()
  await testbed.record(known!)
  await testbed.record(unknown)
  expect(await sender.claimFor(idsOf([known!, unknown]))).toBe(false)
  expect(sender.idle).toBe(true)
  await sender.pass()
  await receives(2)
})

test('a tenant whose endpoint was disabled is left to a pass, which marks its events UNSENT', async () => {
  const [tenant] = await knownTenants(1)
  await testbed.deps.db.query({
    text: 'update webhook_endpoints set enabled = false where tenant_id = $1',
    values: [tenant!.tenantId],
  })
  await testbed.record(tenant!)
  await sender.claimFor([tenant!.tenantId])
  expect(await sender.claimFor([tenant!.tenantId])).toBe(false)
  await sender.pass()
  expect((await testbed.states(tenant!)).map(({ deliveryState }) => deliveryState)).toContain('UNSENT')
  expect(receiver.received).toEqual([])
})

test('a tenant whose queue another node holds is left to a pass', async () => {
  const [tenant] = await knownTenants(1)
  await testbed.deps.db.query({
    text: `insert into endpoint_queues (tenant_id, node_id, lease_until)
           values ($1, gen_random_uuid(), now() + interval '20 seconds')
           on conflict (tenant_id) do update set node_id = excluded.node_id, lease_until = excluded.lease_until`,
    values: [tenant!.tenantId],
  })
  await testbed.record(tenant!)
  await sender.claimFor([tenant!.tenantId])
  expect(await sender.claimFor([tenant!.tenantId])).toBe(false)
  expect(receiver.received).toEqual([])
})

test('too many named tenants are not claimed together, and are left to a pass', async () => {
  const tenants = await knownTenants(90)
  for (const tenant of tenants) await testbed.record(tenant)
  expect(await sender.claimFor(idsOf(tenants))).toBe(false)
  expect(await sender.claimFor(idsOf(tenants.slice(0, 70)))).toBe(true)
  await receives(70)
  await hasSavedAll()
  expect(await sender.claimFor(idsOf(tenants.slice(70)))).toBe(true)
  await receives(90)
})
