import { afterAll, beforeAll, expect, it } from 'vitest'
import { tellOfPrices } from '../../src/suppliers/price-alert.ts'
import { seePrice } from '../../src/suppliers/prices.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminJson } from '../harness/processes/admin-in-process.ts'
import { addPackage, addSupplier } from '../harness/shop.ts'

/* Operators are told where a supplier asks another price than the catalogue has as its cost. */

const COST = 27_000n
let shop: AdminTestbed

beforeAll(async () => {
  shop = await createAdminTestbed()
  for (const name of ['up', 'steady', 'list', 'ladder', 'late']) await addSupplier(shop, name, 'stock')
})
afterAll(() => shop.close())

let minute = 0
/** At moments that follow one another. */
function see(
  supplier: string,
  amount: bigint,
  parts: { productCode?: string; currencyCode?: string; at?: number } = {},
) {
  const { productCode = 'X', currencyCode = 'USD', at = ++minute } = parts
  const seenAt = new Date(Date.UTC(2026, 10, 20, 0, at))
  return seePrice(shop.db, { supplier, productCode, price: { amount, currencyCode }, seenAt })
}

/** What operators are told now of one supplier. */
async function told(supplier: string): Promise<string[]> {
  const started = await shop.db.query<{ id: string | null }>({ text: 'select max(alert_id::text) as id from alerts' })
  await tellOfPrices(shop)
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

it('another price than the cost is told of once, and once more when it has changed again', async () => {
  await addPackage(shop.db, 'UP', route('up', COST))
  await see('up', 29_000n)
  const [words, ...rest] = await told('up')
  expect(words).toMatch(/^up asks other prices than the costs in the catalogue: UP 2\.90 USD \(cost 2\.70\)\. /)
  expect(rest).toEqual([])
  await see('up', 29_000n)
  await anHourLater()
  expect(await told('up')).toEqual([])
  await see('up', 25_000n)
  expect(await told('up')).toEqual([expect.stringContaining('UP 2.50 USD (cost 2.70)')])
})

it('what is not told for an hour is told then, as it is then', async () => {
  await addPackage(shop.db, 'LADDER', route('ladder', COST))
  await see('ladder', 28_000n)
  expect(await told('ladder')).toHaveLength(1)
  for (const price of [29_000n, COST, 30_000n]) {
    await see('ladder', price)
    expect(await told('ladder')).toEqual([])
  }
  await anHourLater()
  expect(await told('ladder')).toEqual([expect.stringContaining('LADDER 3.00 USD')])
})

it('a new price list is one notice, which names a few packages and counts the others', async () => {
  for (let n = 1; n <= 8; n++) {
    await addPackage(shop.db, `LIST_${n}`, route('list', COST, `P${n}`))
    await see('list', 30_000n, { productCode: `P${n}` })
  }
  const [words, ...rest] = await told('list')
  expect(words).toMatch(/LIST_1 3\.00 USD .*LIST_5 3\.00 USD \(cost 2\.70\) and 3 more\./)
  expect(rest).toEqual([])
})

it.each([
  ['the cost itself', 'COST', route('steady', COST, 'SAME'), {}],
  ['a price where the cost is not known', 'NO_COST', route('steady', undefined, 'NO_COST'), {}],
  ['a price in another currency than the cost', 'YEN', route('steady', COST - 1n, 'YEN'), { currencyCode: 'JPY' }],
])('%s is nothing to tell', async (_, packageCode, routes, parts) => {
  await addPackage(shop.db, packageCode, routes)
  await see('steady', COST, { productCode: routes[0]!.productCode, ...parts })
  expect(await told('steady')).toEqual([])
})

it('a purchase that began before the present price was met, and is answered after it, says nothing', async () => {
  await addPackage(shop.db, 'LATE', route('late', COST))
  await see('late', 31_000n, { at: 1_000 })
  await see('late', 29_000n, { at: 999 })
  expect(await told('late')).toEqual([expect.stringContaining('LATE 3.10 USD')])
})

it('is listed as long as it differs and the package is on sale', async () => {
  await addPackage(shop.db, 'LISTED', route('up', COST, 'LISTED'))
  await see('up', 33_000n, { productCode: 'LISTED' })
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
