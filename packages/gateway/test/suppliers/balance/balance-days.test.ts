import { systemIds } from '@dealer-esim/lib/ids.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { checkYesterday, listUnexplainedDays } from '#suppliers/balance/balance-days.ts'
import { balanceLoop } from '#suppliers/balance/balance-loop.ts'
import { ensureBalance } from '#suppliers/balance/balance-state.ts'
import { addPackage, addTenant, payOrders, waitUntil } from '#test/harness/shop.ts'
import { type BalanceTestbed, createBalanceTestbed } from './balance-testbed.ts'

let testbed: BalanceTestbed
let tenantId: string
const DAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
/** A time yesterday (UTC); hours from 24 on are today. */
const at = (hour: number) => new Date(Date.parse(`${DAY}T00:00:00Z`) + hour * 3_600_000)

beforeAll(async () => {
  testbed = await createBalanceTestbed()
  await testbed.addWholesaler('whole')
  await ensureBalance(testbed.db, 'whole')
  await addPackage(testbed.db, 'P', [{ supplier: 'whole', productCode: 'X' }], true)
  tenantId = await addTenant(testbed.db)
})
beforeEach(async () => {
  for (const table of [
    'supplier_balance_days',
    'supplier_balance_readings',
    'supplier_attempts',
    'supplier_verifications',
    'alerts',
  ]) {
    await testbed.db.query({ text: `delete from ${table}` })
  }
})
afterAll(() => testbed.close())

/** Balance readings at these hours. */
async function read(amounts: Record<number, number>) {
  for (const [hour, amount] of Object.entries(amounts)) {
    await testbed.db.query({
      text: `insert into supplier_balance_readings (supplier, read_at, amount, currency_code) values ('whole', $1, $2, 'USD')`,
      values: [at(Number(hour)), amount],
    })
  }
}

interface Bought {
  outcome?: string
  operation?: string
  /** The cost in the catalogue, for each day. */
  cost?: number
  costCurrency?: string
  days?: number
}

/** A purchase that was answered a minute after it was sent. */
async function buy(hour: number, charge: number | null, bought: Bought = {}) {
  const [orderId] = await payOrders(testbed.db, tenantId, 'P')
  await testbed.db.query({
    text: `update order_items set supplier = 'whole', supplier_charge = $3, supplier_charge_currency = case when $3::bigint is null then null else 'USD' end
           where tenant_id = $1 and order_id = $2`,
    values: [tenantId, orderId, charge],
  })
  const { days } = bought
  if (days !== undefined) {
    await testbed.db.query({
      text: `update orders set package_lines = jsonb_set(package_lines, '{0,periodNum}', to_jsonb($3::int)) where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId, days],
    })
  }
  await attempt(hour, orderId!, bought)
  return orderId!
}

async function attempt(
  hour: number,
  orderId: string,
  { outcome = 'delivered', operation = 'ORDER', cost, costCurrency = 'USD' }: Bought,
) {
  await testbed.db.query({
    text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token, started_at,
             finished_at, outcome, cost, cost_currency)
           values ($1, $2, $3, 1, 'whole', $4, $2, $5, $5::timestamptz + interval '1 minute', $6, $7::bigint,
             case when $7::bigint is null then null else $8 end)`,
    values: [tenantId, systemIds.uuid(), orderId, operation, at(hour), outcome, cost ?? null, costCurrency],
  })
}

/** A purchase made by `supplier verify`. */
async function verify(hour: number, cost: number, state = 'VERIFIED') {
  await testbed.db.query({
    text: `insert into supplier_verifications (supplier, verification_id, order_id, product_code, cost, currency_code, state,
             started_at, finished_at)
           values ('whole', $1, $1, 'X', $2, 'USD', $3, $4, $4::timestamptz + interval '1 minute')`,
    values: [systemIds.uuid(), cost, state, at(hour)],
  })
}

async function check() {
  await checkYesterday(testbed, 'whole')
  return (await listUnexplainedDays(testbed.db, 'whole')).map(({ day, unexplained }) => ({ day, unexplained }))
}

it('a day whose purchases explain the drop in the balance is not flagged', async () => {
  await read({ 0: 100_000, 10: 70_000, 24.1: 70_000 })
  await buy(5, 20_000)
  await buy(6, 10_000)
  await buy(7, 99_000, { outcome: 'refused' })
  expect(await check()).toEqual([])
  expect(await testbed.alerts('SUPPLIER_CHARGES')).toEqual([])
})

it('workers compare yesterday once they have read a balance today', async () => {
  await read({ 5: 100_000, 10: 70_000 })
  await testbed.db.query({ text: 'update supplier_balances set due_at = now(), lease_until = null' })
  const loop = balanceLoop(testbed)
  try {
    await waitUntil(async () => (await testbed.alerts('SUPPLIER_CHARGES')).length > 0)
  } finally {
    await loop.stop(5_000)
  }
  expect(await testbed.alerts('SUPPLIER_CHARGES')).toHaveLength(1)
})

it('a drop larger than the purchases is flagged, with one alert and the unexplained sum', async () => {
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

it('a drop smaller than the purchases is flagged, because it means that charges are read too high', async () => {
  await read({ 0: 100_000, 10: 90_000, 24.1: 90_000 })
  await buy(5, 30_000)
  expect(await check()).toEqual([{ day: DAY, unexplained: -20_000n }])
})

it('a top-up by the operator is not flagged, and does not hide a drop at another time', async () => {
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

it('neither a purchase in doubt nor one in progress during a reading is flagged', async () => {
  await read({ 0: 100_000, 12: 80_000, 24.01: 50_000 })
  await buy(-0.005, 20_000)
  await buy(24, 30_000, { outcome: 'unknown' })
  expect(await check()).toEqual([])
})

it('a day with an unknown charge is not compared, and waits for a reading on the next day', async () => {
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

it('if the charge is unknown, the catalogue cost is used instead, once per day of a day pass', async () => {
  await read({ 0: 100_000, 12: 85_000, 24.1: 80_000 })
  await buy(5, null, { cost: 5_000, days: 3 })
  expect(await check()).toEqual([{ day: DAY, unexplained: 5_000n }])
})

it('if the charge is unknown, a drop smaller than the catalogue cost is flagged', async () => {
  await read({ 0: 100_000, 12: 90_000, 24.1: 90_000 })
  await buy(5, null, { cost: 5_000, days: 3, operation: 'TOPUP', outcome: 'toppedUp' })
  expect(await check()).toEqual([{ day: DAY, unexplained: -5_000n }])
})

it('a known charge is used instead of the catalogue cost', async () => {
  await read({ 0: 100_000, 12: 60_000, 24.1: 60_000 })
  await buy(5, 30_000, { cost: 20_000, days: 3 })
  await buy(6, 10_000, { cost: 99_000, costCurrency: 'EUR' })
  expect(await check()).toEqual([])
})

it('a day whose only known cost is in another currency is not compared', async () => {
  await read({ 0: 100_000, 12: 60_000, 24.1: 60_000 })
  await buy(5, null, { cost: 5_000, costCurrency: 'EUR' })
  expect(await check()).toEqual([])
  const compared = await testbed.db.query({ text: 'select bought_max, unexplained from supplier_balance_days' })
  expect(compared).toEqual([{ boughtMax: 5_000n, unexplained: null }])
})

it('a cancelled purchase explains a drop in the balance, even though its charge is 0', async () => {
  await read({ 0: 100_000, 6: 80_000, 8: 95_000, 24.1: 95_000 })
  const given = await buy(5, 0, { cost: 10_000, days: 2 })
  await attempt(7, given, { operation: 'CANCEL', outcome: 'cancelled' })
  expect(await check()).toEqual([])
  await testbed.db.query({ text: 'delete from supplier_balance_days' })
  await testbed.db.query({ text: 'delete from supplier_balance_readings' })
  await read({ 0: 100_000, 24.1: 100_000 })
  expect(await check()).toEqual([])
})

it('a drop that no purchase explains is flagged even if another purchase was cancelled', async () => {
  await read({ 0: 100_000, 6: 65_000, 8: 85_000, 24.1: 85_000 })
  const given = await buy(5, 0, { cost: 20_000 })
  await attempt(7, given, { operation: 'CANCEL', outcome: 'cancelled' })
  expect(await check()).toEqual([{ day: DAY, unexplained: 15_000n }])
})

it('a purchase that was not debited is flagged if its cancellation was refused', async () => {
  await read({ 0: 100_000, 24.1: 100_000 })
  const kept = await buy(5, 20_000)
  await attempt(7, kept, { operation: 'CANCEL', outcome: 'refused' })
  expect(await check()).toEqual([{ day: DAY, unexplained: -20_000n }])
})

it('a verification explains a drop on its day, unless the verification was refused', async () => {
  await read({ 0: 100_000, 12: 88_000, 24.1: 85_000 })
  await verify(5, 12_000)
  await verify(6, 99_000, 'REFUSED')
  await verify(-2, 99_000)
  expect(await check()).toEqual([{ day: DAY, unexplained: 3_000n }])
  await testbed.db.query({ text: 'delete from supplier_balance_days' })
  await testbed.db.query({ text: 'delete from supplier_balance_readings' })
  await read({ 0: 100_000, 24.1: 100_000 })
  expect(await check()).toEqual([])
})
