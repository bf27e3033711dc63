import type { Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listProfiles } from '#esims/list-profiles.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop, statuses, waitUntil } from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addPackage(shop.db, 'JP_1_7', [{ supplier: 'sandbox', productCode: 'JP_1_7' }])
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

/** Tables with a row that contains the text in any column, as text or as bytes. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await shop.db.query<{ name: string }>({
    text: `select relname as name from pg_class
           where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  })
  const found: string[] = []
  for (const { name } of tables) {
    const [row] = await shop.db.query<{ has: boolean }>({
      text: `select exists (select from ${name} t where strpos(t::text, $1) > 0 or strpos(t::text, $2) > 0) as has`,
      values: [text, Buffer.from(text).toString('hex')],
    })
    if (row!.has) found.push(name)
  }
  return found
}

it('no table contains a delivered eSIM’s activation data unencrypted', async () => {
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'JP_1_7', { count: 3 })
  const loop = fulfilmentLoop(shop)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  await loop.stop(5_000)
  const { profileList } = await listProfiles(shop, tenantId, {})
  expect(profileList).toHaveLength(3)
  expect(await tablesWith(profileList[0]!.iccid)).toContain('profiles') // shows that the search works
  for (const { ac, matchingId } of profileList) {
    expect(matchingId).toMatch(/^[0-9A-F]{32}$/)
    expect([await tablesWith(matchingId), await tablesWith(ac)]).toEqual([[], []])
  }
  expect(new Set(profileList.map((profile) => profile.matchingId)).size).toBe(3)
})

const orderId = '01939ab2-7d6f-7c3e-9a51-8f2b6c1d0e4a'
const request = (itemNo: number) => {
  return { tenantId: orderId, orderId, itemNo, key: itemKeyOf(orderId, itemNo), productCode: 'JP_1_7' }
}
const matchingIdOf = ([outcome]: Outcome[]) => (outcome?.kind === 'delivered' ? outcome.esim.matchingId : undefined)

it('a key gets the same matching id from every node and on every request', async () => {
  const other = await createShop(database.url)
  const [here, there] = [shop, other].map((node) => node.suppliers.get('sandbox')!.supplier)
  const first = matchingIdOf(await here!.order([request(1)]))
  expect(first).toMatch(/^[0-9A-F]{32}$/)
  expect(matchingIdOf(await there!.order([request(1)]))).toBe(first)
  expect(matchingIdOf(await there!.query([request(1)], 'CHECK'))).toBe(first)
  await other.close()
})
