import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { importStock } from '#stock/import-stock.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { bundleForChildren, spawnFulfilment } from '../harness/processes/child-process.ts'
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

/** Enough for each of the four workers to make at least five claims. STOCK_CODES=10000 simulates a busy day. */
const CODES = Number(process.env.STOCK_CODES ?? 4_000)

let database: TestDatabase
let shop: Shop

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addSupplier(shop, 'shelf', 'stock')
  await addPackage(shop.db, 'CODE', [{ supplier: 'shelf', productCode: 'P' }])
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

it(`four worker processes sell ${CODES} codes, each exactly once`, async () => {
  const rows = Array.from({ length: CODES }, (_, i) => `${makeIccid('8985333', i)},LPA:1$smdp.example.com$MANY-${i}`)
  const file = Readable.from([`iccid,ac\n${rows.join('\n')}`])
  await importStock(shop, { supplier: 'shelf', productCode: 'P', file }, { actor: 'cli:test' })
  const tenants = await Promise.all(Array.from({ length: 5 }, () => addTenant(shop.db)))
  for (const tenantId of tenants) await payOrders(shop.db, tenantId, 'CODE', { orders: CODES / tenants.length })
  const bundle = await bundleForChildren(new URL('../harness/processes/fulfilment-node.ts', import.meta.url))
  const workers = Array.from({ length: 4 }, () => spawnFulfilment(bundle.path, database.url))
  try {
    await waitUntil(async () => {
      const all = await Promise.all(tenants.map((tenantId) => statuses(shop.db, tenantId)))
      return all.every((now) => now.DELIVERED === CODES / tenants.length)
    }, 120_000)
  } finally {
    for (const worker of workers) worker.kill('SIGKILL')
    await Promise.all(workers.map((worker) => worker.ended))
    bundle.remove()
  }
  const [count] = await shop.db.query({
    text: `select (select count(*)::int from stock_codes where state = 'RESERVED') as reserved,
             (select count(distinct key)::int from stock_codes where state = 'RESERVED') as keys,
             (select count(distinct iccid)::int from profiles) as iccids,
             (select count(*)::int from profiles) as profiles,
             (select available::int from stock_levels where supplier = 'shelf' and product_code = 'P') as left,
             (select count(*)::int from orphans) as orphans`,
  })
  expect(count).toEqual({ reserved: CODES, keys: CODES, iccids: CODES, profiles: CODES, left: 0, orphans: 0 })
  const workersUsed = await shop.db.query({ text: 'select distinct lease_token from supplier_attempts' })
  expect(workersUsed.length).toBeGreaterThan(4)
}, 180_000)
