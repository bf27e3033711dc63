import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackageOnSale } from '@dealer-esim/contract'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { questionLoop } from '#fulfilment/reconciliation/ask-questions.ts'
import { supplierApi } from '#http/supplier-api.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { applyRules } from '#products/rules/apply-rules.ts'
import { setRule } from '#products/rules/manage-rules.ts'
import { previewRules } from '#products/rules/preview-rules.ts'
import { claimSync, runSync } from '#products/sync/run-sync.ts'
import { ensureSync } from '#products/sync/sync-state.ts'
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

/* Our gateway buys from another one, which notifies ours through webhooks. */

let databases: TestDatabase[]
let shop: Shop
let app: FastifyInstance
let loops: Running[] = []
let dealer: DealerEsim
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
  dealer = new DealerEsim({ baseUrl, appKey, appSecret })
  await dealer.setWebhook({ callbackUrl: `${ours}/suppliers/upstream/events`, enabled: true })
  const { packageList } = await dealer.packages({ keyword: 'slow' })
  await addPackage(shop.db, 'SLOW', [{ supplier: 'upstream', productCode: packageList[0]!.packageCode }])
  loops = [fulfilmentLoop(shop), questionLoop(shop)]
})
afterAll(async () => {
  await Promise.all(loops.map((loop) => loop.stop(5_000)))
  await app?.close()
  await stopGateways()
  await shop?.close()
  await Promise.all((databases ?? []).map((database) => database.drop()))
})

it('an upstream’s webhook triggers a query of an order that was due in an hour', async () => {
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

describe('an upstream’s catalogue', () => {
  it('contains every package that we may buy there, at our price', async () => {
    const products: SupplierProduct[] = []
    for await (const product of readableProducts(shop.suppliers.get('upstream')!.supplier)) products.push(product)
    const listed: PackageOnSale[] = []
    for (const type of ['BASE', 'TOPUP'] as const) {
      for await (const item of dealer.eachPackage({ type })) if (item.status === 'ON_SALE') listed.push(item)
    }
    const unsellable = listed.filter(({ dataType, periodNumMin }) => dataType === 'DAILY' && periodNumMin === null)
    expect(products.length).toBe(listed.length - unsellable.length)
    expect(new Set(products.map(({ packageType }) => packageType))).toEqual(new Set(['BASE', 'TOPUP']))
    const costs = new Map(products.map(({ productCode, cost, currencyCode }) => [productCode, { cost, currencyCode }]))
    for (const { packageCode, price, currencyCode } of listed.filter((item) => !unsellable.includes(item))) {
      expect(costs.get(packageCode), packageCode).toEqual({ cost: BigInt(price), currencyCode })
    }
    const pass = products.find(({ productCode }) =>
      listed.some((one) => one.packageCode === productCode && one.periodNumMin === 1),
    )
    expect(pass).toMatchObject({ isDayPass: true, durationDays: 1 })
  })

  it('becomes packages through a rule, and the upstream delivers one of them', async () => {
    await ensureSync(shop.db, 'upstream')
    const claim = await claimSync(shop.db, ['upstream'], true)
    const synced = await runSync(shop, claim!, shop.suppliers.get('upstream')!.supplier)
    expect(synced).toMatchObject({ outcome: 'DONE' })
    const filter = { countries: ['JP'], countriesMax: 1, name: 'JP_1_7' }
    await setRule(shop, 'upstream', { currencyCode: 'USD', percent: '20', suppliers: ['upstream'], filter }, SYSTEM)
    const { basis, counts } = await previewRules(shop.db)
    expect(counts.ADDED).toBe(1)
    await applyRules(shop, basis, SYSTEM)
    const [made] = await shop.db.query<{ packageCode: string }>({ text: 'select package_code from rule_packages' })
    // These orders have a different price.
    await putPackages(shop, [{ packageCode: made!.packageCode, allowLoss: true }], SYSTEM)
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, made!.packageCode)
    shop.wake.wake('fulfilment')
    await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
    const { supplier } = shop.suppliers.get('upstream')!
    expect(await supplier.balance!()).toMatchObject({ kind: 'balance', currencyCode: 'USD' })
  })
})
