import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { firstUuidAt, systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Database, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { createPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '#platform/audit/audit.ts'
import { ensureDeployment } from '#platform/deployment/ensure-deployment.ts'
import { AGED_BY_CLOCK } from '#platform/retention/retention-table.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { findRowKeys } from '#tenants/tenant-rows.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

/*
 * A quarter hour, nine hours ago, in which only the first five minutes were busy: each of many dealers has more events in
 * it than fit on a page. The sums contain only the number of orders in the whole quarter hour.
 */

const TENANTS = 60
const EVENTS_OF_EACH = 80
const PAGE = 50
const EVENTS = { table: 'events', id: 'notify_id' } as const
const QUARTER_HOUR_MS = 900_000
const BUSY_MS = 300_000
const startedMs = Math.floor(Date.now() / QUARTER_HOUR_MS) * QUARTER_HOUR_MS - 9 * 3_600_000

let database: TestDatabase
let db: Database

beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 2, applicationName: 'test' })
  const deps = { db, ids: systemIds, cipher: createCipher([Buffer.alloc(32, 1)]), config: { cellName: 'main' } }
  await ensureDeployment(deps, 'local')
  await createPartitions(db, AGED_BY_CLOCK, startedMs)
  for (let n = 0; n < TENANTS; n++) await createTenant(deps, { clientName: `Dealer ${n}`, currencyCode: 'USD' }, SYSTEM)
  const tenants = await db.query<{ tenantId: string }>({ text: 'select tenant_id from tenants' })
  const ids = Array.from({ length: tenants.length * EVENTS_OF_EACH }, (_, n, of = tenants.length * EVENTS_OF_EACH) =>
    firstUuidAt(startedMs + (BUSY_MS * n) / of).replace(/.{12}$/, n.toString(16).padStart(12, '0')),
  )
  await db.query({
    text: `insert into events (tenant_id, notify_id, notify_type, content, created_at)
           select tenant_id, notify_id, 'ORDER_PAID', '{}', now() from unnest($1::uuid[], $2::uuid[]) as e(tenant_id, notify_id)`,
    values: [ids.map((_, n) => tenants[n % tenants.length]!.tenantId), ids],
  })
  await db.query({
    text: `insert into order_quarter_hours (starts_at, outcome, currency_code, orders, amount) values ($1, 2, 'USD', $2, 1)`,
    values: [new Date(startedMs), TENANTS * EVENTS_OF_EACH],
  })
  await db.query({
    text: `insert into daily_sales_tenants
           select tenant_id, ($1::timestamptz at time zone 'utc')::date, 'NEW', 'USD', $2, 1, 0, 0, 0, 0 from tenants`,
    values: [new Date(startedMs), EVENTS_OF_EACH],
  })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

/** A page of all tenants' events, and how many rows were read for it. */
async function readPage(ofTenants: string | null = null) {
  let read = 0
  const counting: Pick<Db, 'query'> = {
    async query<Row>(statement: Parameters<Db['query']>[0]) {
      const rows = await db.query<Row>(statement)
      for (const row of rows) read += (row as { read?: number }).read ?? 0
      return rows
    },
  }
  const { keys } = await findRowKeys(counting, EVENTS, { tenantId: ofTenants }, { limit: PAGE })
  return { ids: keys.map(({ id }) => id), read }
}

const latestIds = async () =>
  (await db.query<{ id: string }>({ text: `select notify_id as id from events order by 1 desc limit ${PAGE}` })).map(
    ({ id }) => id,
  )

describe('the first page for all tenants, hours after a busy time', () => {
  it('contains the latest rows, and reads few others', async () => {
    const { ids, read } = await readPage()
    expect(ids).toEqual(await latestIds())
    expect(read).toBeLessThan(10 * PAGE)
  })

  it('contains the latest rows even before any sums exist', async () => {
    await db.query({ text: 'delete from order_quarter_hours' })
    await db.query({ text: 'delete from daily_sales_tenants' })
    expect((await readPage()).ids).toEqual(await latestIds())
  })

  it('begins with rows that are newer than the sums', async () => {
    const [first] = await db.query<{ tenantId: string }>({ text: 'select tenant_id from tenants limit 1' })
    const id = firstUuidAt(Date.now() - 60_000)
    await db.query({
      text: `insert into events (tenant_id, notify_id, notify_type, content, created_at) values ($1, $2, 'ORDER_PAID', '{}', now())`,
      values: [first!.tenantId, id],
    })
    expect((await readPage()).ids[0]).toBe(id)
  })
})

it('a page that contains every row of all tenants does not offer to search earlier years', async () => {
  const limit = 2 * TENANTS * EVENTS_OF_EACH
  const { keys, ...end } = await findRowKeys(db, EVENTS, { tenantId: null }, { limit })
  expect(keys.length).toBeGreaterThanOrEqual(TENANTS * EVENTS_OF_EACH)
  expect(end).toEqual({ next: null, searchedTo: null })
})
