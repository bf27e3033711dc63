import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import type { Outcome, Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { runDueActions } from '#esims/actions/action-loop.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { cancelOrphans } from '#fulfilment/reconciliation/cancel-orphans.ts'
import { compareSupplierList } from '#fulfilment/reconciliation/compare-lists.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addActions } from '../harness/esim-actions.ts'
import { createScriptedSupplier, newEsim, withSuppliers } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop } from '../harness/shop.ts'

/* Reconciliation processes the rows after a bad one, and the log identifies the bad one. */

let database: TestDatabase
let shop: Shop
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addPackage(shop.db, 'P', [{ supplier: 'odd', productCode: 'X' }])
})
beforeEach(async () => {
  for (const table of ['orphans', 'watched_items', 'esim_actions'])
    await shop.db.query({ text: `delete from ${table}` })
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

const error = vi.fn()
function depsWith(script: Partial<Supplier>) {
  error.mockClear()
  const { supplied, deps } = createScriptedSupplier(shop, script)
  return { supplied, deps: { ...deps, log: Object.assign(Object.create(silentLog), { error }) } }
}

async function item(status: 'REFUSED' | 'ASKED') {
  const tenantId = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, tenantId, 'P')
  await shop.db.query({
    text: `update order_items set item_status = $2, supplier = 'odd', product_code = 'X' where tenant_id = $1`,
    values: [tenantId, status],
  })
  return { tenantId, orderId: orderId!, itemNo: 1, productCode: 'X' }
}

/** Accepts an eSIM that the supplier has sold for the item. */
const acceptFound = ({ tenantId, orderId, itemNo }: { tenantId: string; orderId: string; itemNo: number }) =>
  acceptEsim(shop, tenantId, { orderId, itemNo, supplier: 'odd' }, newEsim())

const orphanStates = (tenantIds: string[]) =>
  shop.db.query({ text: 'select tenant_id, state from orphans where tenant_id = any ($1)', values: [tenantIds] })

it('an orphan from a paused supplier is not cancelled', async () => {
  const cancel = vi.fn(async () => ({ kind: 'cancelled' }) as const)
  const { supplied } = depsWith({ cancel })
  const one = await item('REFUSED')
  await acceptFound(one)
  expect(await cancelOrphans(withSuppliers(shop, { ...supplied, paused: true }))).toBe(1)
  expect(await orphanStates([one.tenantId])).toEqual([{ tenantId: one.tenantId, state: 'FOUND' }])
  expect(cancel).not.toHaveBeenCalled()
})

it('an orphan that cannot be decrypted does not prevent the return of other orphans', async () => {
  const { deps } = depsWith({ cancel: async () => ({ kind: 'cancelled' }) })
  const [bad, good] = [await item('REFUSED'), await item('REFUSED')]
  for (const one of [bad, good]) await acceptFound(one)
  await shop.db.query({ text: `update orphans set secrets = '\\x00' where tenant_id = $1`, values: [bad.tenantId] })
  expect(await cancelOrphans(deps)).toBe(2)
  expect(await orphanStates([good.tenantId])).toEqual([{ tenantId: good.tenantId, state: 'CANCELLED' }])
  expect(error).toHaveBeenCalledOnce()
  expect(error.mock.calls[0]![0]).toMatchObject({ tenantId: bad.tenantId, orderId: bad.orderId })
})

it('a listed eSIM that cannot be saved does not hide those listed after it', async () => {
  const [bad, good] = [await item('REFUSED'), await item('REFUSED')]
  const found = { [itemKeyOf(bad.orderId, 1)]: newEsim(), [itemKeyOf(good.orderId, 1)]: newEsim() }
  const { deps, supplied } = depsWith({
    query: async ([request]): Promise<Outcome[]> => {
      if (request!.key === itemKeyOf(bad.orderId, 1)) throw new TypeError('profileList is not iterable')
      return [{ kind: 'delivered', esim: found[request!.key]! }]
    },
    async *list() {
      for (const [key, { iccid }] of Object.entries(found)) yield { key, iccid, cancelled: false, time: new Date() }
    },
  })
  expect(await compareSupplierList(deps, supplied, 86_400_000)).toBe(2)
  expect(await orphanStates([bad.tenantId, good.tenantId])).toEqual([{ tenantId: good.tenantId, state: 'FOUND' }])
  expect(error.mock.calls).toMatchObject([[{ supplier: 'odd', key: itemKeyOf(bad.orderId, 1) }, expect.any(String)]])
})

it('a pending cancellation whose eSIM cannot be decrypted does not block other cancellations', async () => {
  const cancelled: string[] = []
  const { deps } = depsWith({
    cancel: async ({ orderId }) => {
      cancelled.push(orderId)
      return { kind: 'cancelled' }
    },
  })
  const [bad, good] = [await item('ASKED'), await item('ASKED')]
  for (const one of [bad, good]) {
    await acceptFound(one)
    await addActions(shop, one.tenantId)
  }
  await shop.db.query({ text: `update profiles set secrets = '\\x00' where tenant_id = $1`, values: [bad.tenantId] })
  await shop.db.query({
    text: `update esim_actions set due_at = now() - case when tenant_id = $1 then 2 else 1 end * interval '1 s'`,
    values: [bad.tenantId],
  })
  expect(await runDueActions(deps)).toBe(2)
  expect(cancelled).toEqual([good.orderId])
  expect(error.mock.calls).toMatchObject([[{ tenantId: bad.tenantId, orderId: bad.orderId }, expect.any(String)]])
  // The bad item is retried, and eventually goes to review.
  await shop.db.query({
    text: `update esim_actions set due_at = now(), created_at = now() - interval '2 hours' where tenant_id = $1`,
    values: [bad.tenantId],
  })
  expect(await runDueActions(deps)).toBe(1)
  const statuses = await shop.db.query<{ actionStatus: string }>({
    text: 'select action_status from esim_actions where tenant_id = any ($1) order by created_at',
    values: [[bad.tenantId, good.tenantId]],
  })
  expect(statuses.map(({ actionStatus }) => actionStatus)).toEqual(['UNDER_REVIEW', 'DONE'])
})
