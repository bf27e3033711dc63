import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addPackage, addTenant as addPayingTenant, payOrders } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'

let testbed: ConsoleTestbed
let admin: Awaited<ReturnType<typeof signedInAs>>
beforeAll(async () => {
  testbed = await startConsole()
  admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
  await testbed.db.query({
    text: `insert into suppliers (supplier, type, config) values ('upstream', 'gateway', 'not read here')`,
  })
})
afterAll(() => testbed.stop())

it('the supplier figures cover the purchases in the last 24 hours, with the latest errors', async () => {
  const { db, deps } = testbed
  const tenantId = await addTenant(testbed, 'Figures')
  const orderId = deps.ids.uuid()
  const attempts = [
    ...Array.from({ length: 8 }, (_, index) => ['ORDER', 'delivered', (index + 1) * 100, null]),
    ['TOPUP', 'toppedUp', 900, null],
    ['ORDER', 'refused', 1_000, 'none left'],
    ['QUERY', 'unknown', 5_000, 'no answer'],
  ]
  for (const [supplier, outcomes] of [
    ['upstream', attempts],
    ['another', [['ORDER', 'refused', 1, 'of another']]],
  ] as const) {
    for (const [operation, outcome, tookMs, message] of outcomes) {
      await db.query({
        text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
                 started_at, finished_at, outcome, message)
               values ($1, $2, $3, 1, $4, $5, $2, now(), now() + $6 * interval '1 millisecond', $7, $8)`,
        values: [tenantId, deps.ids.uuid(), orderId, supplier, operation, tookMs, outcome, message],
      })
    }
  }
  const { body } = await admin.call('GET', '/suppliers/upstream/figures')
  expect(body).toMatchObject({ succeeded: 9, refused: 1, retried: 0, unknown: 0, p50_ms: 550, p95_ms: 955 })
  const orderNo = orderNoOf(orderId)
  expect(body.errors).toMatchObject([
    { tenantId, orderNo, operation: 'QUERY', outcome: 'unknown', message: 'no answer' },
    { tenantId, orderNo, operation: 'ORDER', outcome: 'refused', message: 'none left' },
  ])
})

it('the supplier figures compare charges with catalogue costs, by currency', async () => {
  const { db, deps } = testbed
  const tenantId = await addPayingTenant(db)
  await addPackage(db, 'COSTED', [{ supplier: 'upstream', productCode: 'C', cost: 100n }])
  const [one, two, dear, unstated, euro] = await payOrders(db, tenantId, 'COSTED', { orders: 5 })
  const items = [
    [one, 100, 'USD', 100, 'USD'],
    [two, 100, 'USD', 100, 'USD'],
    [dear, 100, 'USD', 130, 'USD'],
    [unstated, 100, 'USD', null, null],
    [euro, 100, 'USD', 90, 'EUR'],
  ] as const
  for (const [orderId, cost, currency, charge, chargeCurrency] of items) {
    await db.query({
      text: `update order_items set item_status = 'DELIVERED', supplier = 'upstream', cost = $3, cost_currency = $4,
               supplier_charge = $5, supplier_charge_currency = $6 where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId, cost, currency, charge, chargeCurrency],
    })
    await db.query({
      text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
               started_at, finished_at, outcome)
             values ($1, $2, $3, 1, 'upstream', 'ORDER', $2, now(), now(), 'delivered')`,
      values: [tenantId, deps.ids.uuid(), orderId],
    })
  }
  await db.query({
    text: `insert into supplier_prices (supplier, product_code, currency_code, price, seen_at)
           values ('upstream', 'C', 'USD', 130, now())`,
  })
  const { body } = await admin.call('GET', '/suppliers/upstream/figures')
  expect(body.costs).toEqual([
    { currencyCode: 'EUR', delivered: 1, spent: 90, stated: 0, charged: 0, expected: 0 },
    { currencyCode: 'USD', delivered: 4, spent: 430, stated: 3, charged: 330, expected: 300 },
  ])
  expect(body.priceDifferences).toMatchObject([{ packageCode: 'COSTED', productCode: 'C', price: 130, cost: 100 }])
})

it('the figures count a day pass by the days sold, even if its package later got a fixed duration', async () => {
  const { db, deps } = testbed
  const tenantId = await addPayingTenant(db)
  const sold = { supplier: 'passes', productCode: 'D', cost: 100n }
  for (const packageCode of ['WAS_PASS', 'IS_PASS', 'FIXED']) await addPackage(db, packageCode, [sold])
  for (const [packageCode, days] of [
    ['WAS_PASS', 5],
    ['IS_PASS', 3],
    ['FIXED', null],
  ] as const) {
    const [orderId] = await payOrders(db, tenantId, packageCode)
    await db.query({
      text: `update orders set package_lines = jsonb_set(package_lines, '{0,periodNum}', to_jsonb($3::int))
             where tenant_id = $1 and order_id = $2 and $3::int is not null`,
      values: [tenantId, orderId, days],
    })
    await db.query({
      text: `update order_items set item_status = 'DELIVERED', supplier = 'passes', cost = 100, cost_currency = 'USD'
             where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId],
    })
    await db.query({
      text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
               started_at, finished_at, outcome)
             values ($1, $2, $3, 1, 'passes', 'ORDER', $2, now(), now(), 'delivered')`,
      values: [tenantId, deps.ids.uuid(), orderId],
    })
  }
  const spent = async () => (await admin.call('GET', '/suppliers/passes/figures')).body.costs[0].spent
  await db.query({
    text: `update packages set touched_at = now() - interval '1 year' where package_code in ('WAS_PASS', 'IS_PASS', 'FIXED')`,
  })
  const pass = `data_type = 'DAILY', duration = 1, period_num_min = 1, period_num_max = 30`
  await db.query({ text: `update packages set ${pass} where package_code in ('WAS_PASS', 'IS_PASS')` })
  expect(await spent()).toBe((5 + 3 + 1) * 100)
  await db.query({
    text: `update packages set period_num_min = null, period_num_max = null, touched_at = now()
           where package_code = 'WAS_PASS'`,
  })
  await db.query({ text: `update packages set ${pass}, touched_at = now() where package_code = 'FIXED'` })
  expect(await spent()).toBe((5 + 3 + 1) * 100)
})
