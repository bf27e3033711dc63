import { afterAll, beforeAll, expect, it } from 'vitest'
import { alertPriceDifferences, recordPrice } from '#suppliers/supplier-prices.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminJson } from '../harness/processes/admin-in-process.ts'
import { addPackage, addSupplier } from '../harness/shop.ts'

/* Operators are alerted when a supplier's price differs from the cost in the catalogue. */

const COST = 27_000n
let shop: AdminTestbed

beforeAll(async () => {
  shop = await createAdminTestbed()
  for (const name of ['up', 'steady', 'list', 'ladder', 'late']) await addSupplier(shop, name, 'stock')
})
afterAll(() => shop.close())

let minute = 0
/** Records a price. Each call is one minute after the previous one. */
function record(
  supplier: string,
  amount: bigint,
  parts: { productCode?: string; currencyCode?: string; at?: number } = {},
) {
  const { productCode = 'X', currencyCode = 'USD', at = ++minute } = parts
  const seenAt = new Date(Date.UTC(2026, 10, 20, 0, at))
  return recordPrice(shop.db, { supplier, productCode, price: { amount, currencyCode }, seenAt })
}

/** Runs a pass. @returns its alerts about one supplier */
async function alertsOf(supplier: string): Promise<string[]> {
  const started = await shop.db.query<{ id: string | null }>({ text: 'select max(alert_id::text) as id from alerts' })
  await alertPriceDifferences(shop)
  const rows = await shop.db.query<{ message: string }>({
    text: `select message from alerts where kind = 'SUPPLIER_PRICE' and audience = 'OPERATOR'
             and data ->> 'supplier' = $1 and alert_id::text > coalesce($2, '') order by alert_id`,
    values: [supplier, started[0]!.id],
  })
  return rows.map(({ message }) => message)
}

const anHourLater = () =>
  shop.db.query({ text: `update supplier_prices set alerted_at = alerted_at - interval '1 hour'` })
const route = (supplier: string, cost?: bigint, productCode = 'X') => [
  { supplier, productCode, ...(cost === undefined ? {} : { cost }) },
]

it('a price that differs from the cost is reported once, and again if the price changes', async () => {
  await addPackage(shop.db, 'UP', route('up', COST))
  await record('up', 29_000n)
  const [message, ...rest] = await alertsOf('up')
  expect(message).toMatch(/^The prices of up differ from the costs in the catalogue: UP 2\.90 USD \(cost 2\.70\)\. /)
  expect(rest).toEqual([])
  await record('up', 29_000n)
  await anHourLater()
  expect(await alertsOf('up')).toEqual([])
  await record('up', 25_000n)
  expect(await alertsOf('up')).toEqual([expect.stringContaining('UP 2.50 USD (cost 2.70)')])
})

it('differences within an hour of an alert are reported after that hour, with the prices at that time', async () => {
  await addPackage(shop.db, 'LADDER', route('ladder', COST))
  await record('ladder', 28_000n)
  expect(await alertsOf('ladder')).toHaveLength(1)
  for (const price of [29_000n, COST, 30_000n]) {
    await record('ladder', price)
    expect(await alertsOf('ladder')).toEqual([])
  }
  await anHourLater()
  expect(await alertsOf('ladder')).toEqual([expect.stringContaining('LADDER 3.00 USD')])
})

it('a new price list causes one alert, which names a few packages and counts the rest', async () => {
  for (let n = 1; n <= 8; n++) {
    await addPackage(shop.db, `LIST_${n}`, route('list', COST, `P${n}`))
    await record('list', 30_000n, { productCode: `P${n}` })
  }
  const [message, ...rest] = await alertsOf('list')
  expect(message).toMatch(/LIST_1 3\.00 USD .*LIST_5 3\.00 USD \(cost 2\.70\) and 3 more\./)
  expect(rest).toEqual([])
})

it.each([
  ['a price equal to the cost', 'COST', route('steady', COST, 'SAME'), {}],
  ['a price without a known cost', 'NO_COST', route('steady', undefined, 'NO_COST'), {}],
  ['a price and a cost in different currencies', 'YEN', route('steady', COST - 1n, 'YEN'), { currencyCode: 'JPY' }],
])('%s is not reported', async (_, packageCode, routes, parts) => {
  await addPackage(shop.db, packageCode, routes)
  await record('steady', COST, { productCode: routes[0]!.productCode, ...parts })
  expect(await alertsOf('steady')).toEqual([])
})

it('the price in a late answer about an older purchase is ignored', async () => {
  await addPackage(shop.db, 'LATE', route('late', COST))
  await record('late', 31_000n, { at: 1_000 })
  await record('late', 29_000n, { at: 999 })
  expect(await alertsOf('late')).toEqual([expect.stringContaining('LATE 3.10 USD')])
})

it('a price older than a change in the supplier’s catalogue is not compared until it is charged again', async () => {
  await addPackage(shop.db, 'SYNCED', route('late', COST, 'SYNCED'))
  const setCost = (cost: bigint, at: number) =>
    shop.db.query({
      text: `insert into supplier_products values ('late', 'SYNCED', 'Synced', 'BASE', '{JP}', 1, false, 7, $1, 'USD', true, $2, $2)
             on conflict (supplier, product_code) do update set cost = excluded.cost, changed_at = excluded.changed_at`,
      values: [cost, new Date(Date.UTC(2026, 10, 20, 0, at))],
    })
  await anHourLater()
  await setCost(COST, 2_000)
  await record('late', COST + 1_000n, { productCode: 'SYNCED', at: 2_001 })
  expect(await alertsOf('late')).toEqual([expect.stringContaining('SYNCED 2.80 USD')])
  await anHourLater()
  await setCost(COST, 2_002)
  expect(await alertsOf('late')).toEqual([])
  const { priceList } = await adminJson('supplier', 'report', '--prices')
  expect(priceList.filter((row: { packageCode: string }) => row.packageCode === 'SYNCED')).toEqual([])
  await record('late', COST + 1_000n, { productCode: 'SYNCED', at: 2_003 })
  expect(await alertsOf('late')).toEqual([expect.stringContaining('SYNCED 2.80 USD')])
})

it('a difference is listed while it exists and the package is on sale', async () => {
  await addPackage(shop.db, 'LISTED', route('up', COST, 'LISTED'))
  await record('up', 33_000n, { productCode: 'LISTED' })
  const listed = async () => {
    const { priceList } = await adminJson('supplier', 'report', '--prices')
    return priceList.find((row: { packageCode: string }) => row.packageCode === 'LISTED')
  }
  const row = { supplier: 'up', productCode: 'LISTED', price: 33_000, cost: 27_000, currencyCode: 'USD' }
  expect(await listed()).toMatchObject(row)
  expect((await admin('supplier', 'report', '--prices')).stdout).toMatch(/^up +LISTED +LISTED +3\.30 USD +2\.70 /m)
  expect((await admin('supplier', 'report', '--prices', '--csv', '-')).stdout).toContain(
    'up,LISTED,LISTED,3.30,2.70,USD',
  )
  const set = (text: string) => shop.db.query({ text: `${text} where package_code = 'LISTED'` })
  await set('update packages set on_sale = false')
  expect(await listed()).toBeUndefined()
  await set('update packages set on_sale = true')
  await set('update package_suppliers set cost_price = 33000')
  expect(await listed()).toBeUndefined()
})
