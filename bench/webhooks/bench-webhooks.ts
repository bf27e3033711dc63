import { fork } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'undici'
import { databaseClock, systemClock } from '../../packages/gateway/src/lib/clock.ts'
import { masterCipher } from '../../packages/gateway/src/lib/crypto.ts'
import { connect } from '../../packages/gateway/src/lib/db.ts'
import { systemIds } from '../../packages/gateway/src/lib/ids.ts'
import { silentLog } from '../../packages/gateway/src/lib/log.ts'
import { createMetrics } from '../../packages/gateway/src/lib/metrics.ts'
import { createOutbound } from '../../packages/gateway/src/lib/outbound/outbound.ts'
import { wakeups } from '../../packages/gateway/src/lib/wake.ts'
import { type Signer, signedHeaders } from '../../packages/gateway/src/webhooks/attempt.ts'
import type { WebhookDeps } from '../../packages/gateway/src/webhooks/deps.ts'
import { ENDPOINT_FLIGHTS_MOST } from '../../packages/gateway/src/webhooks/limits.ts'
import { webhooksLoop } from '../../packages/gateway/src/webhooks/loop.ts'
import { recordEvents } from '../../packages/gateway/src/webhooks/record.ts'

/** A migrated database with partitions. */
export interface WebhookBenchContext {
  databaseUrl: string
  /** Scales the run: 1 is the committed one. */
  scale?: number
}

export interface WebhookFigures {
  /** A loop of the same POSTs, signed beforehand, on the same client, as many at once as we have at one endpoint. */
  barePosts_per_s: number
  events_per_s: number
  ratio: number
  /** From the commit to the receiver, at 100 events/s over 20 tenants. */
  latencyP50_ms: number
  latencyP99_ms: number
  /** The same while another tenant's 100 000 events wait for an endpoint that hangs. */
  latencyBesideHangingP50_ms: number
  latencyBesideHangingP99_ms: number
}

const EVENTS = 20_000
const LATENCY_EVENTS = 1_500
const LATENCY_GAP_MS = 10
const HANGING_BACKLOG = 100_000
const TENANTS = 20
const SECRET = { secretId: 'x', secret: 'x'.repeat(43), validUntil_ms: null, provenAt_ms: null }
const SIGNER: Signer = { appKey: 'bench_app_key', secrets: [SECRET] }

export async function benchWebhooks({ databaseUrl, scale = 1 }: WebhookBenchContext): Promise<WebhookFigures> {
  const receiver = await startReceiver()
  const { deps, close } = openSenderDeps(databaseUrl)
  try {
    const [first, ...tenants] = await makeTenants(deps, receiver.url, TENANTS + 1)
    const events = Math.round(EVENTS * scale)
    await barePosts(receiver, events / 4) // warms the receiver up
    const bare_per_s = [await barePosts(receiver, events)]
    await record(deps, first!, events)
    const loop = webhooksLoop(deps)
    const events_per_s = await rateOf(receiver, events)
    bare_per_s.push(await barePosts(receiver, events))
    const alone = await latency(deps, receiver, tenants, LATENCY_EVENTS * scale)
    const [hanging] = await makeTenants(deps, receiver.hangingUrl, 1)
    for (let made = 0; made < HANGING_BACKLOG * scale; made += 10_000) await record(deps, hanging!, 10_000)
    const beside = await latency(deps, receiver, tenants, LATENCY_EVENTS * scale)
    await loop.stop(0)
    const barePosts_per_s = mean(bare_per_s)
    return {
      barePosts_per_s: Math.round(barePosts_per_s),
      events_per_s: Math.round(events_per_s),
      ratio: round(events_per_s / barePosts_per_s),
      latencyP50_ms: round(quantile(alone, 0.5)),
      latencyP99_ms: round(quantile(alone, 0.99)),
      latencyBesideHangingP50_ms: round(quantile(beside, 0.5)),
      latencyBesideHangingP99_ms: round(quantile(beside, 0.99)),
    }
  } finally {
    receiver.stop()
    await close()
  }
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>

export async function startReceiver() {
  const child = fork(new URL('receiver.ts', import.meta.url), { execArgv: ['--import', 'tsx'] })
  const ask = async <Answer>(question: 'count' | 'take' | undefined) => {
    const answer = once(child, 'message')
    if (question) child.send(question)
    return (await answer)[0] as Answer
  }
  const { port } = await ask<{ port: number }>(undefined)
  return {
    url: `http://127.0.0.1:${port}/events`,
    hangingUrl: `http://127.0.0.1:${port}/hang`,
    count: async () => (await ask<{ count: number }>('count')).count,
    take: async () => new Map((await ask<{ arrived: [string, number][] }>('take')).arrived),
    pid: child.pid,
    stop: () => child.kill(),
  }
}

export async function barePosts(receiver: Receiver, count: number): Promise<number> {
  const pool = new Pool(new URL(receiver.url).origin, { connections: ENDPOINT_FLIGHTS_MOST, pipelining: 1 })
  const body = JSON.stringify({ notifyId: 'x', content: 'x'.repeat(400) })
  const signed = signedHeaders(SIGNER, 'x', randomUUID(), new Date(), body)
  const started = performance.now()
  let left = count
  const worker = async () => {
    while (left-- > 0) {
      const headers = { ...signed, 'webhook-id': String(left) }
      const answer = await pool.request({ method: 'POST', path: '/events', headers, body })
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: ENDPOINT_FLIGHTS_MOST }, worker))
  const duration_s = (performance.now() - started) / 1000
  await pool.close()
  await receiver.take()
  return count / duration_s
}

export async function rateOf(receiver: Receiver, events: number): Promise<number> {
  const started = performance.now()
  while ((await receiver.count()) < events) await delay(20)
  const duration_s = (performance.now() - started) / 1000
  await receiver.take()
  return events / duration_s
}

async function latency(deps: WebhookDeps, receiver: Receiver, tenants: string[], events: number): Promise<number[]> {
  const committed = new Map<string, number>()
  const commits: Promise<void>[] = []
  const started = performance.now()
  for (let number = 0; number < events; number++) {
    await delay(Math.max(0, started + number * LATENCY_GAP_MS - performance.now()))
    const recording = record(deps, tenants[number % tenants.length]!, 1)
    commits.push(
      recording.then(([notifyId]) => {
        committed.set(notifyId!, performance.timeOrigin + performance.now())
        deps.wake.wake('webhooks')
      }),
    )
  }
  await Promise.all(commits)
  while ((await receiver.count()) < committed.size) await delay(20)
  const arrived = await receiver.take()
  return [...committed].map(([notifyId, at_ms]) => arrived.get(notifyId)! - at_ms)
}

export function openSenderDeps(databaseUrl: string) {
  const db = connect({ url: databaseUrl, poolSize: 8, applicationName: 'bench webhooks' })
  const wake = wakeups({ db, url: databaseUrl, nodeId: 'bench', onError: () => {} })
  const outbound = createOutbound()
  const deps: WebhookDeps = {
    config: { deployment: 'local' },
    log: silentLog,
    db,
    ids: systemIds,
    cipher: masterCipher([randomBytes(32)]),
    clock: systemClock,
    databaseClock: databaseClock(systemClock),
    outbound,
    wake,
    metrics: createMetrics(),
  }
  const close = async () => {
    await outbound.close()
    await wake.stop()
    await db.close()
  }
  return { deps, close }
}

export async function makeTenants({ db, ids, cipher }: WebhookDeps, url: string, count: number): Promise<string[]> {
  const tenantIds = Array.from({ length: count }, () => ids.uuid())
  await db.tx(async (tx) => {
    for (const tenantId of tenantIds) {
      const tenant = 'insert into tenants (tenant_id, app_key, client_name, currency_code) values ($1, $2, $3, $4)'
      tx.send({ text: tenant, values: [tenantId, `bench_${randomBytes(8).toString('hex')}`, 'Bench', 'USD'] })
      const secret = 'insert into tenant_secrets (tenant_id, secret_id, ciphertext) values ($1, $2, $3)'
      tx.send({ text: secret, values: [tenantId, ids.uuid(), cipher.encrypt(randomBytes(32), tenantId)] })
      const endpoint = 'insert into webhook_endpoints (tenant_id, callback_url) values ($1, $2)'
      tx.send({ text: endpoint, values: [tenantId, url] })
    }
  })
  return tenantIds
}

export async function record({ db, ids }: WebhookDeps, tenantId: string, count: number): Promise<string[]> {
  const createdAt = new Date()
  const line = { packageCode: 'JP_1_7', packageName: 'Japan 1 GB 7 days', count: 1, price: 45_000 }
  const content = {
    orderNo: '01JD3Y5Z6Q8R9S0T1V2W3X4Y5Z',
    transactionId: 'bench-2026-11-20-000001',
    orderStatus: 'PAID',
    sequence: 1,
    amount: 45_000,
    currencyCode: 'USD',
    balanceAfter: 1_000_000_000,
    packageInfoList: [line],
  }
  const events = Array.from({ length: count }, () => {
    const event = { tenantId, notifyType: 'ORDER_PAID' as const, orderId: ids.uuid(), content, createdAt }
    return { ...event, notifyId: ids.uuid() }
  })
  await db.tx(async (tx) => {
    for (let start = 0; start < events.length; start += 1_000) recordEvents(tx, events.slice(start, start + 1_000))
  })
  return events.map((event) => event.notifyId)
}

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
