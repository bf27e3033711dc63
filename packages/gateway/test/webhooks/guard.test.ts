import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { dropPastPartitions } from '#platform/retention/retention-loop.ts'
import { POLL_MS } from '#webhooks/webhook-limits.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed } from './webhook-testbed.ts'

let receiver: Receiver
let production: Testbed
let local: Testbed
const names: Record<string, string[]> = { 'rebound.example': ['127.0.0.1'], 'mixed.example': ['93.184.216.34', '::1'] }
beforeAll(async () => {
  receiver = await startReceiver()
  production = await createTestbed({ deployment: 'production', resolve: async (name) => names[name] ?? [] })
  local = await createTestbed()
  production.startLoop()
  local.startLoop()
})
afterAll(async () => {
  await production.close()
  await local.close()
  await receiver.close()
})

const port = () => new URL(receiver.url).port

test.each([
  ['a name that resolved to a public address when it was set', () => `https://rebound.example:${port()}/`],
  ['a name of which one address is private', () => `https://mixed.example:${port()}/`],
  ['a literal', () => `https://127.0.0.1:${port()}/`],
  ['a decimal', () => `https://2130706433:${port()}/`],
  ['a hexadecimal', () => `https://0x7f.1:${port()}/`],
  ['an octal', () => `https://0177.0.0.1:${port()}/`],
  ['mapped IPv6', () => `https://[::ffff:127.0.0.1]:${port()}/`],
  ['CGNAT', () => 'https://100.64.0.1/'],
  ['NAT64', () => 'https://[64:ff9b::7f00:1]/'],
  ['6to4', () => 'https://[2002:7f00:1::]/'],
  ['link-local', () => 'https://[fe80::1]/'],
  ['metadata', () => 'https://169.254.169.254/latest/meta-data/'],
  ['multicast', () => 'https://224.0.0.1/'],
  ['unspecified', () => 'https://0.0.0.0/'],
  ['unique local', () => 'https://[fd00::1]/'],
])('nothing is sent to a forbidden address: %s', async (_, url) => {
  const tenant = await production.tenant({ callbackUrl: url() })
  await production.record(tenant)
  await vi.waitFor(async () => expect(await production.attempts(tenant)).toHaveLength(1), 20_000)
  expect((await production.attempts(tenant))[0]?.outcome).toMatch(/which is not allowed/)
  expect(receiver.received).toEqual([])
})

test('a local deployment can send to its own machine', async () => {
  const tenant = await local.tenant({ callbackUrl: receiver.url })
  await local.record(tenant)
  await expect.poll(() => receiver.received.map((one) => one.headers['rt-accesscode'])).toContain(tenant.appKey)
})

test('an idle sender is woken long before its next poll', async () => {
  const tenant = await local.tenant({ callbackUrl: receiver.url })
  const takenMs: number[] = []
  for (let number = 0; number < 20; number++) {
    const [notifyId] = await local.record(tenant)
    const committed = performance.now()
    const find = () => receiver.received.find((one) => one.notifyId === notifyId)
    await vi.waitFor(() => expect(find()).toBeDefined(), { timeout: 20_000, interval: 1 })
    takenMs.push(find()!.at - committed)
  }
  const medianMs = takenMs.sort((left, right) => left - right)[10]!
  expect(medianMs).toBeLessThan(POLL_MS / 2) // on an idle machine it is 3 ms
})

test('attempts are counted and timed in the metrics', async () => {
  const testbed = await createTestbed()
  const tenant = await testbed.tenant({ callbackUrl: receiver.url })
  const loop = testbed.startLoop()
  await testbed.record(tenant, 3)
  await vi.waitFor(async () => {
    expect((await testbed.states(tenant)).every((event) => event.deliveryState === 'DELIVERED')).toBe(true)
  }, 20_000)
  const text = await loop.metrics.metrics()
  expect(text).toContain('dealer_esim_webhook_attempts_total{outcome="acknowledged"} 3')
  expect(text).toContain('dealer_esim_webhook_first_attempt_seconds_count 3')
  expect(text).toContain('dealer_esim_webhook_acknowledged_seconds_count 3')
  expect(text).toMatch(/dealer_esim_webhook_queue_age_seconds\{state="due"\} \d/)
  await testbed.close()
})

test('dead events and the delivery log are dropped by partition after 30 days', async () => {
  const { db } = local.deps
  const dayMs = 86_400_000
  const hour = (days: number) => Math.floor((Date.now() - days * dayMs) / 3_600_000)
  const made: string[] = []
  for (const [table, span, days] of [
    ['events', 168, 60],
    ['events', 168, 31],
    ['delivery_attempts', 24, 34],
    ['delivery_attempts', 24, 30],
  ] as const) {
    const start = Math.floor(hour(days) / span) * span
    const bound = (at: number) =>
      `${(at * 3_600_000)
        .toString(16)
        .padStart(12, '0')
        .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`
    made.push(`${table}_${start}`)
    await db.query({
      text: `create table if not exists ${table}_${start} partition of ${table} for values from ('${bound(start)}') to ('${bound(start + span)}')`,
    })
  }
  expect(await dropPastPartitions(db)).toEqual([made[0], made[2]])
})
