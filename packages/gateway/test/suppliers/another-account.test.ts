import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { claimDueOrders } from '#fulfilment/claim-orders.ts'
import { keepOrphan } from '#fulfilment/outcomes/orphans.ts'
import { watchItem } from '#fulfilment/outcomes/outcome-items.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { adminFailure, adminJson } from '../harness/processes/admin-in-process.ts'
import { addPackage, addTenant, payOrders } from '../harness/shop.ts'

let shop: AdminTestbed

beforeAll(async () => {
  shop = await createAdminTestbed()
})
afterAll(() => shop.close())

function set(account: string, more: object = {}): string[] {
  const config = { url: 'https://smdp.example', functionRequesterIdentifier: account, ...more }
  return ['supplier', 'set', 'smdp', '--config', shop.file('supplier.json', JSON.stringify(config))]
}

it('a different account is refused while eSIMs are in doubt in the old account', async () => {
  await adminJson('supplier', 'add', 'smdp', '--type', 'es2plus', ...set('Mistyped').slice(3))
  await adminJson(...set('Old')) // nothing has been bought from it yet
  const tenantId = await addTenant(shop.db)
  await addPackage(shop.db, 'ANY', [{ supplier: 'smdp', productCode: 'X' }])
  const [orderId] = await payOrders(shop.db, tenantId, 'ANY')
  const itemIs = (status: string) =>
    shop.db.query({
      text: `update order_items set item_status = $2, supplier = 'smdp', product_code = 'X' where order_id = $1`,
      values: [orderId, status],
    })
  await itemIs('UNKNOWN')
  await adminJson(...set('Old', { timeoutMs: 4_000 })) // the same account
  expect(await adminFailure(...set('New'))).toMatch(/Pause smdp, wait 10 seconds/)
  await adminJson('supplier', 'pause', 'smdp')
  expect(await adminFailure(...set('New'))).toMatch(/Pause smdp, wait 10 seconds/)
  await shop.db.query({ text: `update suppliers set updated_at = now() - interval '11 s' where supplier = 'smdp'` })
  expect(await adminFailure(...set('New'))).toMatch(/1 eSIMs of smdp are in doubt/)
  await itemIs('DELIVERED')
  await adminJson(...set('New'))
})

it('a different account is refused while a purchase in progress is recorded only as an attempt', async () => {
  await adminJson('supplier', 'add', 'stopped', '--type', 'es2plus', ...set('Old').slice(3))
  const another = ['supplier', 'set', 'stopped', ...set('New').slice(3)]
  const tenantId = await addTenant(shop.db)
  await addPackage(shop.db, 'STOPPED', [{ supplier: 'stopped', productCode: 'X' }])
  await payOrders(shop.db, tenantId, 'STOPPED')
  await shop.suppliers.refresh()
  // The node stops before the supplier's answer is written, and its lease is still in force.
  const { attempts } = await claimDueOrders(shop, tenantId, 10)
  expect(attempts).toMatchObject([{ operation: 'ORDER' }])
  expect(await adminFailure(...another)).toMatch(/Pause stopped, wait 10 seconds/)
  await adminJson('supplier', 'pause', 'stopped')
  await shop.db.query({ text: `update suppliers set updated_at = now() - interval '11 s' where supplier = 'stopped'` })
  expect(await adminFailure(...another)).toMatch(/1 eSIMs of stopped are in doubt/)
  await shop.db.query({ text: `update supplier_attempts set finished_at = now(), outcome = 'retry'` })
  await adminJson(...another)
})

it('a different account is refused while eSIMs in the old account are re-checked or cancelled', async () => {
  await adminJson('supplier', 'add', 'watched', '--type', 'es2plus', ...set('Old').slice(3))
  const [, , , ...config] = set('New')
  const another = ['supplier', 'set', 'watched', ...config]
  const tenantId = await addTenant(shop.db)
  await addPackage(shop.db, 'WATCHED', [{ supplier: 'watched', productCode: 'X' }])
  const [orderId] = await payOrders(shop.db, tenantId, 'WATCHED', { count: 3 })
  await shop.db.query({
    text: `update order_items set item_status = 'DELIVERED', supplier = 'smdp', product_code = 'X' where order_id = $1`,
    values: [orderId],
  })
  await adminJson('supplier', 'pause', 'watched')
  await shop.db.query({ text: `update suppliers set updated_at = now() - interval '11 s' where supplier = 'watched'` })
  await shop.db.tx(async (tx) => {
    const now = new Date()
    const asked = { orderId: orderId!, supplier: 'watched', productCode: 'X' }
    watchItem(tx, tenantId, { ...asked, itemNo: 1, purpose: 'DELIVERED_IN_DOUBT' }, now)
    tx.send({
      text: `insert into esim_actions (tenant_id, action_id, started_by, action, profile_id, order_id, item_no, supplier,
               action_status, currency_code, created_at, updated_at)
             values ($1, $2, 'OPERATOR', 'CANCEL', $2, $3, 2, 'watched', 'UNDER_REVIEW', 'USD', $4, $4)`,
      values: [tenantId, shop.ids.uuid(), orderId, now],
    })
    const esim = { iccid: makeIccid('8985777', 1), smdpAddress: 'a.example', matchingId: 'LATE' }
    await keepOrphan(tx, shop, tenantId, { orderId: orderId!, itemNo: 3, supplier: 'watched', esim }, now)
  })
  const open = async () =>
    (await adminFailure(...another)).match(/(\d) eSIMs of watched are still re-checked or acted on/)?.[1]
  expect(await open()).toBe('3')
  await shop.db.query({ text: `update esim_actions set action_status = 'REFUSED'` })
  expect(await open()).toBe('2')
  await shop.db.query({ text: `update orphans set state = 'KEPT'` })
  expect(await open()).toBe('1')
  await shop.db.query({ text: 'delete from watched_items' })
  await adminJson(...another)
})
