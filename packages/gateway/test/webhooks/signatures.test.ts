import { webhookSecret } from '@dealer-esim/contract'
import { verifyEvent } from '@dealer-esim/sdk'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type Received, type Receiver, startReceiver } from './receiver.ts'
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
})

const OLD = 'old-secret-of-the-tenant-0123456789'

/** A reset with a grace period; `proven`: a request signed with the new secret has arrived. */
async function inGrace(proven: boolean): Promise<TestTenant> {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const { db, ids, cipher } = testbed.deps
  await db.query({
    text: `insert into tenant_secrets (tenant_id, secret_id, ciphertext, valid_until, proven_at)
           values ($1, $2, $3, now() + interval '1 hour', now())`,
    values: [tenant.tenantId, ids.uuid(), cipher.encrypt(OLD, tenant.tenantId)],
  })
  await db.query({
    text: 'update tenant_secrets set proven_at = case when $2 then now() end where tenant_id = $1 and valid_until is null',
    values: [tenant.tenantId, proven],
  })
  return tenant
}

async function receive(tenant: TestTenant): Promise<Received> {
  await testbed.record(tenant)
  return vi.waitFor(() => {
    expect(receiver.received).toHaveLength(1)
    return receiver.received[0]!
  }, 20_000)
}

const standard = (secret: string, { body, headers }: Received) =>
  new Webhook(webhookSecret(secret)).verify(body, headers as Record<string, string>)

test('the Standard Webhooks library and our SDK verify an event', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const received = await receive(tenant)
  expect(() => standard(tenant.appSecret, received)).not.toThrow()
  const { headers, body } = received
  expect(await verifyEvent({ appSecret: tenant.appSecret, headers, body })).toMatchObject({ notifyType: 'ORDER_PAID' })
  await expect(verifyEvent({ appSecret: OLD, headers, body })).rejects.toMatchObject({ code: 'EVENT_REFUSED' })
})

test.each([
  ['before a request with the new one has arrived', false, 'old'],
  ['after it', true, 'new'],
] as const)(
  'in a grace period both secrets verify; %s, the request scheme uses the %s secret',
  async (_, proven, known) => {
    const tenant = await inGrace(proven)
    const received = await receive(tenant)
    expect(() => standard(tenant.appSecret, received)).not.toThrow()
    expect(() => standard(OLD, received)).not.toThrow()
    for (const appSecret of [tenant.appSecret, OLD]) await verifyEvent({ appSecret, ...received })
    // Only the request scheme:
    const headers = Object.fromEntries(
      Object.entries(received.headers).filter(([name]) => !name.startsWith('webhook-')),
    )
    const [right, wrong] = known === 'old' ? [OLD, tenant.appSecret] : [tenant.appSecret, OLD]
    await verifyEvent({ appSecret: right, headers, body: received.body })
    await expect(verifyEvent({ appSecret: wrong, headers, body: received.body })).rejects.toThrow()
  },
)

test('a single flipped bit fails verification, with either secret', async () => {
  const tenant = await inGrace(false)
  const { body, headers } = await receive(tenant)
  const bytes = Buffer.from(body)
  for (let position = 0; position < bytes.length; position += 7) {
    const flipped = Buffer.from(bytes)
    flipped[position] = flipped[position]! ^ 1
    for (const appSecret of [tenant.appSecret, OLD]) {
      await expect(verifyEvent({ appSecret, headers, body: flipped })).rejects.toThrow()
    }
  }
})
