import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listBatches } from '../../src/suppliers/stock/batches.ts'
import { exportBatch, findCodes, revealStockCode } from '../../src/suppliers/stock/codes.ts'
import { CsvRefused } from '../../src/suppliers/stock/csv.ts'
import { alertExpiring, setExpiryAlert } from '../../src/suppliers/stock/expiry.ts'
import { importStock, type StockImport } from '../../src/suppliers/stock/import.ts'
import { listStock, setLowStock } from '../../src/suppliers/stock/levels.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, addSupplier, createShop, type Shop } from '../harness/shop.ts'

const BY = { actor: 'cli:test' } as const
const DAY_MS = 86_400_000

let database: TestDatabase
let shop: Shop
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addSupplier(shop, 'warehouse', 'stock')
})
beforeEach(async () => {
  for (const table of ['stock_codes', 'stock_batches', 'stock_levels', 'alerts', 'audit_log'])
    await shop.db.query({ text: `delete from ${table}` })
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

let serial = 0
const iccids: string[] = []

function file(count: number): Readable {
  iccids.length = 0
  const rows = Array.from({ length: count }, () => {
    serial += 1
    iccids.push(makeIccid('8986', serial))
    return `${iccids.at(-1)},LPA:1$smdp.example.com$SECRET-${serial}`
  })
  return Readable.from([`iccid,ac\n${rows.join('\n')}\n`])
}

function load(count: number, terms: Partial<StockImport> = {}) {
  return importStock(shop, { supplier: 'warehouse', productCode: 'P', file: file(count), ...terms }, BY)
}

const order = (...keys: string[]) =>
  shop.suppliers.get('warehouse')!.supplier.order(keys.map((key) => ({ ...REQUEST, key })))
const REQUEST = { tenantId: '', orderId: '', itemNo: 1, productCode: 'P' } as never as Parameters<
  ReturnType<Shop['suppliers']['all']>[number]['supplier']['order']
>[0][number]

const tidy = () => shop.suppliers.get('warehouse')!.supplier.tidy!()
const batches = () => listBatches(shop.db, {}, { limit: 10 })
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS)

/** What the counters say, and what the codes say. */
async function counters() {
  const [batch] = await batches()
  const [counted] = await shop.db.query<{ free: number; expired: number; reserved: number }>({
    text: `select count(*) filter (where state = 'FREE')::int as free,
             count(*) filter (where state = 'EXPIRED')::int as expired,
             count(*) filter (where state = 'RESERVED')::int as reserved from stock_codes`,
  })
  const [level] = await listStock(shop.db)
  expect({ free: batch!.available, expired: batch!.expired, reserved: batch!.sold }).toEqual(counted)
  expect(level!.available).toBe(batch!.available)
  return [batch!.available, batch!.sold, batch!.expired]
}

describe('a batch', () => {
  it('counts its codes through sale, return and expiry', async () => {
    await load(5, { batchName: 'May', expiresAt: inDays(60) })
    expect(await batches()).toMatchObject([{ batchName: 'May', productCode: 'P', codes: 5, expiring: 0 }])
    expect(await counters()).toEqual([5, 0, 0])
    await order('K-1', 'K-2')
    await order('K-1')
    expect(await counters()).toEqual([3, 2, 0])
    const [row] = await findCodes(shop.db, iccids[0]!, 1)
    const esim = { tenantId: '', orderId: '', itemNo: 1, productCode: 'P', matchingId: '', shown: false }
    const sold = row!.key === null ? iccids[1]! : row!.iccid
    const { key } = (await findCodes(shop.db, sold, 1))[0]!
    const { supplier } = shop.suppliers.get('warehouse')!
    expect(await supplier.cancel({ ...esim, key: key!, iccid: sold })).toEqual({ kind: 'cancelled' })
    expect(await counters()).toEqual([4, 1, 0])
    await shop.db.query({ text: `update stock_codes set expires_at = now() where state = 'FREE'` })
    await tidy()
    expect(await counters()).toEqual([0, 1, 4])
  })

  it('leaves no trace if its import is refused', async () => {
    await expect(load(0)).rejects.toThrow(CsvRefused)
    await expect(load(1, { expiresAt: new Date() })).rejects.toMatchObject({ code: 'INVALID' })
    expect(await batches()).toEqual([])
  })

  it('alerts once before its unsold codes expire, and again after its alert was set', async () => {
    const { batchId } = await load(3, { batchName: 'June', expiresAt: inDays(10), alertDays: 7 })
    const alerts = () =>
      shop.db.query<{ message: string }>({ text: `select message from alerts where kind = 'STOCK_EXPIRING'` })
    await alertExpiring(shop.db, shop.ids, 'warehouse')
    expect(await alerts()).toEqual([])
    await setExpiryAlert(shop, { supplier: 'warehouse', batchId, alertDays: 14 }, BY)
    for (let pass = 0; pass < 2; pass++) await tidy()
    const [alert, ...more] = await alerts()
    expect(alert!.message).toMatch(/^3 unsold codes of P in batch June of warehouse expire soon, the first on \d{4}-/)
    expect(more).toEqual([])
    expect(await listBatches(shop.db, { expiringOnly: true }, { limit: 10 })).toMatchObject([{ expiring: 3 }])
    await setExpiryAlert(shop, { supplier: 'warehouse', batchId, alertDays: 20 }, BY)
    await tidy()
    expect(await alerts()).toHaveLength(2)
    expect(await listBatches(shop.db, { expiringOnly: true, withinDays: 5 }, { limit: 10 })).toEqual([])
  })
})

describe('a code in stock', () => {
  it('is found by its ICCID or the first digits, in any state, without its activation code', async () => {
    await load(2)
    await order('K-9')
    const found = await findCodes(shop.db, `${iccids[0]!.slice(0, 4)} ${iccids[0]!.slice(4, 12)}`, 10)
    expect(found.map(({ state }) => state).sort()).toEqual(['FREE', 'RESERVED'])
    expect(JSON.stringify(found)).not.toContain('SECRET')
    expect(await findCodes(shop.db, `${iccids[1]}F`, 10)).toMatchObject([{ iccid: iccids[1] }])
    await expect(findCodes(shop.db, '898', 10)).rejects.toMatchObject({ code: 'INVALID' })
  })

  it('is revealed with an audit entry while it is not sold', async () => {
    await load(1)
    const [code] = await findCodes(shop.db, iccids[0]!, 1)
    expect(await revealStockCode(shop, code!, BY)).toMatchObject({ ac: expect.stringContaining('SECRET-') })
    await order('K-10')
    await expect(revealStockCode(shop, code!, BY)).rejects.toMatchObject({ code: 'CODE_SOLD' })
    const entries = await shop.db.query({ text: `select after from audit_log where action = 'stock.view_code'` })
    expect(entries).toEqual([{ after: { iccid: iccids[0] } }])
  })

  it('is exported with its state; activation codes of unsold ones only if asked for, and audited', async () => {
    const { batchId } = await load(2)
    await order('01M7YV3W62EGY972X1QAAAKC13-1')
    const exported = async (secrets?: Shop['cipher']) => {
      const parts: string[] = []
      const write = async (part: string) => void parts.push(part)
      await exportBatch(shop, { supplier: 'warehouse', batchId, secrets }, BY, write)
      return parts.join('')
    }
    const states = await exported()
    expect(states).not.toContain('SECRET')
    expect(states.match(/SOLD,,01M7YV3W62EGY972X1QAAAKC13,/g)).toHaveLength(1)
    expect(states.match(/AVAILABLE/g)).toHaveLength(1)
    expect(await shop.db.query({ text: `select from audit_log where action = 'stock.export_codes'` })).toEqual([])
    expect((await exported(shop.cipher)).match(/SECRET-/g)).toHaveLength(1)
    expect(await shop.db.query({ text: `select from audit_log where action = 'stock.export_codes'` })).toHaveLength(1)
  })
})

it('a product that only packages name is listed with 0, with the packages on sale', async () => {
  await addPackage(shop.db, 'FR_1', [{ supplier: 'warehouse', productCode: 'FR1' }])
  await load(1)
  expect(await listStock(shop.db)).toEqual([
    { supplier: 'warehouse', productCode: 'FR1', available: 0, lowAt: null, packageCodes: ['FR_1'] },
    { supplier: 'warehouse', productCode: 'P', available: 1, lowAt: null, packageCodes: [] },
  ])
  await setLowStock(shop, { supplier: 'warehouse', productCode: 'FR1', lowAt: 5 }, BY)
  expect(await listStock(shop.db)).toMatchObject([{ productCode: 'FR1', available: 0, lowAt: 5 }, {}])
})

it('a fault of a file names column and value, but no secret', async () => {
  const text = `iccid,ac,pin,imsi\n123,LPA:1$a.example$X,,\n${makeIccid('8986', 1)},nonsense-code,,\n${makeIccid('8986', 2)},LPA:1$a.example$Y,12,\n${makeIccid('8986', 3)},LPA:1$a.example$Z,,44\n`
  const refused = load(0, { file: Readable.from([text]) })
  const { faults } = await refused.then(
    () => ({ faults: [] }),
    (error: CsvRefused) => error,
  )
  expect(faults).toMatchObject([
    { line: 2, column: 'iccid', value: '123' },
    { line: 3, column: 'ac' },
    { line: 4, column: 'pin', reason: 'pin must have 4 to 8 digits' },
    { line: 5, column: 'imsi', value: '44' },
  ])
  expect(JSON.stringify(faults)).not.toMatch(/nonsense-code|"12"/)
})
