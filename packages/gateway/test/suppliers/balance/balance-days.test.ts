import { systemIds } from '@dealer-esim/lib/ids.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { checkYesterday, listUnexplainedDays } from '#suppliers/balance/balance-days.ts'
import { ensureBalance } from '#suppliers/balance/balance-state.ts'
import { addPackage, addTenant, payOrders } from '#test/harness/shop.ts'
import { type BalanceTestbed, createBalanceTestbed } from './balance-testbed.ts'

let testbed: BalanceTestbed
let tenantId: string
const DAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
/** A time of yesterday (UTC); hours from 24 on are of today. */
const at = (hour: number) => new Date(Date.parse(`${DAY}T00:00:00Z`) + hour * 3_600_000)

beforeAll(async () => {
  testbed = await createBalanceTestbed()
  await testbed.addWholesaler('whole')
  await ensureBalance(testbed.db, 'whole')
  await addPackage(testbed.db, 'P', [{ supplier: 'whole', productCode: 'X' }], true)
  tenantId = await addTenant(testbed.db)
})
beforeEach(async () => {
  for (const table of ['supplier_balance_days', 'supplier_balance_readings', 'supplier_attempts', 'alerts']) {
    await testbed.db.query({ text: `delete from ${table}` })
  }
})
afterAll(() => testbed.close())

/** Readings of the balance at these hours. */
async function read(amounts: Record<number, number>) {
  for (const [hour, amount] of Object.entries(amounts)) {
    await testbed.db.query({
      text: `insert into supplier_balance_readings (supplier, read_at, amount, currency_code) values ('whole', $1, $2, 'USD')`,
      values: [at(Number(hour)), amount],
    })
  }
}

/** A purchase that was answered a minute after it was sent. */
async function buy(hour: number, charge: number | null, outcome = 'delivered', operation = 'ORDER') {
  const [orderId] = await payOrders(testbed.db, tenantId, 'P')
  await testbed.db.query({
    text: `update order_items set supplier = 'whole', supplier_charge = $3, supplier_charge_currency = case when $3::bigint is null then null else 'USD' end
           where tenant_id = $1 and order_id = $2`,
    values: [tenantId, orderId, charge],
  })
  await testbed.db.query({
    text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token, started_at,
             finished_at, outcome)
           values ($1, $2, $3, 1, 'whole', $4, $2, $5, $5::timestamptz + interval '1 minute', $6)`,
    values: [tenantId, systemIds.uuid(), orderId, operation, at(hour), outcome],
  })
}

async function check() {
  await checkYesterday(testbed, 'whole')
  return (await listUnexplainedDays(testbed.db, 'whole')).map(({ day, unexplained }) => ({ day, unexplained }))
}

it('a day whose purchases explain the fall is not flagged', async () => {
  await read({ 0: 100_000, 10: 70_000, 24.1: 70_000 })
  await buy(5, 20_000)
  await buy(6, 10_000)
  await buy(7, 99_000, 'refused')
  expect(await check()).toEqual([])
  expect(await testbed.alerts('SUPPLIER_CHARGES')).toEqual([])
})

it('a fall beyond the purchases is flagged, with one alert and the unexplained sum', async () => {
  await read({ '-1': 100_000, 10: 70_000, 24.1: 55_000, 25: 1 })
  await buy(5, 20_000)
  expect(await check()).toEqual([{ day: DAY, unexplained: 25_000n }])
  expect(await check()).toHaveLength(1)
  expect(await testbed.alerts('SUPPLIER_CHARGES')).toEqual([
    expect.stringMatching(
      /fell by 4\.50 USD, but the purchases of this gateway cost 2\.00 USD: 2\.50 USD more is unexplained\./,
    ),
  ])
})

it('a fall below the purchases is flagged: the charges are read too high', async () => {
  await read({ 0: 100_000, 10: 90_000, 24.1: 90_000 })
  await buy(5, 30_000)
  expect(await check()).toEqual([{ day: DAY, unexplained: -20_000n }])
})

it('a top-up of the operator is not flagged, and hides no fall of another time', async () => {
  await read({ 0: 100_000, 5: 600_000, 10: 570_000, 24.1: 570_000 })
  await buy(4, 10_000)
  await buy(7, 20_000)
  expect(await check()).toEqual([])
  await testbed.db.query({ text: 'delete from supplier_balance_days' })
  await read({ 12: 500_000, 13: 500_000 })
  await testbed.db.query({
    text: `update supplier_balance_readings set amount = 500000 where read_at >= $1`,
    values: [at(12)],
  })
  expect(await check()).toEqual([{ day: DAY, unexplained: 70_000n }])
})

it('a purchase that is under way at a reading is not flagged on either side, nor one in doubt', async () => {
  await read({ 0: 100_000, 12: 80_000, 24.01: 50_000 })
  await buy(-0.005, 20_000)
  await buy(24, 30_000, 'unknown')
  expect(await check()).toEqual([])
})

it('a day with an unknown charge is not compared, and waits for a reading of the next day', async () => {
  await read({ 0: 100_000, 12: 80_000 })
  expect(await check()).toEqual([])
  expect(await testbed.db.query({ text: 'select from supplier_balance_days' })).toHaveLength(0)
  await read({ 24.1: 80_000 })
  await buy(5, null)
  expect(await check()).toEqual([])
  expect(await testbed.db.query({ text: 'select unexplained from supplier_balance_days' })).toEqual([
    { unexplained: null },
  ])
})
