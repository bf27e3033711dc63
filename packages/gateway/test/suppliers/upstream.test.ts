import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DealerEsim } from '@dealer-esim/sdk'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fulfilmentLoop } from '../../src/fulfilment/loop.ts'
import type { Loop } from '../../src/lib/process/lifecycle.ts'
import { supplierApi } from '../../src/supplier-api/supplier-api.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  createShop,
  payOrders,
  type Shop,
  statuses,
  waitUntil,
} from '../harness/shop.ts'

/* Our gateway buys from another one, which notifies ours by webhooks. */

let databases: TestDatabase[]
let shop: Shop
let app: FastifyInstance
let loop: Loop
let received = 0

beforeAll(async () => {
  databases = [await createTestDatabase(), await createTestDatabase()]
  const upstream = await startGateway({ databaseUrl: databases[0]!.url })
  const { baseUrl, appKey, appSecret } = JSON.parse(readFileSync(join(upstream.dataDir, 'local.json'), 'utf8')) as {
    baseUrl: string
    appKey: string
    appSecret: string
  }
  shop = await createShop(databases[1]!.url)
  await addSupplier(shop, 'upstream', 'gateway', { url: baseUrl, appKey, appSecret })
  app = fastify()
  app.addHook('onResponse', async (_, reply) => {
    if (reply.statusCode === 204) received += 1
  })
  const config = { trustedProxies: [], deployment: 'local' as const }
  await app.register(async (scope) => supplierApi(scope, { ...shop, config }))
  const ours = await app.listen({ host: '127.0.0.1', port: 0 })
  const dealer = new DealerEsim({ baseUrl, appKey, appSecret })
  await dealer.setWebhook({ callbackUrl: `${ours}/suppliers/upstream/events`, enabled: true })
  const { packageList } = await dealer.packages({ keyword: 'slow' })
  await addPackage(shop.db, 'SLOW', [{ supplier: 'upstream', productCode: packageList[0]!.packageCode }])
  loop = fulfilmentLoop(shop)
})
afterAll(async () => {
  await loop?.stop(5_000)
  await app?.close()
  await stopGateways()
  await shop?.close()
  await Promise.all((databases ?? []).map((database) => database.drop()))
})

it('an upstream’s webhook makes us query an order that was due in an hour', async () => {
  await expect.poll(() => received).toBeGreaterThan(0) // the check of the callback URL
  const before = received
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'SLOW')
  shop.wake.wake('fulfilment')
  await waitUntil(async () => {
    const later = `now() + interval '1 hour'`
    const rows = await shop.db.query({
      text: `with item as (
          update order_items set retry_at = ${later} where tenant_id = $1 and item_status = 'UNKNOWN' returning order_id
        )
        update orders o set due_at = ${later} from item
        where o.tenant_id = $1 and o.order_id = item.order_id and o.lease_until is null returning o.order_id`,
      values: [tenantId],
    })
    return rows.length === 1
  })
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  await expect.poll(() => received).toBeGreaterThan(before)
})
