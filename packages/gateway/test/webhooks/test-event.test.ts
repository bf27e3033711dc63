import { createServer } from 'node:net'
import { EVENT_TYPES, events } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { verifyEvent } from '@dealer-esim/sdk'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { testWebhook } from '#webhooks/endpoint/test-webhook.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

let testbed: Testbed
let receiver: Receiver
beforeAll(async () => {
  testbed = await createTestbed()
  receiver = await startReceiver()
})
afterAll(async () => {
  await testbed.close()
  await receiver.close()
})
afterEach(() => {
  receiver.received = []
  receiver.script = 200
})

const BY = { actor: 'tenant', address: '192.0.2.7' } as const
const set = ({ tenantId }: TestTenant, request: Parameters<typeof setWebhook>[2]) =>
  setWebhook(testbed.deps, tenantId, request, BY)
const send = ({ tenantId }: TestTenant, type: (typeof EVENT_TYPES)[number] = 'ORDER_PAID') =>
  testWebhook(testbed.deps, tenantId, type)
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => '000000',
    (error) => (error instanceof ApiError ? error.code : Promise.reject(error)),
  )

async function rowsOf({ tenantId }: TestTenant) {
  const count = (table: string) => ({ text: `select * from ${table} where tenant_id = $1`, values: [tenantId] })
  const tables = ['events', 'deliveries', 'delivery_attempts', 'webhook_endpoints', 'audit_log']
  return Promise.all(tables.map((table) => testbed.deps.db.query(count(table))))
}

test('a test event of any type is signed, fits its schema and refers to nothing real, subscribed or not', async () => {
  const tenant = await testbed.tenant()
  await set(tenant, { callbackUrl: receiver.url, eventTypes: [] })
  const before = await rowsOf(tenant)
  for (const type of EVENT_TYPES) {
    expect(await send(tenant, type)).toEqual({
      ...{ acknowledged: true, httpStatus: 200, failure: null },
      durationMs: expect.any(Number),
    })
    const { headers, body } = receiver.received.at(-1)!
    const event = JSON.parse(body)
    expect(event).toMatchObject({ notifyType: type, test: true })
    expect(Check(events[type].body, event), body).toBe(true)
    expect(await verifyEvent({ appSecret: tenant.appSecret, headers, body })).toEqual(event)
    const { orderNo, iccid, amount = 0, balance = 0, refundAmount = 0 } = event.content
    if (type !== 'BALANCE_LOW') expect(orderNo).toMatch(/^TEST-/)
    if (iccid !== undefined) expect(iccid).toMatch(/^89999/)
    expect([amount, balance, refundAmount]).toEqual([0, 0, 0])
  }
  expect(receiver.received).toHaveLength(1 + EVENT_TYPES.length)
  expect(await rowsOf(tenant)).toEqual(before)
})

test('a failed test event is reported with its cause and changes nothing, not even after a 410', async () => {
  const tenant = await testbed.tenant()
  await set(tenant, { callbackUrl: receiver.url })
  const before = await rowsOf(tenant)
  receiver.script = 500
  expect(await send(tenant)).toMatchObject({ acknowledged: false, httpStatus: 500, failure: 'STATUS' })
  receiver.script = 410
  expect(await send(tenant)).toMatchObject({ acknowledged: false, httpStatus: 410, failure: 'STATUS' })
  receiver.script = (_, response) => response.socket?.destroy()
  expect(await send(tenant)).toMatchObject({ acknowledged: false, httpStatus: null, failure: 'REFUSED' })
  expect(await rowsOf(tenant)).toEqual(before)
  receiver.script = 204
  expect(await send(tenant)).toMatchObject({ acknowledged: true, httpStatus: 204, failure: null })
})

test('a closed port, a port without TLS and a disallowed address are reported as such', async () => {
  const tenant = await testbed.tenant()
  const silent = createServer((socket) => socket.end('no TLS here', () => socket.destroy()))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  const failureAt = async (callbackUrl: string, deps = testbed.deps) => {
    const encrypted = deps.cipher.encrypt(callbackUrl, tenant.tenantId)
    await deps.db.query({
      text: `insert into webhook_endpoints (tenant_id, callback_url) values ($1, $2)
             on conflict (tenant_id) do update set callback_url = $2`,
      values: [tenant.tenantId, encrypted],
    })
    return (await testWebhook(deps, tenant.tenantId, 'ORDER_PAID')).failure
  }
  expect(await failureAt(`https://127.0.0.1:${port}/`)).toBe('TLS')
  expect(await failureAt('http://nothing.invalid/')).toBe('ADDRESS')
  const production = { ...testbed.deps, config: { ...testbed.deps.config, deployment: 'production' as const } }
  expect(await failureAt(`https://127.0.0.1:${port}/`, production)).toBe('ADDRESS')
  await new Promise((resolve) => silent.close(resolve))
  expect(await failureAt(`http://127.0.0.1:${port}/`)).toBe('REFUSED')
})

test('a test event is refused with 400101 if there is no URL or the endpoint is disabled', async () => {
  const tenant = await testbed.tenant()
  expect(await codeOf(send(tenant))).toBe('400101')
  await set(tenant, { callbackUrl: receiver.url })
  await set(tenant, { enabled: false })
  expect(await codeOf(send(tenant))).toBe('400101')
  expect(receiver.events).toHaveLength(0)
})

test('test events share ten calls a minute with health checks, and run one at a time', async () => {
  const tenant = await testbed.tenant()
  await set(tenant, { callbackUrl: receiver.url })
  let release = () => {}
  receiver.script = (_, response) => (release = () => response.writeHead(200).end())
  const first = send(tenant)
  await expect.poll(() => receiver.events.length).toBe(1)
  expect(await codeOf(send(tenant))).toBe('101007')
  release()
  expect(await first).toMatchObject({ acknowledged: true })
  receiver.script = 200
  for (let sent = 2; sent < 10; sent++) await send(tenant)
  expect(await codeOf(send(tenant))).toBe('101007')
  expect(await codeOf(set(tenant, { callbackUrl: receiver.url }))).toBe('101007')
})

test('an RT test event has the RT format, and types that the format lacks are refused', async () => {
  const tenant = await testbed.tenant()
  await set(tenant, { callbackUrl: receiver.url, eventFormat: 'RT' })
  expect(await send(tenant, 'ESIM_USAGE')).toMatchObject({ acknowledged: true })
  expect(JSON.parse(receiver.received.at(-1)!.body)).toMatchObject({ notifyType: 'DATA_USAGE', test: true })
  expect(await codeOf(send(tenant, 'ORDER_PAID'))).toBe('000108')
})
