import { makeIccid } from '@dealer-esim/contract'
import { createIds } from '@dealer-esim/lib/ids.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { ITEM_STATUSES, type ItemStatus, orderStatusOf } from '#orders/order-item.ts'
import { updateSales } from '#sales/update-sales.ts'
import { openShop } from '../harness/open-shop.ts'
import { addPackage, addSupplier, addTenant, PRICE, payOrders, type Shop } from '../harness/shop.ts'
import { expectSumsToEqualRows } from './sales-model.ts'
import {
  expectDiscrepanciesToEqualRows,
  expectMonthsToEqualRows,
  expectOpenItemsInOpenOrders,
} from './supplier-months.ts'

/* Compares the supplier reports with statements that read every row, over orders with every pair of item states. */

/** PARKED is an item under review that waits for an operator: it is not queried at intervals, so nothing is due for it. */
type State = ItemStatus | 'PARKED'
const STATES: readonly State[] = [...ITEM_STATUSES, 'PARKED']
const TWO_HOURS_MS = 2 * 3_600_000

let shop: Shop
let [tenantId, other] = ['', '']
beforeAll(async () => {
  shop = await openShop()
  await addPackage(shop.db, 'P', [{ supplier: 'north', productCode: 'P', cost: 100n }])
  await addSupplier(shop, 'north', 'sandbox')
  tenantId = await addTenant(shop.db)
  other = await addTenant(shop.db)
  await shop.db.query({ text: 'update wallets set balance = 1000000000' })
})
afterAll(() => shop.close())

/** An order for two eSIMs in these states, as left by fulfilment. */
async function addOrder(dealer: string, states: readonly [State, State], at: { agoMs: number }): Promise<string> {
  const { db } = shop
  const [placed = ''] = await payOrders(db, dealer, 'P', { count: 2 })
  const placedAtMs = Date.now() - at.agoMs
  const orderId = createIds(() => placedAtMs).uuid()
  for (const table of ['orders', 'order_items', 'transfers'])
    await db.query({ text: `update ${table} set order_id = $2 where order_id = $1`, values: [placed, orderId] })
  const items = states.map((state) => ({ state, itemStatus: state === 'PARKED' ? 'REVIEW' : state }) as const)
  for (const [index, { itemStatus }] of items.entries()) {
    const isAsked = itemStatus !== 'WAITING' && itemStatus !== 'CANCELLED'
    const hasCharge = itemStatus === 'DELIVERED' && index === 1
    await db.query({
      text: `update order_items set item_status = $3, supplier = $4, cost = $5, cost_currency = $6, supplier_charge = $7,
               supplier_charge_currency = $8 where order_id = $1 and item_no = $2`,
      values: [
        ...[orderId, index + 1, itemStatus, isAsked ? 'north' : null, isAsked ? 100 : null, isAsked ? 'USD' : null],
        ...[hasCharge ? 130 : null, hasCharge ? 'EUR' : null],
      ],
    })
  }
  const isDue = items.some(({ state }) => ['WAITING', 'ASKED', 'UNKNOWN', 'REVIEW'].includes(state))
  const refused = items.filter(({ itemStatus }) => itemStatus === 'REFUSED' || itemStatus === 'CANCELLED').length
  await db.query({
    text: `update orders set order_status = $2, due_at = $3, refunded_amount = $4, created_at = $5 where order_id = $1`,
    values: [
      ...[orderId, orderStatusOf(items.map(({ itemStatus }) => ({ itemStatus, asked: itemStatus !== 'WAITING' })))],
      ...[isDue ? new Date() : null, BigInt(refused) * PRICE, new Date(placedAtMs)],
    ],
  })
  return orderId
}

test('each item is counted exactly once, whatever the states of an order’s items', async () => {
  const { db } = shop
  for (const first of STATES)
    for (const second of STATES) {
      await addOrder(tenantId, [first, second], { agoMs: TWO_HOURS_MS })
      await addOrder(other, [first, second], { agoMs: 0 })
    }
  const mixed = await addOrder(tenantId, ['REFUSED', 'WAITING'], { agoMs: TWO_HOURS_MS })
  await addOrphan(mixed, 1, 1)
  await db.query({ text: `insert into unclaimed_esims (supplier, key, iccid) values ('north', 'KEY', '8985')` })
  await updateSales(db)
  await expectOpenItemsInOpenOrders(db)
  const found = await expectDiscrepanciesToEqualRows(db)
  expect(new Set(found.map(({ detail }) => /^\w+/.exec(detail ?? '')?.[0]))).toEqual(
    new Set(['WAITING', 'ASKED', 'UNKNOWN', 'REVIEW', 'FOUND', 'under']),
  )
  expect(found).toEqual(found.toSorted((left, right) => right.since.getTime() - left.since.getTime()))
  await expectSumsToEqualRows(db)
  await expectMonthsToEqualRows(db)
})

test('a change without a transfer or an order event appears in the report immediately', async () => {
  const { db } = shop
  const orderId = await addOrder(tenantId, ['ASKED', 'DELIVERED'], { agoMs: TWO_HOURS_MS })
  await updateSales(db)
  // Then the next supplier is asked and does not answer in time, while the order stays ALLOCATING.
  for (const change of [
    `supplier = null, cost = null, cost_currency = null, item_status = 'WAITING'`,
    `supplier = 'south', cost = 90, cost_currency = 'EUR', item_status = 'UNKNOWN'`,
    `item_status = 'REVIEW'`,
  ]) {
    await db.query({ text: `update order_items set ${change} where order_id = $1 and item_no = 1`, values: [orderId] })
    await updateSales(db)
    await expectMonthsToEqualRows(db)
    await expectDiscrepanciesToEqualRows(db)
  }
  await addOrphan(orderId, 2, 2)
  await expectMonthsToEqualRows(db)
})

test('a charge that the supplier reports after the delivery changes neither the item nor the sums', async () => {
  const { db } = shop
  const orderId = await addOrder(tenantId, ['WAITING', 'DELIVERED'], { agoMs: TWO_HOURS_MS })
  const esim = { iccid: makeIccid('8985777', 1), smdpAddress: 'a.example', matchingId: 'LATE' }
  const item = { orderId, itemNo: 1, supplier: 'north' }
  await acceptEsim(shop, tenantId, item, esim)
  await updateSales(db)
  await acceptEsim(shop, tenantId, item, { ...esim, charged: { amount: 77n, currencyCode: 'USD' } })
  const [row] = await db.query({
    text: 'select item_status, supplier_charge from order_items where order_id = $1 and item_no = 1',
    values: [orderId],
  })
  expect(row).toEqual({ itemStatus: 'DELIVERED', supplierCharge: null })
  await updateSales(db)
  await expectMonthsToEqualRows(db)
})

async function addOrphan(orderId: string, itemNo: number, number: number): Promise<void> {
  await shop.db.query({
    text: `insert into orphans (tenant_id, orphan_id, order_id, item_no, supplier, iccid, secrets, created_at, updated_at)
           values ($1, $2, $3, $4, 'north', $5, '', now(), now())`,
    values: [tenantId, shop.ids.uuid(), orderId, itemNo, makeIccid('8985776', number)],
  })
}
