import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyReportByIccid } from '#esims/apply-reports.ts'
import { expireProfiles } from '#esims/life/expire.ts'
import { claimDueOrders } from '#fulfilment/claim-orders.ts'
import { listDueTenants, postponeFirstOrder } from '#fulfilment/order-lease.ts'
import type { FulfilmentDeps } from '#fulfilment/outcomes/outcome-deps.ts'
import { askAboutWatched } from '#fulfilment/reconciliation/ask-watched.ts'
import { cancelOrphans } from '#fulfilment/reconciliation/cancel-orphans.ts'
import { compareSupplierList } from '#fulfilment/reconciliation/compare-lists.ts'
import { listSupplierMonths, streamDiscrepancies } from '#fulfilment/reconciliation/reconciliation-report.ts'
import { refreshItem } from '#fulfilment/reconciliation/refresh-item.ts'
import { alertOperatorsOfReviews } from '#fulfilment/review/review-alerts.ts'
import { runClaim } from '#fulfilment/run-claim.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import { stockSupplier } from '#stock/stock.ts'
import { expireCodes } from '#stock/stock-levels.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { type ExplainedQuery, explainQueries } from '../harness/databases/statements.ts'
import { vacuum } from '../harness/databases/tables.ts'
import { addPackage, addSupplier, addTenant, createShop, payOrders, type Shop } from '../harness/shop.ts'

/*
 * The pages that the queries of fulfilment's loops read do not grow with the tables. Two hundred thousand rows, generated
 * by the database, all of one dealer as the worst case.
 */
const ROWS = 40_000

let database: TestDatabase
let shop: Shop
let db: Db & { close(): Promise<void> }
let deps: FulfilmentDeps
let tenantId: string
const seen: ExplainedQuery[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addSupplier(shop, 'warehouse', 'stock')
  await addPackage(shop.db, 'P', [{ supplier: 'warehouse', productCode: 'P' }])
  tenantId = await addTenant(shop.db)
  for (let n = 0; n < 3; n++) await addTenant(shop.db)
  await grow()
  db = createDb({ url: database.url, poolSize: 4, applicationName: 'test plans', genericPlans: true })
  const suppliers = { ...shop.suppliers, get: supplied, all: () => [supplied()] }
  deps = { ...shop, db: explainQueries(db, seen), suppliers }
})
afterAll(async () => {
  await db?.close()
  await shop?.close()
  await database?.drop()
})

function supplied() {
  const known = shop.suppliers.get('warehouse')!
  return { ...known, supplier: stockSupplier('warehouse', {}, { ...shop, db: explainQueries(db, seen) }) }
}

/** Inserts delivered orders of the last hundred days with their eSIMs, codes and watched items. */
async function grow(): Promise<void> {
  const secrets = shop.cipher.encrypt(JSON.stringify({ ac: 'LPA:1$a.example$X', matchingId: 'X' }), tenantId)
  const encryptedCode = shop.cipher.encrypt(
    JSON.stringify({ smdpAddress: 'a', matchingId: 'X', ac: 'LPA:1$a$X' }),
    'supplier:warehouse',
  )
  const at = `now() - (n % 100 + 1) * interval '1 day'`
  // A UUIDv7 of that time.
  const id = (kind: number) => `(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '7${kind}00' ||
    '8000' || lpad(to_hex(n), 12, '0'))::uuid`
  const n = `generate_series(1, ${ROWS}) as n`
  await shop.db.tx(async (tx) => {
    tx.send({ text: 'set local session_replication_role = replica' }) // foreign keys hold by construction
    tx.send({
      text: `insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
               wallet_version, package_lines, status_history, event_sequence, created_at, updated_at)
             select $1, ${id(0)}, 'OLD-' || n, 'DELIVERED', 10000, 'USD', 0, n, '[]', '[]', 3, ${at}, ${at} from ${n}`,
      values: [tenantId],
    })
    tx.send({
      text: `insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, item_status, supplier,
               product_code, updated_at)
             select $1, ${id(0)}, 1, 0, 'P', 10000, 'DELIVERED', 'warehouse', 'P', ${at} from ${n}`,
      values: [tenantId],
    })
    tx.send({
      text: `insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets,
               esim_status, smdp_status, total_duration, duration_unit, install_before, created_at, updated_at)
             select $1, ${id(1)}, ${id(0)}, 1, 'warehouse', '8985' || lpad(n::text, 15, '0'), 'a', $2, 'GOT_RESOURCE',
               'RELEASED', 7, 'DAY', now() + interval '80 days', ${at}, ${at} from ${n}`,
      values: [tenantId, secrets],
    })
    tx.send({
      text: `insert into stock_codes (supplier, code_id, batch_id, product_code, state, key, fingerprint, iccid, secrets,
               expires_at, imported_at, reserved_at)
             select 'warehouse', ${id(2)}, '00000000-0000-7000-8000-000000000001', 'P', case n % 2 when 0 then 'FREE' else 'RESERVED' end,
               case n % 2 when 0 then null else 'OLD-' || n end, int8send(n), '8985' || lpad(n::text, 15, '0'), $1,
               now() + n * interval '1 minute', ${at}, case n % 2 when 0 then null else ${at} end from ${n}`,
      values: [encryptedCode],
    })
    tx.send({
      text: `insert into watched_items (tenant_id, order_id, item_no, purpose, supplier, product_code, due_at, give_up_at)
             select $1, ${id(0)}, 1, 'REFUNDED_IN_DOUBT', 'warehouse', 'P', now() + n * interval '1 minute', now() + interval '7 days' from ${n}`,
      values: [tenantId],
    })
    tx.send({
      text: `insert into stock_levels (supplier, product_code, available) values ('warehouse', 'P', ${ROWS / 2})`,
    })
  })
  for (const table of ['orders', 'order_items', 'profiles', 'stock_codes', 'watched_items']) {
    await vacuum(shop.db, table)
  }
}

/** @returns the most pages that one statement read; expects that no statement scans a whole table */
async function pagesOf(work: () => Promise<unknown>): Promise<number> {
  seen.length = 0
  await work()
  const grown = ['orders', 'order_items', 'profiles', 'stock_codes', 'watched_items']
  expect(seen.filter(({ scanned }) => scanned.some((table) => grown.includes(table)))).toEqual([])
  expect(seen.length).toBeGreaterThan(0)
  return Math.max(...seen.map(({ pages }) => pages))
}

describe('on large tables, few pages are read by', () => {
  it('the choice of the next tenant', async () => {
    await payOrders(shop.db, tenantId, 'P', { orders: 2 })
    expect(await pagesOf(() => listDueTenants(deps.db, NIL_TENANT, 64))).toBeLessThan(50)
    expect(await pagesOf(() => postponeFirstOrder(deps.db, tenantId, 0))).toBeLessThan(50)
  })

  it('a claim of ten orders, the reservation of their codes, and saving their outcomes', async () => {
    await payOrders(shop.db, tenantId, 'P', { orders: 8 })
    const pages = await pagesOf(async () => {
      const claim = await claimDueOrders(deps, tenantId, 200)
      expect(claim.orderCount).toBe(10)
      await runClaim(deps, claim, deps.clock.monotonic())
    })
    expect(pages).toBeLessThan(600)
    const delivered = await shop.db.query({
      text: `select from orders where tenant_id = $1 and order_status = 'DELIVERED' and transaction_id like 'T-%'`,
      values: [tenantId],
    })
    expect(delivered).toHaveLength(10)
  })

  it('reconciliation of watched items, orphans and a supplier’s list', async () => {
    expect(await pagesOf(() => askAboutWatched(deps))).toBeLessThan(50)
    expect(await pagesOf(() => cancelOrphans(deps))).toBeLessThan(50)
    expect(await pagesOf(() => compareSupplierList(deps, supplied(), 60_000))).toBeLessThan(100)
  })

  it('an event of a supplier and a report on an ICCID', async () => {
    const [order] = await payOrders(shop.db, tenantId, 'P')
    await shop.db.query({
      text: `update order_items set item_status = 'UNKNOWN', supplier = 'warehouse', product_code = 'P'
             where tenant_id = $1 and order_id = $2`,
      values: [tenantId, order],
    })
    expect(await pagesOf(() => refreshItem(deps, supplied(), { tenantId, orderId: order!, itemNo: 1 }))).toBeLessThan(
      60,
    )
    const report = { time: new Date(), smdpStatus: 'DOWNLOAD' as const }
    expect(
      await pagesOf(() => applyReportByIccid(deps, ['warehouse'], `8985${'5'.padStart(15, '0')}`, report)),
    ).toBeLessThan(60)
  })

  it('the expiry of eSIMs and of codes, and the alert about orders under review', async () => {
    expect(await pagesOf(() => expireProfiles(deps, tenantId))).toBeLessThan(50)
    expect(
      await pagesOf(() => expireCodes(deps.db, deps.ids, { name: 'warehouse', leastValidityHours: 0 })),
    ).toBeLessThan(50)
    expect(await pagesOf(() => alertOperatorsOfReviews(deps))).toBeLessThan(50)
  })
})

it('the reports of a month read none of its orders but those that are open', async () => {
  const to = new Date(Date.now() - 40 * 86_400_000)
  const from = new Date(to.getTime() - 30 * 86_400_000)
  expect(await pagesOf(() => listSupplierMonths(deps.db, { from, to }))).toBeLessThan(50)
  const discrepancies = async () => {
    for await (const rows of streamDiscrepancies(deps.db, { from, to })) expect(rows).toEqual([])
  }
  expect(await pagesOf(discrepancies)).toBeLessThan(100)
})
