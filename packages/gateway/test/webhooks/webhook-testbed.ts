import { randomBytes } from 'node:crypto'
import type { EventType } from '@dealer-esim/contract'
import { type DatabaseClock, systemClock } from '@dealer-esim/lib/clock.ts'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Resolve } from '@dealer-esim/lib/outbound/resolve.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { createWakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import type { Deployment } from '#platform/config/variables.ts'
import { recordEvents } from '#platform/record-events.ts'
import { DELIVERY_OF_EVENT, STATE_OF_EVENT } from '#webhooks/delivery-state.ts'
import { webhooksLoop } from '#webhooks/sending/sender.ts'
import type { WebhookDeps } from '#webhooks/webhook-deps.ts'
import { createTestDatabase } from '../harness/databases/database.ts'

/** A database, deps with a clock that tests can advance, tenants and events. */
export interface Testbed {
  deps: WebhookDeps
  url: string
  /** Request timeouts; `faster` divides them. */
  limitsMs: number[]
  /** Advances the clock for due times. */
  advance(durationMs: number): void
  tenant(options?: { callbackUrl?: string; eventTypes?: EventType[] }): Promise<TestTenant>
  record(tenant: TestTenant, count?: number, type?: EventType): Promise<string[]>
  states(tenant: TestTenant): Promise<EventState[]>
  attempts(tenant: TestTenant): Promise<AttemptRow[]>
  endpoint(tenant: TestTenant): Promise<EndpointState>
  /** Starts another sender with its own metrics. */
  startLoop(): TestLoop
  close(): Promise<void>
}

type TestLoop = ReturnType<typeof webhooksLoop> & { metrics: WebhookDeps['metrics'] }

export interface TestTenant {
  tenantId: string
  appKey: string
  appSecret: string
}

interface EventState {
  notifyId: string
  deliveryState: string
  attempts: number
  dueAt: Date | null
}

export interface AttemptRow {
  attemptId: string
  notifyId: string
  notifyType: string
  attemptNo: number
  url: string
  address: string | null
  httpStatus: number | null
  outcome: string
  answer: Buffer | null
  startedAt: Date
  durationMs: number
}

interface EndpointState {
  callbackUrl: string | null
  enabled: boolean
  disabledReason: string | null
  failingSince: Date | null
  alertedPercent: number
  updatedAt: Date
}

export const MASTER_KEY = Buffer.alloc(32, 7)

export interface TestbedOptions {
  deployment?: Deployment
  resolve?: Resolve
  /** Divides the request timeouts. */
  faster?: number
}

export async function createTestbed(options: TestbedOptions = {}): Promise<Testbed> {
  const database = await createTestDatabase()
  const db = createDb({ url: database.url, poolSize: 10, applicationName: 'webhooks test' })
  let offsetMs = 0
  const databaseClock: DatabaseClock = { now: () => Date.now() + offsetMs, observe: () => {} }
  const outbound = createOutbound(options.resolve ? { resolve: options.resolve } : {})
  const wake = createWakeups({ url: database.url, nodeId: randomBytes(4).toString('hex'), onError: () => {} })
  const limitsMs: number[] = []
  const deps: WebhookDeps = {
    config: { deployment: options.deployment ?? 'local', mode: 'LIVE' },
    log: silentLog,
    db,
    ...{ ids: systemIds, linkKey: Buffer.alloc(32, 9) },
    cipher: createCipher([MASTER_KEY]),
    clock: systemClock,
    databaseClock,
    outbound: {
      ...outbound,
      request(request) {
        limitsMs.push(request.timeoutMs)
        return outbound.request({ ...request, timeoutMs: request.timeoutMs / (options.faster ?? 1) })
      },
    },
    wake,
    metrics: createMetrics(),
  }
  const loops: ReturnType<typeof webhooksLoop>[] = []
  return {
    deps,
    url: database.url,
    limitsMs,
    advance(durationMs) {
      offsetMs += durationMs
      wake.wake('webhooks')
    },
    tenant: (wanted) => makeTenant(deps, wanted),
    async record(tenant, count = 1, type = 'ORDER_PAID') {
      const notifyIds = Array.from({ length: count }, () => systemIds.uuid())
      const createdAt = new Date(databaseClock.now())
      await db.tx(async (tx) => {
        const content = { orderNo: 'X', sequence: 1, amount: 45_000 }
        const orderId = type === 'BALANCE_LOW' ? null : systemIds.uuid()
        const event = { tenantId: tenant.tenantId, notifyType: type, orderId, content, createdAt }
        recordEvents(
          tx,
          notifyIds.map((notifyId) => ({ ...event, notifyId })),
        )
      })
      wake.wake('webhooks')
      return notifyIds
    },
    states: ({ tenantId }) =>
      db.query({
        text: `select e.notify_id, ${STATE_OF_EVENT} as delivery_state, d.due_at,
                      coalesce(d.attempts, (select max(attempt_no) from delivery_attempts a
                                            where a.tenant_id = $1 and a.notify_id = e.notify_id)) as attempts
               from events e ${DELIVERY_OF_EVENT} where e.tenant_id = $1 order by e.notify_id`,
        values: [tenantId],
      }),
    attempts: ({ tenantId }) =>
      db.query({
        text: 'select * from delivery_attempts where tenant_id = $1 order by attempt_id',
        values: [tenantId],
      }),
    async endpoint({ tenantId }) {
      const text = 'select * from webhook_endpoints where tenant_id = $1'
      return (await db.query<EndpointState>({ text, values: [tenantId] }))[0]!
    },
    startLoop() {
      const metrics = createMetrics()
      const loop = webhooksLoop({ ...deps, metrics })
      loops.push(loop)
      return {
        metrics,
        stop: loop.stop,
        get idle() {
          return loop.idle
        },
      }
    },
    async close() {
      await Promise.all(loops.map((loop) => loop.stop(1_000)))
      await outbound.close()
      await wake.stop()
      await db.close()
      await database.drop()
    },
  }
}

async function makeTenant(
  { db, ids, cipher }: WebhookDeps,
  options: { callbackUrl?: string; eventTypes?: EventType[] } = {},
): Promise<TestTenant> {
  const tenantId = ids.uuid()
  const appKey = `key_${randomBytes(8).toString('hex')}`
  const appSecret = randomBytes(32).toString('base64url')
  await db.tx(async (tx) => {
    const name = 'insert into tenants (tenant_id, app_key, tenant_name, currency_code) values ($1, $2, $3, $4)'
    tx.send({ text: name, values: [tenantId, appKey, 'A dealer', 'USD'] })
    const secret = 'insert into tenant_secrets (tenant_id, secret_id, ciphertext, proven_at) values ($1, $2, $3, now())'
    tx.send({ text: secret, values: [tenantId, ids.uuid(), cipher.encrypt(appSecret, tenantId)] })
    if (options.callbackUrl === undefined) return
    const endpoint = 'insert into webhook_endpoints (tenant_id, callback_url, event_types) values ($1, $2, $3)'
    const eventTypes = options.eventTypes ?? ['ORDER_PAID', 'DELIVERY_UPDATED']
    tx.send({ text: endpoint, values: [tenantId, cipher.encrypt(options.callbackUrl, tenantId), eventTypes] })
  })
  return { tenantId, appKey, appSecret }
}
