import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:net'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

let testbed: Testbed
let receiver: Receiver
beforeAll(async () => {
  testbed = await createTestbed({ faster: 10 })
  receiver = await startReceiver(200, { scriptHealth: true })
})
afterAll(async () => {
  await testbed.close()
  await receiver.close()
})
afterEach(() => {
  receiver.received = []
  receiver.script = 200
})

type Request = Parameters<typeof setWebhook>[2]
const set = ({ tenantId }: TestTenant, request: Request) =>
  setWebhook(testbed.deps, tenantId, request, { actor: 'tenant', address: '192.0.2.7' })

async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => expect.unreachable('it was not refused'),
    (thrown) => thrown,
  )
  expect(error).toBeInstanceOf(ApiError)
  return error as ApiError
}

test('{} reads the setting without changing it, even if it was never set', async () => {
  const tenant = await testbed.tenant()
  const fresh = {
    ...{ callbackUrl: null, eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED'], enabled: true },
    ...{ usageThresholds: [50, 80, 100], expiryNoticeHours: [24, 72] },
  }
  expect(await set(tenant, {})).toEqual({ ...fresh, lastUpdateTime: expect.any(String) })
  expect(receiver.received).toHaveLength(0)
  const audited = { text: 'select action from audit_log where tenant_id = $1', values: [tenant.tenantId] }
  expect(await testbed.deps.db.query(audited)).toEqual([])
})

test('a URL is set once it has answered a signed CHECK_HEALTH, and the change is audited', async () => {
  const tenant = await testbed.tenant()
  const answer = await set(tenant, { callbackUrl: `${receiver.url}?token=hunter2` })
  expect(answer).toMatchObject({ callbackUrl: `${receiver.url}?token=hunter2`, enabled: true })
  const [check] = receiver.received
  expect(JSON.parse(check!.body)).toMatchObject({ notifyType: 'CHECK_HEALTH', content: {} })
  expect(check!.headers['webhook-signature']).toMatch(/^v1,/)
  const [entry] = await testbed.deps.db.query<{ action: string; after: unknown; address: string }>({
    text: 'select action, after, address from audit_log where tenant_id = $1',
    values: [tenant.tenantId],
  })
  expect(entry).toMatchObject({ action: 'webhook.set', address: '192.0.2.7' })
  expect(JSON.stringify(entry?.after)).not.toContain('hunter2')
  expect(await testbed.attempts(tenant)).toMatchObject([{ notifyType: 'CHECK_HEALTH', outcome: 'acknowledged' }])
})

test('a URL is stored only encrypted, and bound to its tenant', async () => {
  const tenant = await testbed.tenant()
  const callbackUrl = `${receiver.url}/hooks/hunter2?token=hunter2`
  await set(tenant, { callbackUrl })
  const [row] = await testbed.deps.db.query<{ callbackUrl: Buffer }>({
    text: 'select callback_url from webhook_endpoints where tenant_id = $1',
    values: [tenant.tenantId],
  })
  const stored = row!.callbackUrl
  expect(stored.toString('latin1')).not.toMatch(/http|127\.0\.0\.1|localhost|hunter2/)
  const { cipher } = testbed.deps
  expect(cipher.decrypt(stored, tenant.tenantId).toString()).toBe(callbackUrl)
  expect(() => cipher.decrypt(stored, testbed.deps.ids.uuid())).toThrow(/belongs to another owner/)
})

test('a URL that does not answer with 2xx is refused with 400102, and the old setting stays', async () => {
  const tenant = await testbed.tenant()
  await set(tenant, { callbackUrl: receiver.url })
  receiver.script = 500
  const error = await refusal(set(tenant, { callbackUrl: `${receiver.url}/new`, eventTypes: [] }))
  expect(error.code).toBe('400102')
  expect(error.parts.details).toEqual([{ field: 'callbackUrl', reason: 'The health check failed: status 500.' }])
  expect(await set(tenant, {})).toMatchObject({
    callbackUrl: receiver.url,
    eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED'],
  })
})

test('the refusal quotes the response’s first line, shortened and without secrets', async () => {
  const tenant = await testbed.tenant()
  const said = async (answer: (headers: IncomingHttpHeaders) => string) => {
    receiver.script = (request, response) => void response.writeHead(500).end(answer(request.headers))
    const { parts } = await refusal(set(tenant, { callbackUrl: receiver.url }))
    return parts.details![0]!.reason
  }
  expect(await said(() => '\n  no such handler: \u2028\u202e/é-events \r\nstack trace\n')).toBe(
    'The health check failed: status 500. It said: “no such handler:   /é-events”',
  )
  expect(await said((headers) => `bad signature ${headers['x-signature']} of ${tenant.appSecret}`)).toBe(
    'The health check failed: status 500. It said: “bad signature *** of ***”',
  )
  expect(await said(() => '😀'.repeat(1_000))).toBe(
    `The health check failed: status 500. It said: “${'😀'.repeat(200)}”`,
  )
  expect(await said(() => ' \n\t\n')).toBe('The health check failed: status 500.')
})

test('absent members keep their values and null removes the URL, without a health check', async () => {
  const tenant = await testbed.tenant()
  await set(tenant, { callbackUrl: receiver.url, eventTypes: ['DELIVERY_UPDATED'] })
  receiver.received = []
  expect(await set(tenant, { enabled: false })).toMatchObject({
    callbackUrl: receiver.url,
    eventTypes: ['DELIVERY_UPDATED'],
    enabled: false,
  })
  expect(await set(tenant, { callbackUrl: null })).toMatchObject({ callbackUrl: null, enabled: false })
  expect(receiver.received).toHaveLength(0)
})

test('usage thresholds and expiry hours are stored in ascending order without duplicates', async () => {
  const tenant = await testbed.tenant()
  const answer = await set(tenant, { usageThresholds: [90, 10, 90], expiryNoticeHours: [48, 1] })
  expect(answer).toMatchObject({ usageThresholds: [10, 90], expiryNoticeHours: [1, 48] })
  expect(await set(tenant, { expiryNoticeHours: [] })).toMatchObject({
    usageThresholds: [10, 90],
    expiryNoticeHours: [],
  })
  expect(await set(tenant, {})).toMatchObject({ usageThresholds: [10, 90], expiryNoticeHours: [] })
  expect(receiver.received).toHaveLength(0)
  const rows = await testbed.deps.db.query({
    text: `select before->'expiryNoticeHours' as before, after->'expiryNoticeHours' as after from audit_log
           where tenant_id = $1 order by audit_id`,
    values: [tenant.tenantId],
  })
  expect(rows).toEqual([
    { before: [24, 72], after: [1, 48] },
    { before: [1, 48], after: [] },
  ])
})

test('a subscription to the specification’s event types never gains further types automatically', async () => {
  const tenant = await testbed.tenant()
  await set(tenant, { usageThresholds: [10] })
  expect(await set(tenant, {})).toMatchObject({ eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED'] })
  const all = ['ESIM_USAGE', 'ESIM_EXPIRING', 'ESIM_ACTION_UPDATED', 'BALANCE_LOW'] as const
  expect(await set(tenant, { eventTypes: [...all] })).toMatchObject({ eventTypes: [...all] })
})

test('enabling an endpoint triggers a health check', async () => {
  const tenant = await testbed.tenant()
  await set(tenant, { callbackUrl: receiver.url, enabled: false })
  receiver.received = []
  receiver.script = 503
  expect((await refusal(set(tenant, { enabled: true }))).code).toBe('400102')
  receiver.script = 200
  expect(await set(tenant, { enabled: true })).toMatchObject({ enabled: true })
  expect(receiver.received.map((one) => one.notifyType)).toEqual(['CHECK_HEALTH', 'CHECK_HEALTH'])
})

test.each(['GONE', 'FAILING'])(
  'an endpoint that the gateway disabled (%s) is enabled by setting its URL',
  async (reason) => {
    const tenant = await testbed.tenant({ callbackUrl: receiver.url })
    await testbed.deps.db.query({
      text: `update webhook_endpoints set enabled = false, disabled_reason = $2, failing_since = now(), alerted_percent = 90
           where tenant_id = $1`,
      values: [tenant.tenantId, reason],
    })
    expect(await set(tenant, { eventTypes: ['ORDER_PAID'] })).toMatchObject({ enabled: false })
    expect(await set(tenant, { callbackUrl: receiver.url })).toMatchObject({ enabled: true })
    expect(await testbed.endpoint(tenant)).toMatchObject({
      disabledReason: null,
      failingSince: null,
      alertedPercent: 0,
    })
  },
)

test('an endpoint that the tenant disabled stays disabled when only its URL is set', async () => {
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  await set(tenant, { enabled: false })
  expect(await set(tenant, { callbackUrl: `${receiver.url}/new` })).toMatchObject({ enabled: false })
})

test('a second health check is refused while another one is running', async () => {
  const tenant = await testbed.tenant()
  const arrived = new Promise<() => void>((resolve) => {
    receiver.script = (_, response) => resolve(() => response.end())
  })
  const first = set(tenant, { callbackUrl: receiver.url })
  const answer = await arrived
  const error = await refusal(set(tenant, { callbackUrl: receiver.url }))
  expect(error.code).toBe('101007')
  expect(Number(error.parts.headers?.['Retry-After'])).toBeGreaterThan(0)
  answer()
  await first
})

test('a saved setting is reported as saved even if the check’s lock could not be released', async () => {
  const tenant = await testbed.tenant()
  await testbed.deps.db.query({
    text: `create function refuse() returns trigger language plpgsql as $$ begin
             raise 'out of time' using errcode = 'query_canceled'; end $$`,
  })
  await testbed.deps.db.query({
    text: `create trigger refused before update on webhook_checks for each row
           when (new.lease_until = 'epoch') execute function refuse()`,
  })
  try {
    expect(await set(tenant, { callbackUrl: receiver.url })).toMatchObject({ callbackUrl: receiver.url })
  } finally {
    await testbed.deps.db.query({ text: 'drop function refuse cascade' })
  }
})

test('an eleventh health check within a minute is refused with 101007', async () => {
  const tenant = await testbed.tenant()
  for (let time = 0; time < 10; time++) await set(tenant, { callbackUrl: receiver.url })
  const error = await refusal(set(tenant, { callbackUrl: receiver.url }))
  expect(error.code).toBe('101007')
  expect(error.parts.headers).toMatchObject({ 'RateLimit-Limit': '10', 'RateLimit-Remaining': '0' })
  testbed.advance(Number(error.parts.headers?.['Retry-After']) * 1000)
  await set(tenant, { callbackUrl: receiver.url })
})

test('a receiver that hangs is refused after 5 s', async () => {
  const tenant = await testbed.tenant()
  receiver.script = () => {}
  const error = await refusal(set(tenant, { callbackUrl: receiver.url }))
  expect(error.code).toBe('400102')
  expect(error.parts.details?.[0]?.reason).toContain('no answer')
  expect(testbed.limitsMs.at(-1)).toBe(5_000)
})

test('a refused connection counts as a failed check with a readable message', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  const tenant = await testbed.tenant()
  const error = await refusal(set(tenant, { callbackUrl: `http://127.0.0.1:${port}/` }))
  expect(error.code).toBe('400102')
  expect(error.parts.details?.[0]?.reason).toContain('no connection to 127.0.0.1')
})

describe('on a production deployment', () => {
  let production: Testbed
  const names: Record<string, string[]> = {
    'private.example': ['10.1.2.3'],
    'mixed.example': ['93.184.216.34', '169.254.169.254'],
    'six.example': ['fd00::1'],
  }
  beforeAll(async () => {
    production = await createTestbed({ deployment: 'production', resolve: async (name) => names[name] ?? [] })
  })
  afterAll(() => production.close())

  test.each([
    'http://dealer.example/events',
    'https://user:secret@dealer.example/',
    'ftp://dealer.example/',
    'nonsense',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[64:ff9b::a00:1]/',
    'https://[2002:a00:1::]/',
    'https://10.0.0.1/',
    'https://100.64.1.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://192.168.0.1/',
    'https://224.0.0.1/',
    'https://0.0.0.0/',
    'https://[fe80::1]/',
    'https://private.example/',
    'https://mixed.example/',
    'https://six.example/',
  ])('%s is refused with 400101', async (callbackUrl) => {
    const tenant = await production.tenant()
    const call = setWebhook(production.deps, tenant.tenantId, { callbackUrl }, { actor: 'tenant' })
    const error = await refusal(call)
    expect(error.code).toBe('400101')
    expect(error.parts.details?.[0]?.field).toBe('callbackUrl')
  })

  test('a host name without an address fails its health check', async () => {
    const tenant = await production.tenant()
    const request = { callbackUrl: 'https://nowhere.example/' }
    const error = await refusal(setWebhook(production.deps, tenant.tenantId, request, { actor: 'tenant' }))
    expect(error.code).toBe('400102')
  })
})
