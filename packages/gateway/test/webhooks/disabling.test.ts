import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

const HOUR_MS = 3_600_000

let testbed: Testbed
let receiver: Receiver
let loop: ReturnType<Testbed['startLoop']>
beforeAll(async () => {
  testbed = await createTestbed()
  receiver = await startReceiver(500)
  loop = testbed.startLoop()
})
afterAll(async () => {
  await testbed.close()
  await receiver.close()
})
afterEach(() => {
  receiver.script = 500
})

/** Waits until everything that is due has been attempted. */
const tried = (tenant: TestTenant, count: number) =>
  vi.waitFor(async () => {
    expect((await testbed.attempts(tenant)).length).toBeGreaterThanOrEqual(count)
    expect(loop.idle).toBe(true)
  }, 60_000)

async function noticesOf(tenant: TestTenant) {
  const rows = await testbed.deps.db.query<{ kind: string; data: { percent?: number } }>({
    text: 'select kind, data from alerts where tenant_id = $1 order by alert_id',
    values: [tenant.tenantId],
  })
  return rows.map(({ kind, data }) => (data.percent === undefined ? kind : `${kind} ${data.percent}`))
}

/** One more failure, with a new event. */
async function failOnce(tenant: TestTenant): Promise<void> {
  const before = (await testbed.attempts(tenant)).length
  await testbed.record(tenant)
  await tried(tenant, before + 1)
}

test('a 410 for an attempt made before the URL was set again does not disable the endpoint', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  let answer: (status: number) => void = () => {}
  const asked = new Promise<void>((resolve) => {
    receiver.script = (_, response) => {
      answer = (status) => response.writeHead(status).end()
      resolve()
    }
  })
  await testbed.record(tenant)
  await asked
  await setWebhook(testbed.deps, tenant.tenantId, { callbackUrl: receiver.url }, { actor: 'tenant' })
  answer(410)
  await tried(tenant, 2) // the URL check is one of the two attempts
  expect((await testbed.endpoint(tenant)).enabled).toBe(true)
  receiver.script = 410
  await failOnce(tenant)
  await expect.poll(() => testbed.endpoint(tenant)).toMatchObject({ enabled: false, disabledReason: 'GONE' })
})

test('a failing endpoint raises warnings at 50, 75 and 90 percent of 72 hours, then is disabled', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await failOnce(tenant)
  expect(await noticesOf(tenant)).toEqual([])
  for (const hours of [36, 18, 10.8]) {
    testbed.advance(hours * HOUR_MS)
    await failOnce(tenant)
  }
  expect(await noticesOf(tenant)).toEqual(['ENDPOINT_FAILING 50', 'ENDPOINT_FAILING 75', 'ENDPOINT_FAILING 90'])
  expect((await testbed.endpoint(tenant)).enabled).toBe(true)
  testbed.advance(7.2 * HOUR_MS)
  await failOnce(tenant)
  expect(await testbed.endpoint(tenant)).toMatchObject({ enabled: false, disabledReason: 'FAILING' })
  expect((await noticesOf(tenant)).at(-1)).toBe('ENDPOINT_DISABLED')
  const audited = { text: 'select action, actor from audit_log where tenant_id = $1', values: [tenant.tenantId] }
  expect(await testbed.deps.db.query(audited)).toEqual([{ action: 'webhook.disable', actor: 'system' }])

  await testbed.record(tenant)
  await vi.waitFor(async () => {
    const waiting = (await testbed.states(tenant)).filter((event) => event.deliveryState === 'PENDING')
    expect(waiting).toEqual([])
  }, 60_000)

  receiver.script = 200
  const { enabled } = await setWebhook(testbed.deps, tenant.tenantId, { enabled: true }, { actor: 'tenant' })
  expect(enabled).toBe(true)
  await testbed.record(tenant)
  await vi.waitFor(async () => {
    expect((await testbed.states(tenant)).at(-1)?.deliveryState).toBe('DELIVERED')
  }, 60_000)
})

test('a success ends the failure window, and the next failure starts a new window', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await failOnce(tenant)
  receiver.script = 200
  testbed.advance(40 * HOUR_MS)
  await failOnce(tenant)
  await expect.poll(async () => (await testbed.endpoint(tenant)).failingSince).toBeNull()
  receiver.script = 500
  testbed.advance(40 * HOUR_MS)
  await failOnce(tenant)
  expect(await testbed.endpoint(tenant)).toMatchObject({ enabled: true, alertedPercent: 0 })
  expect(await noticesOf(tenant)).toEqual([])
})

test('an endpoint without traffic is never disabled, however long ago it failed', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await testbed.deps.db.query({
    text: 'update webhook_endpoints set failing_since = $2 where tenant_id = $1',
    values: [tenant.tenantId, new Date(testbed.deps.databaseClock.now() - 1_000 * HOUR_MS)],
  })
  const busy = await testbed.tenant({ callbackUrl: receiver.url })
  testbed.advance(1_000 * HOUR_MS)
  await failOnce(busy) // a pass has checked all endpoints since
  expect((await testbed.endpoint(tenant)).enabled).toBe(true)
})

test('failures at the old URL do not count against a new URL', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await failOnce(tenant)
  receiver.script = 200
  const setting = { callbackUrl: `${receiver.url}/new` }
  await setWebhook(testbed.deps, tenant.tenantId, setting, { actor: 'tenant' })
  expect((await testbed.endpoint(tenant)).failingSince).toBeNull()
})
