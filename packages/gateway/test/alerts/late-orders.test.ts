import { orderNoOf } from '@dealer-esim/contract'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { alertPath } from '#alerts/alert-path.ts'
import { alertOfLateOrders, countLateOrders } from '#fulfilment/review/late-orders.ts'
import { openShop } from '../harness/open-shop.ts'
import { addPackage, addSupplier, addTenant, payOrders, type Shop } from '../harness/shop.ts'

/* Orders that wait longer than is usual for their supplier. */

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

let shop: Shop
let tenantId: string
beforeAll(async () => {
  shop = await openShop()
  for (const name of ['quick', 'slow', 'new']) {
    await addSupplier(shop, name, 'sandbox')
    await shop.db.query({ text: 'insert into supplier_states (supplier) values ($1)', values: [name] })
  }
  await addPackage(shop.db, 'P', [{ supplier: 'quick', productCode: 'P' }])
  tenantId = await addTenant(shop.db)
  await deliver('quick', 40, 4 * SECOND_MS)
  await deliver('slow', 40, 10 * MINUTE_MS)
  await deliver('new', 3, SECOND_MS)
})
afterAll(() => shop.close())

/** Deliveries in the last hour with this duration, according to the supplier's attempts. */
async function deliver(supplier: string, count: number, tookMs: number): Promise<void> {
  const at = Date.now() - 60 * MINUTE_MS
  const id = (ms: number, n: number) => `${firstUuidAt(ms).slice(0, 24)}${String(n).padStart(12, '0')}`
  for (let n = 0; n < count; n++)
    await shop.db.query({
      text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
               started_at, finished_at, outcome)
             values ($1, $2, $3, 1, $4, 'ORDER', $3, $5, $6, 'delivered')`,
      values: [tenantId, id(at + tookMs, n), id(at, n), supplier, new Date(at), new Date(at + tookMs)],
    })
}

/** An order that its supplier has not answered for this long. */
async function wait(supplier: string | null, ageMs: number): Promise<string> {
  const [orderId] = await payOrders(shop.db, tenantId, 'P')
  await shop.db.query({
    text: `update orders set order_status = 'ALLOCATING', created_at = now() - $2 * interval '1 millisecond'
           where order_id = $1`,
    values: [orderId, ageMs],
  })
  await shop.db.query({
    text: `update order_items set item_status = 'UNKNOWN', supplier = $2, product_code = 'P' where order_id = $1`,
    values: [orderId, supplier],
  })
  return orderId!
}

const late = () => countLateOrders(shop.db, null)
const decide = (orderId: string) =>
  shop.db.query({
    text: `update orders set order_status = 'DELIVERED', due_at = null where order_id = $1`,
    values: [orderId],
  })
const alerts = () =>
  shop.db.query<{ message: string; kind: string; tenantId: string; data: Record<string, unknown> }>({
    text: `select kind, message, tenant_id, data from alerts where kind = 'ORDERS_LATE' order by alert_id`,
  })

it('an order is late after three times its supplier’s 95th-percentile delivery time, but never before one minute', async () => {
  expect(await alertOfLateOrders(shop)).toBe(false)
  const rows = await shop.db.query<{ supplier: string; lateAfterMs: number }>({
    text: `select supplier, late_after_ms from supplier_states where supplier in ('quick', 'slow', 'new') order by 1`,
  })
  // Without enough deliveries: five minutes.
  expect(rows).toEqual([
    { supplier: 'new', lateAfterMs: 5 * MINUTE_MS },
    { supplier: 'quick', lateAfterMs: MINUTE_MS },
    { supplier: 'slow', lateAfterMs: 30 * MINUTE_MS },
  ])
  for (const [supplier, ageMs, isLate] of [
    ['quick', MINUTE_MS - 5 * SECOND_MS, false],
    ['quick', MINUTE_MS + 5 * SECOND_MS, true],
    ['slow', 29 * MINUTE_MS, false],
    ['slow', 31 * MINUTE_MS, true],
    ['new', 4 * MINUTE_MS, false],
    ['new', 6 * MINUTE_MS, true],
    [null, 4 * MINUTE_MS, false],
    [null, 6 * MINUTE_MS, true],
  ] as const) {
    const orderId = await wait(supplier, ageMs)
    expect([supplier, ageMs, await late()]).toEqual([supplier, ageMs, isLate ? 1 : 0])
    expect(await countLateOrders(shop.db, tenantId)).toBe(isLate ? 1 : 0)
    expect(await countLateOrders(shop.db, await addTenant(shop.db))).toBe(0)
    await decide(orderId)
  }
})

async function entryNoOf(orderId: string): Promise<bigint> {
  const [order] = await shop.db.query<{ entryNo: bigint }>({
    text: 'select wallet_version as entry_no from orders where order_id = $1',
    values: [orderId],
  })
  return order!.entryNo
}

it('an alert links to a single late order, and counts several late orders at most once an hour', async () => {
  const first = await wait('quick', 2 * MINUTE_MS)
  expect(await alertOfLateOrders(shop)).toBe(true)
  const [alert] = await alerts()
  expect(alert!.message).toContain(`Orders waiting longer than usual: 1. The oldest, #${await entryNoOf(first)} of `)
  expect(alertPath(alert!)).toBe(`/tenants/${tenantId}/orders/${orderNoOf(first)}`)
  await wait('quick', 3 * MINUTE_MS)
  expect(await alertOfLateOrders(shop)).toBe(false)
  await shop.db.query({ text: `update alerts set created_at = created_at - interval '61 minutes'` })
  expect(await alertOfLateOrders(shop)).toBe(true)
  const [, second] = await alerts()
  expect(second!.message).toContain('longer than usual: 2.')
  expect(alertPath(second!)).toBe('/orders?waiting=LATE')
  // The same orders are not reported again.
  await shop.db.query({ text: `update alerts set created_at = now() - interval '61 minutes'` })
  await shop.db.query({
    text: `update orders set created_at = created_at - interval '3 hours' where due_at is not null`,
  })
  expect(await alertOfLateOrders(shop)).toBe(false)
})
