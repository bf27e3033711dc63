import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'

let testbed: ConsoleTestbed
let operator: Awaited<ReturnType<typeof signedInAs>>
let dealer: typeof operator
let tenantId = ''
const orders: Record<'japan' | 'europe' | 'waiting', string> = { japan: '', europe: '', waiting: '' }
beforeAll(async () => {
  testbed = await startConsole()
  const { db } = testbed
  tenantId = await addTenant(testbed, 'Filtered')
  operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
  dealer = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  await addPackage(db, 'JP', [{ supplier: 'north', productCode: 'P', cost: 5n }])
  await addPackage(db, 'EU', [{ supplier: 'south', productCode: 'P', cost: 5n }])
  await db.query({ text: `insert into coverages values ('europe', '{DE,FR}', '[]')` })
  await db.query({ text: `update packages set coverage_id = 'europe' where package_code = 'EU'` })
  for (const [name, packageCode] of [
    ['japan', 'JP'],
    ['europe', 'EU'],
    ['waiting', 'JP'],
  ] as const) {
    const [orderId = ''] = await payOrders(db, tenantId, packageCode)
    orders[name] = orderNoOf(orderId)
    if (name === 'waiting') continue
    await db.query({
      text: `update order_items set item_status = 'DELIVERED', supplier = $2 where order_id = $1`,
      values: [orderId, name === 'japan' ? 'north' : 'south'],
    })
  }
})
afterAll(() => testbed.stop())

async function found(query: string): Promise<string[]> {
  const { body } = await operator.call('GET', `/orders?${query}`)
  const names = Object.fromEntries(Object.entries(orders).map(([name, orderNo]) => [orderNo, name]))
  return (body.orders as { orderNo: string }[]).map(({ orderNo }) => names[orderNo]!).sort()
}

it('country=JP finds orders for Japan-only packages, and !RG orders for multi-country packages', async () => {
  expect(await found('country=JP')).toEqual(['japan', 'waiting'])
  expect(await found('country=!RG')).toEqual(['europe'])
  expect(await found('country=DE')).toEqual([])
  expect(await found('country=JP&packageCode=EU')).toEqual([])
  expect(await found('packageCode=EU')).toEqual(['europe'])
})

it('orders are filtered by the supplier that delivered the eSIMs, and by type', async () => {
  expect(await found('supplier=north')).toEqual(['japan'])
  expect(await found('supplier=north&country=!RG')).toEqual([])
  expect(await found('orderType=NEW')).toEqual(['europe', 'japan', 'waiting'])
  expect(await found('orderType=TOPUP')).toEqual([])
})

it('the country filter offers countries with packages; for a dealer, only those with a price', async () => {
  const locations = async (caller: typeof operator) => (await caller.call('GET', '/orders/locations')).body.locations
  expect(await locations(operator)).toEqual(['!RG', 'JP'])
  expect(await locations(dealer)).toEqual([])
  const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
  await staff.call('PUT', `/tenants/${tenantId}/own-prices/EU`, { price: 5 })
  expect(await locations(dealer)).toEqual(['!RG'])
})

it('a dealer can filter by country but not by supplier, because suppliers are hidden from dealers', async () => {
  const byCountry = await dealer.call('GET', '/orders?country=!RG')
  expect(byCountry.body.orders).toMatchObject([{ orderNo: orders.europe }])
  const bySupplier = await dealer.call('GET', '/orders?supplier=north')
  expect([bySupplier.status, bySupplier.body.code]).toEqual([403, 'NOT_ALLOWED'])
})
