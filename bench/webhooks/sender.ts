import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { databaseClock, systemClock } from '../../packages/gateway/src/lib/clock.ts'
import { masterCipher } from '../../packages/gateway/src/lib/crypto.ts'
import { connect } from '../../packages/gateway/src/lib/db.ts'
import { systemIds } from '../../packages/gateway/src/lib/ids.ts'
import { silentLog } from '../../packages/gateway/src/lib/log.ts'
import { createMetrics } from '../../packages/gateway/src/lib/metrics.ts'
import { createOutbound } from '../../packages/gateway/src/lib/outbound/outbound.ts'
import { wakeups } from '../../packages/gateway/src/lib/wake.ts'
import type { WebhookDeps } from '../../packages/gateway/src/webhooks/deps.ts'
import { webhooksLoop } from '../../packages/gateway/src/webhooks/loop.ts'
import { recordEvents } from '../../packages/gateway/src/webhooks/record.ts'

/** What sends events, in this process: the gateway's own loop and room, on a database. */
export interface Sender {
  /** Tenants with an endpoint. @returns their ids */
  tenants(url: string, count: number): Promise<string[]>
  /** Commits events. @returns their notifyIds */
  record(tenantId: string, count: number): Promise<string[]>
  wake(): void
  start(): Promise<() => Promise<void>>
  close(): Promise<void>
}

const RECORDED_AT_ONCE = 1_000
const STOP_MS = 1_000

export function openSender(databaseUrl: string): Sender {
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
  return {
    tenants: (url, count) => makeTenants(deps, url, count),
    record: (tenantId, count) => record(deps, tenantId, count),
    wake: () => wake.wake('webhooks'),
    async start() {
      const loop = webhooksLoop({ ...deps, metrics: createMetrics() })
      await delay(100) // its first pass, and its connections
      return () => loop.stop(STOP_MS)
    },
    async close() {
      await outbound.close()
      await wake.stop()
      await db.close()
    },
  }
}

async function makeTenants({ db, ids, cipher }: WebhookDeps, url: string, count: number): Promise<string[]> {
  const tenantIds = Array.from({ length: count }, () => ids.uuid())
  await db.tx(async (tx) => {
    for (const tenantId of tenantIds) {
      const tenant = 'insert into tenants (tenant_id, app_key, client_name, currency_code) values ($1, $2, $3, $4)'
      tx.send({ text: tenant, values: [tenantId, `bench_${randomBytes(8).toString('hex')}`, 'Bench', 'USD'] })
      const secret = 'insert into tenant_secrets (tenant_id, secret_id, ciphertext) values ($1, $2, $3)'
      tx.send({
        text: secret,
        values: [tenantId, ids.uuid(), cipher.encrypt(randomBytes(32).toString('base64url'), tenantId)],
      })
      const endpoint = 'insert into webhook_endpoints (tenant_id, callback_url) values ($1, $2)'
      tx.send({ text: endpoint, values: [tenantId, url] })
    }
  })
  return tenantIds
}

async function record({ db, ids }: WebhookDeps, tenantId: string, count: number): Promise<string[]> {
  const createdAt = new Date()
  const events = Array.from({ length: count }, () => {
    const event = { tenantId, notifyType: 'ORDER_PAID' as const, orderId: ids.uuid(), content: CONTENT, createdAt }
    return { ...event, notifyId: ids.uuid() }
  })
  await db.tx(async (tx) => {
    for (let start = 0; start < events.length; start += RECORDED_AT_ONCE) {
      recordEvents(tx, events.slice(start, start + RECORDED_AT_ONCE))
    }
  })
  return events.map((event) => event.notifyId)
}

const CONTENT = {
  orderNo: '01JD3Y5Z6Q8R9S0T1V2W3X4Y5Z',
  transactionId: 'bench-2026-11-20-000001',
  orderStatus: 'PAID',
  sequence: 1,
  amount: 45_000,
  currencyCode: 'USD',
  balanceAfter: 1_000_000_000,
  packageInfoList: [{ packageCode: 'JP_1_7', packageName: 'Japan 1 GB 7 days', count: 1, price: 45_000 }],
}
