import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { claimDueOrders } from '#fulfilment/claim-orders.ts'
import { runClaim } from '#fulfilment/run-claim.ts'
import { openShop } from '../harness/open-shop.ts'
import { createScriptedSupplier } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, eventsOf, payOrders, type Shop } from '../harness/shop.ts'

/*
 * A worker keeps the orders that it has claimed. It saves their outcomes without reading them again if nobody has written
 * to them.
 */

let shop: Shop

beforeAll(async () => {
  shop = await openShop()
  await addPackage(shop.db, 'ODD', [{ supplier: 'odd', productCode: 'X', cost: 7_000n }])
})
afterAll(() => shop.close())

/**
 * Two claimed orders. `save` runs the claim and returns the statements of the transactions that it waited for. The
 * supplier's state is written afterwards, in a separate transaction.
 */
async function claimed() {
  const tenantId = await addTenant(shop.db)
  for (const count of [1, 2]) await payOrders(shop.db, tenantId, 'ODD', { count })
  const { deps } = createScriptedSupplier(shop)
  const claim = await claimDueOrders(deps, tenantId, 10)
  const awaited: string[] = []
  const save = async () => {
    await runClaim({ ...deps, db: noting(deps.db, awaited) }, claim, shop.clock.monotonic())
    return awaited
  }
  return { tenantId, save }
}

function noting(db: Db, awaited: string[]): Db {
  const notingTx = (tx: Tx): Tx => ({
    ...tx,
    query(statement) {
      if (!statement.text.includes('supplier_states')) awaited.push(statement.name ?? statement.text)
      return tx.query(statement)
    },
  })
  return { ...db, tx: (work) => db.tx((tx) => work(notingTx(tx))) }
}

const write = (tenantId: string, change: string) =>
  shop.db.query({ text: `update orders set ${change} where tenant_id = $1`, values: [tenantId] })

async function expectDeliveredOnce(tenantId: string) {
  const [counts] = await shop.db.query({
    text: `select (select count(*)::int from orders where tenant_id = $1 and order_status = 'DELIVERED') as orders,
                  (select count(*)::int from profiles where tenant_id = $1) as esims,
                  (select count(*)::int from supplier_attempts where tenant_id = $1 and outcome = 'delivered') as attempts`,
    values: [tenantId],
  })
  expect(counts).toEqual({ orders: 2, esims: 3, attempts: 3 })
  const events = await eventsOf(shop.db, tenantId)
  expect(events.map(({ content }) => [content.orderStatus, content.sequence])).toEqual([
    ['DELIVERED', 2],
    ['DELIVERED', 2],
  ])
}

it('saving the outcomes of unchanged orders waits for no answer before the COMMIT', async () => {
  const { tenantId, save } = await claimed()
  expect(await save()).toEqual([])
  await expectDeliveredOnce(tenantId)
})

it('orders changed after their claim are read again and saved once', async () => {
  const { tenantId, save } = await claimed()
  await write(tenantId, 'updated_at = updated_at')
  expect(await save()).toContain('orders-lock-leased')
  await expectDeliveredOnce(tenantId)
})

it('a worker that has lost its lease leaves its orders to the new holder, and delivers late eSIMs once', async () => {
  const { tenantId, save } = await claimed()
  await write(tenantId, 'lease_token = gen_random_uuid()')
  expect(await save()).toContain('orders-lock-leased')
  await expectDeliveredOnce(tenantId)
  const held = { text: 'select 1 from orders where tenant_id = $1 and lease_token is not null', values: [tenantId] }
  expect(await shop.db.query(held)).toHaveLength(2)
})
