import { randomUUID } from 'node:crypto'
import { recordEvents } from '@dealer-esim/gateway/platform/record-events.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { wakeupStatement } from '@dealer-esim/lib/postgres/wakeups.ts'
import type { Environment } from '../environment.ts'

const RECORDED_PER_STATEMENT = 1_000
const NODE_ID = `bench-${randomUUID()}`

/** Tenants with an endpoint. @returns their ids */
export async function createTenantsWithEndpoint(bench: Environment, url: string, count: number): Promise<string[]> {
  const tenantIds = (await bench.createTenants(count)).map((tenant) => tenant.tenantId)
  await setEndpoints(bench, url, tenantIds)
  return tenantIds
}

export async function setEndpoints(bench: Environment, url: string, tenantIds: readonly string[]): Promise<void> {
  await bench.db.query({
    text: 'insert into webhook_endpoints (tenant_id, callback_url) select * from unnest($1::uuid[], $2::bytea[])',
    values: [tenantIds, tenantIds.map((tenantId) => bench.cipher.encrypt(url, tenantId))],
  })
}

/** Commits events. @returns their notifyIds */
export async function recordTestEvents({ db }: Environment, tenantId: string, count: number): Promise<string[]> {
  const createdAt = new Date()
  const events = Array.from({ length: count }, () => {
    const orderId = systemIds.uuid()
    const event = { tenantId, notifyType: 'ORDER_PAID' as const, orderId, content: CONTENT, createdAt }
    return { ...event, notifyId: systemIds.uuid() }
  })
  await db.tx(async (tx) => {
    for (let start = 0; start < events.length; start += RECORDED_PER_STATEMENT) {
      recordEvents(tx, events.slice(start, start + RECORDED_PER_STATEMENT))
    }
  })
  return events.map((event) => event.notifyId)
}

/** Wakes the sending gateway, as another node does after its commit. */
export async function wakeSender({ db }: Environment): Promise<void> {
  await db.query(wakeupStatement(NODE_ID, ['webhooks']))
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
