import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadedCatalogue } from '../src/catalogue/catalogue.ts'
import { connect } from '../src/lib/db.ts'
import { createTestDatabase, type TestDatabase } from './harness/database.ts'

let database: TestDatabase
let db: ReturnType<typeof connect>

beforeAll(async () => {
  database = await createTestDatabase()
  db = connect({ url: database.url, poolSize: 2, applicationName: 'test' })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

test('a package is offered and listed once its version is asked for', async () => {
  const catalogue = loadedCatalogue({ db, linkKey: Buffer.alloc(32), databaseClock: { now: () => Date.now() } })
  const buyer = { tenantId: '00000000-0000-7000-8000-000000000001', currencyCode: 'USD' }
  expect((await catalogue.latest()).offer(buyer, 'JP_1_7')).toBe('310241')
  await db.query({ text: `insert into coverages values ('c', '{JP}', '[]')` })
  await db.query({
    text: `insert into packages values ('JP_1_7', 'japan', 'Japan', null, 'TOTAL', 1073741824, 7, 'DAY', 180,
           'ON_INSTALL', false, 'c', null, null, 0, false, true, true, now(), now(), now(), now() + interval '1 second')`,
  })
  await db.query({ text: `insert into package_suppliers values ('JP_1_7', 0, 'sandbox', 'JP_1_7', 5000, 'USD')` })
  await db.query({ text: `insert into list_prices values ('JP_1_7', 'USD', 45000, null, false, now())` })
  await db.query({ text: `update catalogue_version set version = version + 1, changed_at = now()` })
  const snapshot = await catalogue.latest()
  expect(snapshot.offer(buyer, 'JP_1_7')).toMatchObject({ price: 45000n, packageName: 'Japan' })
  expect(snapshot.list(buyer, {}).packageList.map((item) => item.packageCode)).toEqual(['JP_1_7'])
})
