import { createDb, type Db, type Tx } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createScriptedSupplier } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop } from '../harness/shop.ts'

/* Another transaction's locks delay orders only while they last. */

let database: TestDatabase
let shop: Shop
/** Gives up on a lock soon, as the gateway does after ten seconds. */
let hasty: Db & { close(): Promise<void> }
const LOCK_TIMEOUT_MS = 200
/** Leases last 30 s: an order that waits for one to end takes longer. */
const WAIT_MAX_MS = 20_000

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  hasty = createDb({ url: database.url, poolSize: 10, applicationName: 'hasty', lockTimeoutMs: LOCK_TIMEOUT_MS })
  await addPackage(shop.db, 'P', [{ supplier: 'odd', productCode: 'X' }])
})
afterAll(async () => {
  await hasty.close()
  await shop.close()
  await database.drop()
})

/**
 * Fulfils orders while a transaction holds a lock, until `seen` and a little longer.
 * @returns the statuses at the end
 */
async function fulfil(tenantId: string, orders: number, lock: (tx: Tx) => void, seen: () => Promise<boolean>) {
  const script = { order: async () => [{ kind: 'refused' as const, message: 'sold out' }] }
  const { deps } = createScriptedSupplier(shop, script, { batch: 1 })
  const statuses = async () =>
    (
      await shop.db.query<{ orderStatus: string }>({
        text: 'select order_status from orders where tenant_id = $1',
        values: [tenantId],
      })
    ).map((row) => row.orderStatus)
  let loop: ReturnType<typeof fulfilmentLoop> | undefined
  await shop.db.tx(async (tx) => {
    lock(tx)
    await tx.query({ text: 'select 1' })
    loop = fulfilmentLoop({ ...deps, db: hasty })
    await expect.poll(seen, { timeout: WAIT_MAX_MS }).toBe(true)
  })
  await expect
    .poll(statuses, { timeout: WAIT_MAX_MS })
    .toEqual(Array.from({ length: orders }, () => 'FAILED'))
    .finally(() => loop!.stop(5_000))
}

it('orders whose refunds wait for the wallet are refunded under their first lease', async () => {
  const tenantId = await addTenant(shop.db)
  for (let n = 0; n < 5; n++) await payOrders(shop.db, tenantId, 'P')
  let attempts = 0
  await fulfil(
    tenantId,
    5,
    (tx) => tx.send({ text: 'select from wallets where tenant_id = $1 for update', values: [tenantId] }),
    async () => {
      // By then, every answer has waited for the lock several times.
      attempts += 1
      return attempts > 40
    },
  )
})

it('an order whose claim waits for a lock is not considered poisoned', async () => {
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'P')
  const due = async () =>
    (
      await shop.db.query<{ waits: boolean }>({
        text: 'select due_at > now() as waits from orders where tenant_id = $1',
        values: [tenantId],
      })
    )[0]!.waits
  await fulfil(tenantId, 1, (tx) => tx.send({ text: 'lock table supplier_attempts in exclusive mode' }), due)
})
