import { afterAll, beforeAll, expect, it } from 'vitest'
import { askAboutWatched } from '#fulfilment/reconciliation/ask-watched.ts'
import { cancelOrphans } from '#fulfilment/reconciliation/cancel-orphans.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop } from '../harness/shop.ts'

/* Reconciliation waits for no locks, and holds no lock on one tenant while it works on another. */

let database: TestDatabase
let shop: Shop
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addPackage(shop.db, 'P', [{ supplier: 'sandbox', productCode: 'X' }])
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

/** An order with two items that were refunded while in doubt and are therefore watched. */
async function watched(ask: string, until: string) {
  const tenantId = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, tenantId, 'P', { count: 2 })
  await shop.db.query({
    text: `update order_items set item_status = 'REVIEW', supplier = 'nobody', product_code = 'X', retry_at = now(),
             in_doubt_at = now() where tenant_id = $1`,
    values: [tenantId],
  })
  await shop.db.query({
    text: `update orders set order_status = 'UNDER_REVIEW', due_at = null where tenant_id = $1`,
    values: [tenantId],
  })
  const resolution = { tenantId, orderId: orderId!, verdict: { kind: 'refused' }, evidence: 'Ticket 4711' } as const
  await resolveOrder(shop, resolution, { actor: 'cli:test' })
  await shop.db.query({
    text: `update watched_items set due_at = now() + $2::interval, give_up_at = now() + $3::interval
           where tenant_id = $1`,
    values: [tenantId, ask, until],
  })
  return tenantId
}

/** Runs `work` while another transaction locks the rows of a tenant, as resolving a cancellation does. */
async function whileHeld(table: string, tenantId: string, work: () => Promise<unknown>) {
  await shop.db.tx(async (tx) => {
    await tx.query({ text: `select from ${table} where tenant_id = $1 for update`, values: [tenantId] })
    await work()
  })
}

const rowsOf = async (table: string, tenantId: string) =>
  (await shop.db.query({ text: `select from ${table} where tenant_id = $1`, values: [tenantId] })).length

it('expired watches for one tenant end while another tenant’s order is locked', async () => {
  const [free, held] = [await watched('1 hour', '-1 minute'), await watched('1 hour', '-1 minute')]
  await whileHeld('watched_items', held, () => askAboutWatched(shop))
  expect([await rowsOf('watched_items', free), await rowsOf('watched_items', held)]).toEqual([0, 2])
  await askAboutWatched(shop)
  expect(await rowsOf('watched_items', held)).toBe(0)
})

it('due watches for several tenants are claimed in one pass, once each', async () => {
  const tenants = [await watched('-1 minute', '1 day'), await watched('-1 minute', '1 day')]
  for (const [n, tenantId] of tenants.entries()) {
    await shop.db.query({
      text: `insert into orphans (tenant_id, orphan_id, order_id, item_no, supplier, iccid, secrets, created_at, updated_at)
             select tenant_id, $2, order_id, 1, 'nobody', $3, $4, now(), now() - interval '1 minute' from orders
             where tenant_id = $1`,
      values: [tenantId, shop.ids.uuid(), `898500000000000000${n}`, shop.cipher.encrypt('{}', tenantId)],
    })
  }
  expect([await askAboutWatched(shop), await cancelOrphans(shop)]).toEqual([4, 2])
  expect([await askAboutWatched(shop), await cancelOrphans(shop)]).toEqual([0, 0])
})
