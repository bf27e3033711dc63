import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { importPackages } from '#catalogue/files/import-packages.ts'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { importStock } from '#stock/import-stock.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { openShop } from '../harness/open-shop.ts'
import { addPackage, addSupplier, addTenant, payOrders, type Shop, statuses, waitUntil } from '../harness/shop.ts'

/*
 * Packages that list the same supplier twice: a supplier has one key per eSIM, and only stock sells a different product
 * under it.
 */

let shop: Shop
let loop: Loop | undefined

beforeAll(async () => {
  shop = await openShop()
  await addSupplier(shop, 'warehouse', 'stock')
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(() => shop.close())

const BY = { actor: 'cli:test' } as const
const route = (supplier: string, productCode: string) => ({ supplier, productCode })
const put = (packageCode: string, ...suppliers: object[]) =>
  putPackages(shop, [packageInput({ packageCode, suppliers })], BY)
const refusalOf = (name: string) => new RegExp(`^suppliers\\[2\\].supplier: ${name} is listed twice, `, 'm')

it('a package that lists a supplier twice is refused with advice', async () => {
  const putting = put('TWICE', route('sandbox', 'X'), route('warehouse', 'A'), route('sandbox', 'Y'))
  await expect(putting).rejects.toThrow(refusalOf('sandbox'))
  await expect(putting).rejects.toThrow('Name sandbox once')
})

it('a package that lists an unknown supplier twice is refused, because that supplier might not be a stock', async () => {
  const putting = put('EARLY', route('soon', 'X'), route('warehouse', 'A'), route('soon', 'Y'))
  await expect(putting).rejects.toThrow(refusalOf('soon'))
  await expect(putting).rejects.toThrow('Add the stock soon first')
})

it('a supplier listed twice in a file is reported by row and column', async () => {
  const head =
    'packageCode,name,dataType,volume,duration,locationCodes,price:USD,supplier1,productCode1,supplier3,productCode3'
  const file = `${head}\nIN_STOCK,Good,TOTAL,1,7,JP,1,warehouse,A,warehouse,B\nIN_SANDBOX,Bad,TOTAL,1,7,JP,1,sandbox,A,sandbox,B\n`
  const source = Readable.from([Buffer.from(file)])
  const { errors } = await importPackages(shop, { format: 'csv', source, dryRun: false }, BY)
  expect(errors).toMatchObject([{ row: 3, column: 'supplier3', packageCode: 'IN_SANDBOX' }])
})

it('an existing package that lists a supplier twice can be taken off sale and priced', async () => {
  await addPackage(shop.db, 'OLD', [route('sandbox', 'X'), route('sandbox', 'Y')])
  const price = { packageCode: 'OLD', price: 50_000, currencyCode: 'USD' }
  expect(await putPackages(shop, [price], BY)).toMatchObject({ changed: 1 })
  expect(await setOnSale(shop, { packageCodes: ['OLD'] }, false, BY)).toEqual(['OLD'])
})

it('a package with two products from one stock sells the second once the first is used up', async () => {
  await put('FROM_STOCK', route('warehouse', 'A'), route('warehouse', 'B'))
  const file = Readable.from([`iccid,ac\n${makeIccid('8985', 1)},LPA:1$smdp.example.com$CODE-1`])
  await importStock(shop, { supplier: 'warehouse', productCode: 'B', file }, BY)
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'FROM_STOCK')
  loop = fulfilmentLoop(shop)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  const text = 'select supplier, product_code from order_items where tenant_id = $1'
  expect(await shop.db.query({ text, values: [tenantId] })).toEqual([{ supplier: 'warehouse', productCode: 'B' }])
})
