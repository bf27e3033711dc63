import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { setWebhook } from '../../src/webhooks/setting.ts'
import { settle } from '../../src/webhooks/settle.ts'
import { type Bed, openBed, type TestTenant } from './bed.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const HOUR_MS = 3_600_000

let bed: Bed
let receiver: Receiver
let loop: ReturnType<Bed['startLoop']>
beforeAll(async () => {
  bed = await openBed()
  receiver = await startReceiver(500)
  loop = bed.startLoop()
})
afterAll(async () => {
  await bed.close()
  await receiver.close()
})
afterEach(() => {
  receiver.script = 500
})

/** Everything that is due has been tried. */
const tried = (tenant: TestTenant, count: number) =>
  vi.waitFor(async () => {
    expect((await bed.attempts(tenant)).length).toBeGreaterThanOrEqual(count)
    expect(loop.idle).toBe(true)
  }, 10_000)

async function noticesOf(tenant: TestTenant) {
  const rows = await bed.deps.db.query<{ kind: string; data: { percent?: number } }>({
    text: 'select kind, data from alerts where tenant_id = $1 order by alert_id',
    values: [tenant.tenantId],
  })
  return rows.map(({ kind, data }) => (data.percent === undefined ? kind : `${kind} ${data.percent}`))
}

/** One more failure, of a new event. */
async function failOnce(tenant: TestTenant): Promise<void> {
  const before = (await bed.attempts(tenant)).length
  await bed.record(tenant)
  await tried(tenant, before + 1)
}

test('a 410 from before its URL was set anew disables nothing', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  const setMs = (await bed.endpoint(tenant)).updatedAt.getTime()
  const answered = (atMs: number) =>
    settle(bed.deps, bed.deps.ids.uuid(), {
      settlements: [],
      changes: [{ ...tenant, url: receiver.url, atMs, change: { change: 'DISABLE', reason: 'GONE', sinceMs: atMs } }],
      left: [],
    })
  await answered(setMs - 1_000)
  expect((await bed.endpoint(tenant)).enabled).toBe(true)
  await answered(setMs + 1_000)
  expect(await bed.endpoint(tenant)).toMatchObject({ enabled: false, disabledReason: 'GONE' })
})

test('an endpoint that fails is warned about at 50, 75 and 90 percent, and disabled after 72 hours', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await failOnce(tenant)
  expect(await noticesOf(tenant)).toEqual([])
  for (const hours of [36, 18, 10.8]) {
    bed.advance(hours * HOUR_MS)
    await failOnce(tenant)
  }
  expect(await noticesOf(tenant)).toEqual(['ENDPOINT_FAILING 50', 'ENDPOINT_FAILING 75', 'ENDPOINT_FAILING 90'])
  expect((await bed.endpoint(tenant)).enabled).toBe(true)
  bed.advance(7.2 * HOUR_MS)
  await failOnce(tenant)
  expect(await bed.endpoint(tenant)).toMatchObject({ enabled: false, disabledReason: 'FAILING' })
  expect((await noticesOf(tenant)).at(-1)).toBe('ENDPOINT_DISABLED')
  const audited = { text: 'select action, actor from audit_log where tenant_id = $1', values: [tenant.tenantId] }
  expect(await bed.deps.db.query(audited)).toEqual([{ action: 'webhook.disable', actor: 'system' }])

  await bed.record(tenant)
  await vi.waitFor(async () => {
    const waiting = (await bed.states(tenant)).filter((event) => event.deliveryState === 'PENDING')
    expect(waiting).toEqual([])
  }, 10_000)

  receiver.script = 200
  const { enabled } = await setWebhook(bed.deps, tenant.tenantId, { enabled: true }, { actor: 'tenant' })
  expect(enabled).toBe(true)
  await bed.record(tenant)
  await vi.waitFor(async () => {
    expect((await bed.states(tenant)).at(-1)?.deliveryState).toBe('DELIVERED')
  }, 10_000)
})

test('a success ends the window: the next failure begins a new one', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await failOnce(tenant)
  receiver.script = 200
  bed.advance(40 * HOUR_MS)
  await failOnce(tenant)
  await expect.poll(async () => (await bed.endpoint(tenant)).failingSince).toBeNull()
  receiver.script = 500
  bed.advance(40 * HOUR_MS)
  await failOnce(tenant)
  expect(await bed.endpoint(tenant)).toMatchObject({ enabled: true, alertedPercent: 0 })
  expect(await noticesOf(tenant)).toEqual([])
})

test('an idle endpoint is never disabled, however long ago it failed', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await bed.deps.db.query({
    text: 'update webhook_endpoints set failing_since = $2 where tenant_id = $1',
    values: [tenant.tenantId, new Date(bed.deps.databaseClock.now() - 1_000 * HOUR_MS)],
  })
  const busy = await bed.tenant({ callbackUrl: receiver.url })
  bed.advance(1_000 * HOUR_MS)
  await failOnce(busy) // a pass has looked at everything meanwhile
  expect((await bed.endpoint(tenant)).enabled).toBe(true)
})

test('failures of the old URL do not count against a new one', async () => {
  const tenant = await bed.tenant({ callbackUrl: receiver.url })
  await failOnce(tenant)
  receiver.script = 200
  const setting = { callbackUrl: `${receiver.url}/new` }
  await setWebhook(bed.deps, tenant.tenantId, setting, { actor: 'tenant' })
  expect((await bed.endpoint(tenant)).failingSince).toBeNull()
})
