import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { importStock } from '#stock/import-stock.ts'
import { listBatches } from '#stock/stock-batches.ts'
import { exportBatch, findCodes } from '#stock/stock-codes.ts'
import { CsvRefused } from '#stock/stock-csv.ts'
import { alertExpiring, setBatchExpiry, setExpiryAlert, withdrawBatch } from '#stock/stock-expiry.ts'
import { listStock, setLowStock } from '#stock/stock-levels.ts'
import { addPackage, addSupplier } from '../harness/shop.ts'
import { BY, createStockTestbed, type StockTestbed } from './stock-testbed.ts'

let testbed: StockTestbed
beforeAll(async () => {
  testbed = await createStockTestbed()
})
beforeEach(() => testbed.clear())
afterAll(() => testbed.close())

const batches = () => listBatches(testbed.shop.db, {}, { limit: 10 })

/** Returns the numbers according to the counters and according to the codes. */
async function counters() {
  const [batch] = await batches()
  const [counted] = await testbed.shop.db.query<{ free: number; expired: number; reserved: number }>({
    text: `select count(*) filter (where state = 'FREE')::int as free,
             count(*) filter (where state = 'EXPIRED')::int as expired,
             count(*) filter (where state = 'RESERVED')::int as reserved from stock_codes`,
  })
  const [level] = await listStock(testbed.shop.db)
  expect({ free: batch!.available, expired: batch!.expired, reserved: batch!.sold }).toEqual(counted)
  expect(level!.available).toBe(batch!.available)
  return [batch!.available, batch!.sold, batch!.expired]
}

describe('a batch', () => {
  it('counts its codes through sale, return and expiry', async () => {
    await testbed.load(5, { batchName: 'May', expiresAt: testbed.inDays(60) })
    expect(await batches()).toMatchObject([{ batchName: 'May', productCode: 'P', codes: 5, expiring: 0 }])
    expect(await counters()).toEqual([5, 0, 0])
    await testbed.order('K-1', 'K-2')
    await testbed.order('K-1')
    expect(await counters()).toEqual([3, 2, 0])
    const [row] = await findCodes(testbed.shop.db, testbed.iccids[0]!, 1)
    const esim = { tenantId: '', orderId: '', itemNo: 1, productCode: 'P', matchingId: '', shown: false }
    const sold = row!.key === null ? testbed.iccids[1]! : row!.iccid
    const { key } = (await findCodes(testbed.shop.db, sold, 1))[0]!
    expect(await testbed.warehouse().cancel({ ...esim, key: key!, iccid: sold })).toEqual({ kind: 'cancelled' })
    expect(await counters()).toEqual([4, 1, 0])
    await testbed.shop.db.query({ text: `update stock_codes set expires_at = now() where state = 'FREE'` })
    await testbed.warehouse().tidy!()
    expect(await counters()).toEqual([0, 1, 4])
  })

  it('leaves no trace if its import is refused', async () => {
    await expect(testbed.load(0)).rejects.toThrow(CsvRefused)
    await expect(testbed.load(1, { expiresAt: new Date() })).rejects.toMatchObject({ code: 'INVALID' })
    expect(await batches()).toEqual([])
  })

  it('alerts once before its unsold codes expire, and again after its alert days are changed', async () => {
    const { batchId } = await testbed.load(3, { batchName: 'June', expiresAt: testbed.inDays(10), alertDays: 7 })
    const alerts = () =>
      testbed.shop.db.query<{ message: string }>({ text: `select message from alerts where kind = 'STOCK_EXPIRING'` })
    await alertExpiring(testbed.shop.db, testbed.shop.ids, 'warehouse')
    expect(await alerts()).toEqual([])
    await setExpiryAlert(testbed.shop, { supplier: 'warehouse', batchId, alertDays: 14 }, BY)
    for (let pass = 0; pass < 2; pass++) await testbed.warehouse().tidy!()
    const [alert, ...more] = await alerts()
    expect(alert!.message).toMatch(/^3 unsold codes of P in batch June of warehouse expire soon, the first on \d{4}-/)
    expect(more).toEqual([])
    expect(await listBatches(testbed.shop.db, { expiringOnly: true }, { limit: 10 })).toMatchObject([{ expiring: 3 }])
    await setExpiryAlert(testbed.shop, { supplier: 'warehouse', batchId, alertDays: 20 }, BY)
    await testbed.warehouse().tidy!()
    expect(await alerts()).toHaveLength(2)
    expect(await listBatches(testbed.shop.db, { expiringOnly: true, withinDays: 5 }, { limit: 10 })).toEqual([])
  })
})

describe('a batch’s expiry date', () => {
  const alerts = () =>
    testbed.shop.db.query<{ message: string }>({ text: `select message from alerts where kind = 'STOCK_EXPIRING'` })
  const set = (batchId: string, expiresAt: Date | null) =>
    setBatchExpiry(testbed.shop, { supplier: 'warehouse', batchId, expiresAt }, BY)

  it('changes only for unsold codes, and the change is recorded', async () => {
    const { batchId } = await testbed.load(3, { batchName: 'July', expiresAt: testbed.inDays(60) })
    const other = await testbed.load(1, { batchName: 'Other', expiresAt: testbed.inDays(60) })
    await testbed.order('K-1')
    const later = testbed.inDays(90)
    expect(await set(batchId, later)).toBe(2)
    expect(await set(batchId, later)).toBe(0)
    const dates = await testbed.shop.db.query<{ state: string; isLater: boolean; count: bigint }>({
      text: `select state, expires_at = $2 as is_later, count(*) from stock_codes where batch_id = $1
             group by 1, 2 order by 1`,
      values: [batchId, later],
    })
    expect(dates).toEqual([
      { state: 'FREE', isLater: true, count: 2n },
      { state: 'RESERVED', isLater: false, count: 1n },
    ])
    const listed = Object.fromEntries((await batches()).map((row) => [row.batchId, row.nextExpiry]))
    expect(listed[batchId]).toEqual(later)
    expect(listed[other.batchId]!.getTime()).toBeLessThan(later.getTime())
    await set(batchId, null)
    expect((await batches()).find((row) => row.batchId === batchId)).toMatchObject({ nextExpiry: null, available: 2 })
    const [entry] = await testbed.shop.db.query<{ after: object }>({
      text: `select after from audit_log where action = 'stock.set_expiry' order by audit_id limit 1`,
    })
    expect(entry!.after).toEqual({ batchName: 'July', expiresAt: later.toISOString(), codes: 2 })
  })

  it('re-arms the alert when it is changed', async () => {
    const { batchId } = await testbed.load(2, { batchName: 'Aug', expiresAt: testbed.inDays(60), alertDays: 14 })
    await testbed.warehouse().tidy!()
    expect(await alerts()).toEqual([])
    await set(batchId, testbed.inDays(10))
    expect(await alerts()).toMatchObject([{ message: expect.stringMatching(/^2 unsold codes of P in batch Aug/) }])
    await set(batchId, testbed.inDays(40))
    await testbed.warehouse().tidy!()
    expect(await alerts()).toHaveLength(1)
    await set(batchId, testbed.inDays(5))
    expect(await alerts()).toHaveLength(2)
  })

  it('cannot be set to a past time, or for a batch without unsold codes', async () => {
    const { batchId } = await testbed.load(1, { batchName: 'Sep', expiresAt: testbed.inDays(60) })
    await expect(set(batchId, new Date(Date.now() - 1_000))).rejects.toMatchObject({ code: 'INVALID' })
    await testbed.order('K-1')
    await expect(set(batchId, testbed.inDays(5))).rejects.toMatchObject({ code: 'BATCH_SOLD_OUT' })
    await expect(set('00000000-0000-7000-8000-000000000001', null)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const entries = await testbed.shop.db.query({ text: `select from audit_log where action = 'stock.set_expiry'` })
    expect(entries).toEqual([])
  })
})

describe('a withdrawn batch', () => {
  const withdraw = (batchId: string) => withdrawBatch(testbed.shop, { supplier: 'warehouse', batchId }, BY)
  const entries = () =>
    testbed.shop.db.query({ text: `select after from audit_log where action = 'stock.withdraw' order by audit_id` })

  it('sells no more codes, keeps its sold ones, and cannot be withdrawn twice', async () => {
    const { batchId } = await testbed.load(4, { batchName: 'Lost', expiresAt: testbed.inDays(60) })
    await testbed.order('K-1')
    expect(await withdraw(batchId)).toBe(3)
    expect(await counters()).toEqual([0, 1, 3])
    expect(await testbed.order('K-2')).toEqual([{ kind: 'refused', message: 'out of stock' }])
    expect(await testbed.order('K-1')).toMatchObject([{ kind: 'delivered' }])
    expect(await withdraw(batchId)).toBe(0)
    expect(await counters()).toEqual([0, 1, 3])
    expect(await entries()).toEqual([{ after: { batchName: 'Lost', codes: 3 } }])
    await expect(withdraw('00000000-0000-7000-8000-000000000001')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('leaves its product’s other batches on sale, and alerts when the product runs low', async () => {
    const { batchId } = await testbed.load(2, { batchName: 'Lost' })
    await testbed.load(1, { batchName: 'Kept' })
    await setLowStock(testbed.shop, { supplier: 'warehouse', productCode: 'P', lowAt: 2 }, BY)
    await withdraw(batchId)
    expect(await listStock(testbed.shop.db)).toMatchObject([{ productCode: 'P', available: 1 }])
    expect(await testbed.shop.db.query({ text: 'select kind from alerts' })).toEqual([{ kind: 'LOW_STOCK' }])
    expect(await testbed.order('K-1')).toMatchObject([{ kind: 'delivered', esim: { iccid: testbed.iccids[0] } }])
  })

  it('returns to sale when its exported unsold codes are imported, for the same supplier only', async () => {
    const { batchId } = await testbed.load(3, { batchName: 'Lost' })
    await testbed.order('K-1')
    await withdraw(batchId)
    const lines: string[] = []
    const batch = { supplier: 'warehouse', batchId, secrets: testbed.shop.cipher }
    await exportBatch(testbed.shop, batch, BY, async (text) => {
      lines.push(...text.trimEnd().split('\n'))
    })
    const [header, ...rows] = lines.map((line) => line.split(','))
    const cells = (row: string[]) => ['iccid', 'ac'].map((column) => row[header!.indexOf(column)])
    const unsold = rows.filter((row) => row[header!.indexOf('state')] === 'EXPIRED')
    const csv = [header!, ...unsold].map((row) => cells(row).join()).join('\n')
    const load = (supplier: string) =>
      importStock(testbed.shop, { supplier, productCode: 'P', file: Readable.from([csv]) }, BY)
    await addSupplier(testbed.shop, 'shelf', 'stock')
    await expect(load('shelf')).rejects.toThrow(CsvRefused)
    expect(await load('warehouse')).toMatchObject({ codes: 2 })
    expect(await testbed.order('K-2', 'K-3')).toMatchObject([{ kind: 'delivered' }, { kind: 'delivered' }])
    expect(await testbed.order('K-4')).toMatchObject([{ kind: 'refused' }])
  })
})

it('a product that appears only in packages is listed with zero codes and its packages on sale', async () => {
  await addPackage(testbed.shop.db, 'FR_1', [{ supplier: 'warehouse', productCode: 'FR1' }])
  await testbed.load(1)
  expect(await listStock(testbed.shop.db)).toEqual([
    { supplier: 'warehouse', productCode: 'FR1', available: 0, lowAt: null, packageCodes: ['FR_1'] },
    { supplier: 'warehouse', productCode: 'P', available: 1, lowAt: null, packageCodes: [] },
  ])
  await setLowStock(testbed.shop, { supplier: 'warehouse', productCode: 'FR1', lowAt: 5 }, BY)
  expect(await listStock(testbed.shop.db)).toMatchObject([{ productCode: 'FR1', available: 0, lowAt: 5 }, {}])
})
