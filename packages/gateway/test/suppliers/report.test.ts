import { readFileSync } from 'node:fs'
import { makeIccid, orderNoOf } from '@dealer-esim/contract'
import type { SupplierRecord, UnreadableEntry } from '@dealer-esim/wholesalers/supplier.ts'
import { readable } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { compareSupplierList } from '#fulfilment/reconciliation/compare-lists.ts'
import { listNotCompared } from '#operations/recovery/recovery-loop.ts'
import { updateSales } from '#sales/update-sales.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminFailure, adminJson, adminUsageError } from '../harness/processes/admin-in-process.ts'
import { addPackage, addSupplier, addTenant, payOrders, statuses, waitUntil } from '../harness/shop.ts'

const HOUR_MS = 3_600_000

let shop: AdminTestbed

beforeAll(async () => {
  shop = await createAdminTestbed()
})
afterAll(() => shop.close())

describe('supplier report', () => {
  const month = new Date().toISOString().slice(0, 7)
  let orderId: string
  let tenantId: string

  beforeAll(async () => {
    await addSupplier(shop, 'reported', 'sandbox')
    tenantId = await addTenant(shop.db)
    await addPackage(shop.db, 'REPORTED', [{ supplier: 'reported', productCode: 'SANDBOX_PARTIAL', cost: 2_500n }])
    orderId = (await payOrders(shop.db, tenantId, 'REPORTED', { count: 4 }))[0]!
    const loop = fulfilmentLoop(shop)
    await waitUntil(async () => (await statuses(shop.db, tenantId)).PARTIALLY_DELIVERED === 1)
    await loop.stop(5_000)
    await updateSales(shop.db)
  })

  it('shows sales and costs by month and supplier, as a table, JSON and CSV', async () => {
    const path = shop.path('months.csv')
    expect(await admin('supplier', 'report', '--from', month, '--to', month, '--csv', path)).toMatchObject({ code: 0 })
    expect(parse(readFileSync(path), { columns: true })).toContainEqual({
      ...{ month, supplier: 'reported', currencyCode: 'USD', delivered: '2', cancelled: '0', refused: '2' },
      ...{ underReview: '0', orphans: '0', sales: '4.00', refunds: '2.00', cost: '0.50', costCurrency: 'USD' },
      ...{ charged: '0', chargedCost: '0.00' },
    })
    const { monthList } = await adminJson('supplier', 'report')
    expect(monthList).toContainEqual(
      expect.objectContaining({ month, supplier: 'reported', sales: 40_000, refunds: 20_000, cost: 5_000 }),
    )
    expect((await admin('supplier', 'report')).stdout).toMatch(/reported +2 +2 +0 +0 +4.00/)
    expect((await adminJson('supplier', 'report', '--from', '2020-01', '--to', '2020-02')).monthList).toEqual([])
    expect(await adminUsageError('supplier', 'report', '--from', 'May')).toMatch(/is not a month/)
    expect(await adminFailure('supplier', 'report', '--csv', '/no/such/folder.csv')).toMatch(/no such file/)
  })

  it('counts delivered top-ups, and counts a day pass’s cost once per day', async () => {
    await addSupplier(shop, 'by-day', 'sandbox')
    await addPackage(shop.db, 'BY_DAY', [{ supplier: 'by-day', productCode: 'TYPE', cost: 1_000n }])
    const dealer = await addTenant(shop.db)
    const [topUp] = await payOrders(shop.db, dealer, 'BY_DAY', { orders: 2 })
    const loop = fulfilmentLoop(shop)
    await waitUntil(async () => (await statuses(shop.db, dealer)).DELIVERED === 2)
    await loop.stop(5_000)
    // A top-up's item has no eSIM of its own; here it was bought for three days.
    await shop.db.query({ text: 'delete from profiles where order_id = $1', values: [topUp] })
    await shop.db.query({
      text: `update orders set package_lines = jsonb_set(package_lines, '{0,periodNum}', '3') where order_id = $1`,
      values: [topUp],
    })
    await updateSales(shop.db)
    const { monthList } = await adminJson('supplier', 'report')
    expect(monthList).toContainEqual(expect.objectContaining({ supplier: 'by-day', delivered: 2, cost: 4_000 }))
  })

  it('lists orders without eSIMs and eSIMs without orders', async () => {
    const esim = { iccid: makeIccid('8985999', 1), smdpAddress: 'a.example', matchingId: 'ORPHAN' }
    const refused = await shop.db.query<{ itemNo: number }>({
      text: `select item_no from order_items where tenant_id = $1 and item_status = 'REFUSED'`,
      values: [tenantId],
    })
    await acceptEsim(shop, tenantId, { orderId, itemNo: refused[0]!.itemNo, supplier: 'reported' }, esim)
    const [stuck] = await payOrders(shop.db, tenantId, 'REPORTED')
    await shop.db.query({
      text: `update orders set created_at = now() - interval '2 hours' where order_id = $1`,
      values: [stuck],
    })
    await shop.db.query({
      text: `insert into unclaimed_esims (supplier, key, iccid) values ('reported', 'KEY', '8985')`,
    })
    const { discrepancyList } = await adminJson('supplier', 'report', '--discrepancies')
    expect(discrepancyList).toContainEqual(
      expect.objectContaining({ kind: 'ESIM_WITHOUT_ORDER', orderNo: orderNoOf(orderId), iccid: esim.iccid }),
    )
    expect(discrepancyList).toContainEqual(
      expect.objectContaining({
        kind: 'ESIM_WITHOUT_ORDER',
        orderNo: null,
        iccid: '8985',
        detail: 'under the key KEY',
      }),
    )
    expect(discrepancyList).toContainEqual(
      expect.objectContaining({ kind: 'ORDER_WITHOUT_ESIM', orderNo: orderNoOf(stuck!), detail: 'WAITING' }),
    )
    expect((await admin('supplier', 'report', '--discrepancies', '--csv', '-')).stdout).toContain(orderNoOf(stuck!))
  })
})

it('an unreadable entry in a supplier’s list is shown until a later comparison reads it', async () => {
  const known = shop.suppliers.get('sandbox')!
  const iccid = makeIccid('8985997', 1)
  let odd: UnreadableEntry[] = Array.from({ length: 25 }, (_, index) => ({
    entry: `entry ${index + 1}`,
    reason: 'it is odd',
  }))
  async function* list(): AsyncGenerator<SupplierRecord | UnreadableEntry> {
    yield* odd
    yield { key: 'ODD-KEY', iccid, cancelled: false, time: new Date() }
    if (odd.length > 0) throw new Error('page 2 cannot be read')
  }
  const compare = () => compareSupplierList(shop, { ...known, supplier: { ...known.supplier, list } }, 60_000)
  const unreadable = async () => {
    const { discrepancyList } = await adminJson('supplier', 'report', '--discrepancies')
    return discrepancyList.filter(({ kind }: { kind: string }) => kind === 'UNREADABLE_ENTRY')
  }
  expect(await compare()).toBe(1)
  const rows = await unreadable()
  expect(rows[0]).toMatchObject({ supplier: 'sandbox', orderNo: null, iccid: null })
  const details = rows.map(({ detail }: { detail: string }) => detail)
  expect(details).toHaveLength(21)
  expect(details).toEqual(expect.arrayContaining(['entry 1: it is odd', 'entry 20: it is odd', 'and 6 more']))
  odd = []
  await compare()
  expect(await unreadable()).toEqual([])
})

it('a second eSIM under a known key is reported as sold by the supplier but held by no dealer', async () => {
  const tenantId = await addTenant(shop.db)
  await addPackage(shop.db, 'TWICE', [{ supplier: 'sandbox', productCode: 'TYPE' }])
  const [orderId] = await payOrders(shop.db, tenantId, 'TWICE')
  const loop = fulfilmentLoop(shop)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  await loop.stop(5_000)
  const known = shop.suppliers.get('sandbox')!
  const key = `${orderNoOf(orderId!)}-1`
  const second = makeIccid('8985998', 1)
  async function* list(since: Date): AsyncGenerator<SupplierRecord> {
    for await (const record of readable(known.supplier.list!(since))) if (record.key === key) yield record
    yield { key, iccid: second, cancelled: false, time: new Date() }
  }
  await compareSupplierList(shop, { ...known, supplier: { ...known.supplier, list } }, 60_000)
  const unclaimed = await shop.db.query({ text: 'select iccid from unclaimed_esims where key = $1', values: [key] })
  expect(unclaimed).toEqual([{ iccid: second }])
})

it('after a restore, lists are compared from a time before the backup, until one comparison succeeds and the recovery ends', async () => {
  const known = shop.suppliers.get('sandbox')!
  const asked: Date[] = []
  let fails = true
  async function* list(since: Date): AsyncGenerator<SupplierRecord> {
    asked.push(since)
    yield* []
    if (fails) throw new Error('page 2 cannot be read')
  }
  const compare = async () => {
    await compareSupplierList(shop, { ...known, supplier: { ...known.supplier, list } }, 26 * HOUR_MS)
    return Math.round((shop.databaseClock.now() - asked.at(-1)!.getTime()) / HOUR_MS)
  }
  fails = false
  expect(await compare()).toBe(26)
  fails = true
  await shop.db.query({
    text: `insert into restores (restore_id, backup_started_at, restored_at, paused_suppliers)
           values (gen_random_uuid(), now() - interval '50 hours', now(), '{}')`,
  })
  expect(await compare()).toBe(51)
  expect(await compare()).toBe(51)
  fails = false
  expect(await compare()).toBe(51)
  expect(await compare()).toBe(51) // as long as the recovery lasts
  await shop.db.query({ text: 'update restores set recovering = false' })
  expect(await compare()).toBe(26)
  fails = true
  await compare()
  expect(await compare()).toBe(26)
  await shop.db.query({ text: 'delete from restores' })
})

it('after a restore, a comparison that began before open orders were held is repeated, because it left them to fulfilment', async () => {
  const known = shop.suppliers.get('sandbox')!
  const asked: number[] = []
  let work: () => Promise<unknown> = async () => undefined
  async function* list(since: Date): AsyncGenerator<SupplierRecord> {
    asked.push(Math.round((shop.databaseClock.now() - since.getTime()) / HOUR_MS))
    await work()
    yield* []
  }
  const compare = () =>
    compareSupplierList(shop, { ...known, supplier: { ...known.supplier, list } }, 0).then(() => asked.at(-1))
  const notCompared = async () => (await listNotCompared(shop)).includes('sandbox')
  await shop.db.query({
    text: `insert into restores (restore_id, backup_started_at, restored_at, paused_suppliers)
           values (gen_random_uuid(), now() - interval '50 hours', now(), '{}')`,
  })
  work = () => shop.db.query({ text: 'update restores set prepared_at = clock_timestamp()' })
  expect([await compare(), await notCompared()]).toEqual([51, true])
  work = async () => undefined
  expect([await compare(), await notCompared()]).toEqual([51, false])
  expect(await listNotCompared(shop)).toContain('reported') // each supplier's own comparison counts
  await shop.db.query({ text: 'update restores set recovering = false' })
  expect(await compare()).toBe(0)
  await shop.db.query({ text: 'delete from restores' })
})
