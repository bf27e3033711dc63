import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { createLoopMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { Registry } from '@platformatic/prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { databaseGaugesLoop } from '#http/probes/database-gauges.ts'
import { call, type Dealer } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { type GatewayProcess, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'

/** A gateway after some use, so that the expected values of a scrape are known. */
let database: TestDatabase
let db: Db & { close(): Promise<void> }
let gateway: GatewayProcess
let receiver: Receiver
let dealer: Dealer

beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 2, applicationName: 'test metrics' })
  gateway = await startGateway({ databaseUrl: database.url })
  dealer = JSON.parse(readFileSync(join(gateway.dataDir, 'local.json'), 'utf8'))
  receiver = await startReceiver(500)
  await code('webhook/set', { callbackUrl: receiver.url })
  await order('M-1', 'JP_1_7', 2)
  await order('M-2', 'SANDBOX_REFUSED', 1)
  await order('M-3', 'SANDBOX_UNKNOWN', 1)
  await code('health', {}, { signature: '0'.repeat(64) })
  await age()
})
afterAll(async () => {
  await stopGateways()
  await receiver.close()
  await db.close()
  await database.drop()
})

/** Creates states that would otherwise take a long time to arise. */
async function age(): Promise<void> {
  await db.tx(async (tx) => {
    tx.send({ text: `update orders set created_at = now() - interval '2 hours' where transaction_id = 'M-3'` })
    const tomorrow = (Math.floor(Date.now() / 86_400_000) + 1) * 24
    tx.send({ text: `drop table delivery_attempts_${tomorrow}` })
    tx.send({
      text: `insert into deliveries (tenant_id, notify_id, delivery_state)
             select '00000000-0000-0000-0000-000000000001', id::uuid, 'DEAD' from unnest($1::text[]) as id`,
      values: [[systemIds.uuid(), systemIds.uuid()]],
    })
  })
}

async function code(operation: string, body: object, parts = {}): Promise<string> {
  return (await call(gateway, dealer, operation, { body: JSON.stringify(body), ...parts })).code
}

const order = (transactionId: string, packageCode: string, count: number) =>
  code('esim/order', { transactionId, packageInfoList: [{ packageCode, count }] })

/** Waits until the order's eSIMs have been delivered. @returns their esimTranNo */
async function esimsOf(transactionId: string, count: number): Promise<string[]> {
  const body = JSON.stringify({ transactionId })
  const { profileList } = await waitUntil(async () => {
    const { data } = await call(gateway, dealer, 'esim/profile/list', { body })
    return data.profileList.length === count && data
  })
  return profileList.map((profile: { esimTranNo: string }) => profile.esimTranNo)
}

/** Scrapes the gateway. @returns samples by name and labels */
async function scrape(): Promise<Map<string, number>> {
  const { metricsPort } = await gateway.waitForLog((line) => line.msg === 'ready')
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

const value = async (sample: string) => (await scrape()).get(sample)
const eventually = (sample: string) => expect.poll(() => value(sample), { timeout: 30_000, interval: 200 })

describe('a scrape after orders and events', () => {
  it('counts requests and their duration by operation and code', async () => {
    const samples = await scrape()
    expect(samples.get('dealer_esim_requests_total{operation="esim/order",code="000000"}')).toBe(3)
    expect(samples.get('dealer_esim_requests_total{operation="health",code="101003"}')).toBe(1)
    expect(samples.get('dealer_esim_request_duration_seconds_count{operation="esim/order"}')).toBe(3)
    expect(samples.get('dealer_esim_request_duration_seconds_bucket{le="10",operation="esim/order"}')).toBe(3)
  })

  it('counts orders by status, and attempts by outcome', async () => {
    await eventually('dealer_esim_order_status_total{status="DELIVERED"}').toBe(1)
    await eventually('dealer_esim_order_status_total{status="FAILED"}').toBe(1)
    expect(await value('dealer_esim_order_status_total{status="PAID"}')).toBe(3)
    const attempts = (outcome: string) =>
      `dealer_esim_supplier_attempts_total{supplier="sandbox",operation="ORDER",outcome="${outcome}"}`
    expect(await value(attempts('delivered'))).toBe(2)
    expect(await value(attempts('refused'))).toBe(1)
    await eventually(attempts('unknown')).toBeGreaterThan(0)
    expect(
      await value('dealer_esim_supplier_call_duration_seconds_count{supplier="sandbox",operation="ORDER"}'),
    ).toBeGreaterThan(0)
  })

  it('reports unfinished work and its age', async () => {
    await eventually('dealer_esim_events{state="dead"}').toBe(2)
    const samples = await scrape()
    const of = (name: string) =>
      ['PAID', 'ALLOCATING', 'UNDER_REVIEW'].map((status) => samples.get(`${name}{status="${status}"}`) ?? Number.NaN)
    expect(of('dealer_esim_orders').sort()).toEqual([0, 0, 1])
    expect(Math.max(...of('dealer_esim_oldest_order_seconds'))).toBeGreaterThan(7_199)
    expect(samples.get('dealer_esim_events{state="waiting"}')).toBeGreaterThan(2)
    expect(samples.get('dealer_esim_oldest_event_seconds')).toBeGreaterThan(0)
  })

  it('reports delivery attempts and a failing endpoint', async () => {
    await eventually('dealer_esim_webhook_attempts_total{outcome="status 5xx"}').toBeGreaterThan(2)
    await eventually('dealer_esim_webhook_failing_seconds').toBeGreaterThan(0)
    expect(await value('dealer_esim_webhook_endpoints_disabled')).toBe(0)
  })

  it('reports the ledger, partitions, pools, suppliers and every loop', async () => {
    await eventually('dealer_esim_ledger_faults{check="daily"}').toBe(0)
    const samples = await scrape()
    expect(samples.get('dealer_esim_ledger_checked_timestamp_seconds{check="daily"}')).toBeGreaterThan(1_700_000_000)
    expect(samples.get('dealer_esim_backup_timestamp_seconds')).toBeGreaterThan(1_700_000_000)
    expect(samples.get('dealer_esim_partitions_missing{table="events"}')).toBe(0)
    expect(samples.get('dealer_esim_partitions_missing{table="delivery_attempts"}')).toBe(1)
    expect(samples.get('dealer_esim_database_connections{pool="general",state="open"}')).toBeGreaterThan(0)
    expect(samples.get('dealer_esim_database_connections_max{pool="general"}')).toBe(20)
    expect(samples.get('dealer_esim_supplier_up{supplier="sandbox"}')).toBe(1)
    const loops = [...samples.keys()].flatMap(
      (key) => /^dealer_esim_loop_poll_seconds\{loop="(.*)"\}$/.exec(key)?.[1] ?? [],
    )
    expect(loops.sort()).toEqual(LOOPS)
    for (const loop of loops) expect(samples.get(`dealer_esim_loop_failures_in_a_row{loop="${loop}"}`), loop).toBe(0)
  })

  it('counts top-ups and eSIM actions like orders, and reports open actions', async () => {
    await order('M-4', 'SANDBOX_ACTION_UNKNOWN', 1)
    const [first, second] = await esimsOf('M-1', 2)
    const [unanswered] = await esimsOf('M-4', 1)
    const topUp = { transactionId: 'M-5', esimTranNo: first, packageCode: 'JP_1_7_TOPUP' }
    expect(await code('esim/topup', topUp)).toBe('000000')
    for (const esimTranNo of [second, unanswered]) {
      const cancel = { transactionId: `M-${esimTranNo}`, action: 'CANCEL', esimTranNo }
      expect(await code('esim/cancel', cancel)).toBe('000000')
    }
    await db.query({ text: `update esim_actions set created_at = now() - interval '2 hours'` })
    for (const [operation, outcome] of [
      ['TOPUP', 'toppedUp'],
      ['CANCEL', 'done'],
      ['CANCEL', 'unknown'],
    ]) {
      const labels = `supplier="sandbox",operation="${operation}"`
      await eventually(`dealer_esim_supplier_attempts_total{${labels},outcome="${outcome}"}`).toBeGreaterThan(0)
      expect(await value(`dealer_esim_supplier_call_duration_seconds_count{${labels}}`)).toBeGreaterThan(0)
    }
    expect(await value('dealer_esim_requests_total{operation="esim/topup",code="000000"}')).toBe(1)
    expect(await value('dealer_esim_requests_total{operation="esim/cancel",code="000000"}')).toBe(2)
    await eventually('dealer_esim_order_status_total{status="DELIVERED"}').toBe(3)
    await eventually('dealer_esim_actions{status="UNDER_REVIEW"}').toBe(1)
    expect(await value('dealer_esim_actions{status="PENDING"}')).toBe(0)
    expect(await value('dealer_esim_oldest_action_seconds{status="UNDER_REVIEW"}')).toBeGreaterThan(7_199)
  })
})

const LOOPS = [
  'actions',
  'arrivals',
  'backup alert',
  'balances',
  'books',
  'catalogues',
  'daily sales',
  'expiry notices',
  'figures',
  'fulfilment',
  'ledger',
  'price alerts',
  'profile reports',
  'profiles',
  'questions',
  'reconcile',
  'recovery',
  'retention',
  'review alerts',
  'statements',
  'stock',
  'stock levels',
  'suppliers',
  'test twins',
  'times ahead',
  'webhook replays',
  'webhooks',
]

it('before the first ledger check, the gauges report when it is due, and there is no fault gauge', async () => {
  const fresh = await createTestDatabase()
  const idle = createDb({ url: fresh.url, poolSize: 1, applicationName: 'test metrics' })
  await idle.query({
    text: `insert into deployment (kind, master_key_fingerprint, link_key, created_at) values ('local', 'f', 'k', $1)`,
    values: [new Date(1_700_000_000_000)],
  })
  const metrics = new Registry()
  const loop = databaseGaugesLoop({ db: idle, metrics, log: silentLog, loops: createLoopMetrics(metrics) })
  try {
    await expect.poll(() => metrics.metrics()).toContain('ledger_checked_timestamp_seconds{check="daily"} 1700000000')
    expect(await metrics.metrics()).not.toContain('dealer_esim_ledger_faults{')
  } finally {
    await loop.stop(1_000)
    await idle.close()
    await fresh.drop()
  }
})
