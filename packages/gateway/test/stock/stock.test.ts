import { PassThrough, Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { createWakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { readable } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Topic } from '#deps.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { cancelOrphans } from '#fulfilment/reconciliation/cancel-orphans.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { importStock } from '#stock/import-stock.ts'
import { stockSupplier } from '#stock/stock.ts'
import { CsvRefused } from '#stock/stock-csv.ts'
import { setLowStock } from '#stock/stock-levels.ts'
import { createAvailability } from '#suppliers/availability.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, addSupplier, addTenant, createShop, payOrders, type Shop, waitUntil } from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addSupplier(shop, 'warehouse', 'stock')
})
// Stock is empty at the start of each test, even if a test is retried.
beforeEach(async () => {
  for (const table of ['stock_codes', 'stock_batches', 'stock_levels', 'alerts'])
    await shop.db.query({ text: `delete from ${table}` })
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

let serial = 0
function rows(count: number, more = ''): string {
  return Array.from({ length: count }, () => {
    serial += 1
    return `${makeIccid('8985', serial)},LPA:1$smdp.example.com$CODE-${serial}${more}`
  }).join('\n')
}

async function load(productCode: string, text: string, supplier = 'warehouse'): Promise<number> {
  const file = Readable.from([text])
  return (await importStock(shop, { supplier, productCode, file }, { actor: 'cli:test' })).codes
}

/** Changes the expiry of an imported code. */
function age(iccid: string, expiresAt: string) {
  return shop.db.query({
    text: `update stock_codes set expires_at = $2 where supplier = 'warehouse' and iccid = $1`,
    values: [iccid, expiresAt],
  })
}

async function level(productCode: string): Promise<number | undefined> {
  const [row] = await shop.db.query<{ available: bigint }>({
    text: `select available from stock_levels where supplier = 'warehouse' and product_code = $1`,
    values: [productCode],
  })
  return row && Number(row.available)
}

function order(productCode: string, keys: string[]) {
  const tenantId = shop.ids.uuid()
  return shop.suppliers
    .get('warehouse')!
    .supplier.order(keys.map((key, index) => ({ tenantId, orderId: tenantId, itemNo: index + 1, key, productCode })))
}

it('a code that cannot be decrypted leaves only its own item in doubt, not the others in the call', async () => {
  await load('POISON', `iccid,ac\n${rows(2)}`)
  const [bad] = await shop.db.query<{ iccid: string }>({
    text: `update stock_codes set secrets = '\\x00' where code_id = (select code_id from stock_codes order by code_id limit 1)
           returning iccid`,
  })
  const keys = ['POISON-1', 'POISON-2']
  const ordered = await order('POISON', keys)
  expect(ordered.map(({ kind }) => kind).sort()).toEqual(['delivered', 'unknown'])
  expect(JSON.stringify(ordered)).toContain(bad!.iccid)
  const { supplier } = shop.suppliers.get('warehouse')!
  const request = { tenantId: shop.ids.uuid(), orderId: shop.ids.uuid(), itemNo: 1, productCode: 'POISON' }
  const queried = await supplier.query(
    keys.map((key) => ({ ...request, key })),
    'RESUME',
  )
  expect(queried).toEqual(ordered)
})

async function refused(importing: Promise<number>): Promise<string[]> {
  const error = await importing.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof CsvRefused)) throw error ?? new Error('it was not refused')
  return error.faults.map((fault) => `${fault.row}: ${fault.reason}`)
}

describe('a sold-out product', () => {
  it('is recognised on every node as soon as its last code is taken, without waiting for a poll', async () => {
    const nodes = await Promise.all(
      ['one', 'two'].map(async (nodeId) => {
        const wake = createWakeups<Topic>({ url: database.url, nodeId, onError() {} })
        await load(`LAST-${nodeId}`, `iccid,ac\n${rows(1)}`)
        return { wake, stock: await createAvailability({ ...shop, wake, pollMs: 60_000 }) }
      }),
    )
    const products = ['LAST-one', 'LAST-two']
    const levels = () =>
      nodes.map(({ stock }) =>
        products.map((productCode) => stock.available({ routes: [{ supplier: 'warehouse', productCode }] })),
      )
    for (const { stock } of nodes) await stock.refresh()
    expect(levels()).toEqual([
      [1, 1],
      [1, 1],
    ])
    for (const [index, { wake }] of nodes.entries()) {
      const supplier = stockSupplier('warehouse', {}, { ...shop, wake })
      const productCode = products[index]!
      const order = { tenantId: shop.ids.uuid(), orderId: shop.ids.uuid(), itemNo: 1, key: productCode, productCode }
      expect(await supplier.order([order])).toMatchObject([{ kind: 'delivered' }])
      const left = index === 0 ? [0, 1] : [0, 0]
      await expect.poll(levels, { interval: 10 }).toEqual([left, left])
    }
    for (const { wake, stock } of nodes) {
      await stock.stop(1_000)
      await wake.stop()
    }
  })
})

describe('a code import', () => {
  it('counts the codes and stores them encrypted', async () => {
    expect(await load('A', `iccid,ac\n${rows(3)}`)).toBe(3)
    expect(await level('A')).toBe(3)
    const stored = await shop.db.query({ text: `select c::text as row from stock_codes c where product_code = 'A'` })
    expect(JSON.stringify(stored)).not.toContain('CODE-')
  })

  it('accepts either header and every column', async () => {
    const text = `iccid,smdpAddress,matchingId,confirmationCode,pin,puk,imsi,msisdn,apn,expiresAt
${makeIccid('8985', ++serial)}F,smdp.example.com,WHOLE,4711,1234,12345678,440101234567890,+8190,internet,2099-01-01`
    expect(await load('B', text)).toBe(1)
    const [outcome] = await order('B', ['B-1'])
    expect(outcome).toMatchObject({
      kind: 'delivered',
      esim: {
        smdpAddress: 'smdp.example.com',
        matchingId: 'WHOLE',
        confirmationCode: '4711',
        pin: '1234',
        apn: 'internet',
      },
    })
  })

  it('is refused as a whole, listing the row of each fault', async () => {
    const before = await level('C')
    const text = `iccid,ac\n${rows(1)}\n123,LPA:1$a.example$X\n${rows(1)}\n${makeIccid('8985', 999_999)},nonsense\n`
    expect(await refused(load('C', text))).toEqual([
      '3: This is not a valid ICCID: enter 18 to 20 digits.',
      '5: The activation code must start with LPA:1$.',
    ])
    expect(await level('C')).toBe(before)
    expect(await refused(load('C', 'ac,iccid,colour\n'))).toEqual([
      expect.stringContaining('1: Unknown column “colour”'),
    ])
    expect(await refused(load('C', ''))).toEqual(['0: The file is empty: it must begin with a row of column names.'])
    expect(await refused(load('C', 'iccid,ac\n'))).toEqual(['2: The file has no codes: add a row for each code.'])
  })

  it('refuses a code that cannot be sold, because it has expired or is too close to its expiry', async () => {
    const at = (hours: number) => `,${new Date(Date.now() + hours * 3_600_000).toISOString()}`
    const file = `iccid,ac,expiresAt\n${rows(1, ',2025-12-31')}\n${rows(1, at(23))}\n${rows(1, at(25))}\n${rows(1, ',')}`
    const message = (row: number) =>
      expect.stringMatching(`^${row}: Use an expiry after .*Z, otherwise it is never sold.$`)
    expect(await refused(load('X', file))).toEqual([message(2), message(3)])
    await addSupplier(shop, 'short', 'stock', { leastValidityHours: 0 })
    expect(await load('X', `iccid,ac,expiresAt\n${rows(1, at(23))}`, 'short')).toBe(1)
  })

  it('accepts a code that has expired unsold only once, with a new date and product', async () => {
    const [expired, sold] = [rows(1), rows(1)]
    await load('Y', `iccid,ac,expiresAt\n${expired},2090-01-01\n${sold},2080-01-01`)
    expect(await order('Y', ['Y-1'])).toMatchObject([{ kind: 'delivered' }])
    for (const row of [expired, sold]) await age(row.slice(0, row.indexOf(',')), '2025-12-31')
    await shop.suppliers.get('warehouse')!.supplier.tidy!()
    const again = `iccid,ac,expiresAt\n${expired},2099-01-01`
    expect(await refused(load('Z', `${again}\n${expired},2099-01-01\n${sold},2099-01-01`))).toHaveLength(2)
    expect(await load('Z', again)).toBe(1)
    expect([await level('Y'), await level('Z')]).toEqual([0, 1])
    const esim = { iccid: expired.slice(0, expired.indexOf(',')), installBefore: new Date('2099-01-01') }
    expect(await order('Z', ['Z-1'])).toMatchObject([{ kind: 'delivered', esim }])
  })

  it('is refused with a message if the supplier is unknown or has the wrong type', async () => {
    await addSupplier(shop, 'elsewhere', 'sandbox')
    const into = (supplier: string) => {
      const file = Readable.from([`iccid,ac\n${rows(1)}`])
      return importStock(shop, { supplier, productCode: 'A', file }, { actor: 'cli:test' })
    }
    await expect(into('nobody')).rejects.toMatchObject({
      ...{ name: 'Refusal', status: 404, code: 'NOT_FOUND', message: 'There is no supplier nobody.' },
    })
    await expect(into('elsewhere')).rejects.toMatchObject({
      ...{ name: 'Refusal', status: 422, code: 'SUPPLIER_NOT_STOCK' },
      message: 'elsewhere is a sandbox supplier. Import codes into a supplier of type stock.',
    })
  })

  it('refuses duplicates, both within the file and with codes in stock', async () => {
    const text = rows(2)
    await load('D', `iccid,ac\n${text}`)
    expect(await refused(load('D', `iccid,ac\n${rows(1)}\n${text}`))).toHaveLength(2)
    const again = rows(1)
    expect(await refused(load('D', `iccid,ac\n${again}\n${rows(2_000)}\n${again}`))).toEqual([
      expect.stringMatching(/^2003: /),
    ])
    expect(await level('D')).toBe(2)
  })

  it('refuses codes that another supplier has in any state, and ICCIDs that another supplier has for sale', async () => {
    await addSupplier(shop, 'other', 'stock')
    const [sold, free] = [rows(1), rows(1)]
    await load('I', `iccid,ac\n${sold}`)
    expect(await order('I', ['I-1'])).toMatchObject([{ kind: 'delivered' }])
    await load('I', `iccid,ac\n${free}`)
    const sameIccid = `${free.slice(0, free.indexOf(','))},LPA:1$smdp.example.com$ANOTHER-CODE`
    const file = ['iccid,ac', rows(1), sold, free, sameIccid].join('\n')
    const message = (row: number) =>
      expect.stringMatching(new RegExp(`^${row}: .* the stock of warehouse already, product I, batch “`))
    expect(await refused(load('I', file, 'other'))).toEqual([
      message(3),
      message(4),
      '5: The ICCID is in row 4 too: remove one of them.',
    ])
    const soldIccid = `${sold.slice(0, sold.indexOf(','))},LPA:1$smdp.example.com$USED-AGAIN`
    expect(await load('I', `iccid,ac\n${soldIccid}`, 'other')).toBe(1)
  })

  it('waits for a concurrent import, so that a code in both files is accepted once', async () => {
    await addSupplier(shop, 'other', 'stock')
    const text = `iccid,ac\n${rows(1)}`
    const files = ['warehouse', 'other'].map((supplier) => load('J', text, supplier))
    expect((await Promise.allSettled(files)).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('is refused with a message while another import is still running', async () => {
    const shortly = createDb({ url: database.url, poolSize: 1, applicationName: 'test', lockTimeoutMs: 50 })
    const first = new PassThrough()
    const taking = importStock(shop, { supplier: 'warehouse', productCode: 'K', file: first }, { actor: 'cli:test' })
    await waitUntil(
      async () => (await shop.db.query({ text: `select from pg_locks where locktype = 'advisory'` })).length,
    )
    const again = { supplier: 'warehouse', productCode: 'K', file: Readable.from([`iccid,ac\n${rows(1)}`]) }
    const second = importStock({ ...shop, db: shortly }, again, { actor: 'cli:test' })
    await expect(second).rejects.toMatchObject({ status: 409, code: 'IMPORT_RUNNING' })
    first.end(`iccid,ac\n${rows(1)}`)
    expect(await taking).toMatchObject({ codes: 1 })
    await shortly.close()
  })
})

describe('a reservation', () => {
  it('gets the unexpired code that expires first, and the same key always gets the same code', async () => {
    const iccids = [makeIccid('8985', ++serial), makeIccid('8985', ++serial), makeIccid('8985', ++serial)]
    const expiries = ['2098-01-01', '2096-01-01', '2097-01-01']
    await load(
      'E',
      `iccid,ac,expiresAt\n${iccids.map((iccid, i) => `${iccid},LPA:1$a.example$E${i},${expiries[i]}`).join('\n')}`,
    )
    await age(iccids[1]!, '2020-01-01')
    const first = await order('E', ['E-1'])
    expect(first).toMatchObject([{ kind: 'delivered', esim: { iccid: iccids[2] } }])
    expect(await order('E', ['E-1', 'E-2', 'E-3'])).toMatchObject([
      { esim: { iccid: iccids[2] } },
      { esim: { iccid: iccids[0] } },
      { kind: 'refused', message: 'out of stock' },
    ])
    expect(await level('E')).toBe(1)
    await shop.suppliers.get('warehouse')!.supplier.tidy!()
    expect(await level('E')).toBe(0)
  })

  it('does not get a code that is valid for less than the configured hours, by default a day', async () => {
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
    for (const hours of [1 / 60, 23, 25]) {
      await load('V', `iccid,ac\n${rows(1)}`)
      await age(makeIccid('8985', serial), inHours(hours))
    }
    const [taken, ...others] = await order('V', ['V-1', 'V-2'])
    expect(taken).toMatchObject({ kind: 'delivered', esim: { installBefore: expect.any(Date) } })
    expect((taken as { esim: { installBefore: Date } }).esim.installBefore.getTime()).toBeGreaterThan(
      Date.now() + 86_400_000,
    )
    expect(others).toEqual([{ kind: 'refused', message: 'out of stock' }])
    const patient = stockSupplier('warehouse', { leastValidityHours: 0 }, shop)
    const wanted = { tenantId: shop.ids.uuid(), orderId: shop.ids.uuid(), itemNo: 1, key: 'V-3', productCode: 'V' }
    expect(await patient.order([wanted])).toMatchObject([{ kind: 'delivered' }])
  })

  it('does not count a code that expires too soon', async () => {
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    await load('W', `iccid,ac,expiresAt\n${rows(2, ',2099-01-01')}`)
    await age(makeIccid('8985', serial), soon)
    await shop.suppliers.get('warehouse')!.supplier.tidy!()
    expect(await level('W')).toBe(1)
  })

  it('alerts once when a product runs low, and again after it was restocked', async () => {
    await load('F', `iccid,ac\n${rows(5)}`)
    await setLowStock(shop, { supplier: 'warehouse', productCode: 'F', lowAt: 4 }, { actor: 'cli:test' })
    const alerts = async () =>
      (await shop.db.query({ text: `select from alerts where kind = 'LOW_STOCK' and data ->> 'productCode' = 'F'` }))
        .length
    await order('F', ['F-1'])
    expect(await alerts()).toBe(0)
    await order('F', ['F-2'])
    await order('F', ['F-3'])
    expect(await alerts()).toBe(1)
    await load('F', `iccid,ac\n${rows(5)}`)
    await order('F', ['F-4', 'F-5', 'F-6', 'F-7', 'F-8'])
    expect(await alerts()).toBe(2)
  })

  it('can be returned to stock only if its code was never shown', async () => {
    await load('G', `iccid,ac\n${rows(1)}`)
    const [outcome] = await order('G', ['G-1'])
    if (outcome?.kind !== 'delivered') throw new Error('not delivered')
    const { iccid, matchingId } = outcome.esim
    const esim = { tenantId: '', orderId: '', itemNo: 1, key: 'G-1', productCode: 'G', iccid, matchingId }
    const { supplier } = shop.suppliers.get('warehouse')!
    expect(await supplier.cancel({ ...esim, shown: true })).toMatchObject({ kind: 'refused' })
    // The second call is a repeat after a crash before the result was saved.
    for (let time = 0; time < 2; time++) {
      expect(await supplier.cancel({ ...esim, shown: false })).toEqual({ kind: 'cancelled' })
      expect(await level('G')).toBe(1)
    }
    // The code has since been sold again: it stays with its new item.
    expect(await order('G', ['G-2'])).toMatchObject([{ kind: 'delivered', esim: { iccid } }])
    expect(await supplier.cancel({ ...esim, shown: false })).toEqual({ kind: 'cancelled' })
    expect(await level('G')).toBe(0)
    expect(await supplier.cancel({ ...esim, key: 'G-2', iccid: '8985000000000000001', shown: false })).toMatchObject({
      kind: 'refused',
    })
  })

  it('is refused for several days of a day pass, because a code covers one day', async () => {
    await load('H', `iccid,ac\n${rows(2)}`)
    const { supplier } = shop.suppliers.get('warehouse')!
    const pass = { tenantId: '', orderId: '', productCode: 'H' }
    const outcomes = await supplier.order([
      { ...pass, itemNo: 1, key: 'H-1', periodNum: 3 },
      { ...pass, itemNo: 2, key: 'H-2', periodNum: 1 },
    ])
    expect(outcomes).toMatchObject([{ kind: 'refused', message: /one day/ }, { kind: 'delivered' }])
    expect(await level('H')).toBe(1)
  })
})

it('a list contains each code reserved since its start once, even over several pages', async () => {
  await shop.db.query({
    text: `insert into stock_codes
             (supplier, code_id, batch_id, product_code, iccid, fingerprint, secrets, imported_at, state, key, reserved_at)
           select 'warehouse', gen_random_uuid(), gen_random_uuid(), 'L', n::text, decode(md5(n::text), 'hex'), '', now(), 'RESERVED', 'L-' || n,
                  case when n > 2500 then timestamptz '2026-01-01' else now() end
           from generate_series(1, 3000) n`,
  })
  const listed: string[] = []
  const { supplier } = shop.suppliers.get('warehouse')!
  for await (const { key } of readable(supplier.list!(new Date('2026-02-01')))) listed.push(key)
  const own = listed.filter((key) => key.startsWith('L-'))
  expect([own.length, new Set(own).size]).toEqual([2500, 2500])
})

it('only one of two concurrently reconciling nodes returns an orphan to stock', async () => {
  await load('H', `iccid,ac\n${rows(1)}`)
  const tenantId = await addTenant(shop.db)
  await addPackage(shop.db, 'H', [{ supplier: 'warehouse', productCode: 'H' }])
  const [orderId] = await payOrders(shop.db, tenantId, 'H')
  const item = { tenantId, orderId: orderId!, itemNo: 1, productCode: 'H' }
  await shop.db.query({
    text: `update order_items set item_status = 'REFUSED', supplier = 'warehouse', product_code = 'H' where order_id = $1`,
    values: [orderId],
  })
  const warehouse = shop.suppliers.get('warehouse')!
  const [outcome] = await warehouse.supplier.order([{ ...item, key: itemKeyOf(item.orderId, 1) }])
  if (outcome?.kind !== 'delivered') throw new Error('stock has no eSIM')
  await acceptEsim(shop, tenantId, { ...item, supplier: 'warehouse' }, outcome.esim)

  const [first, second] = await Promise.all([cancelOrphans(shop), cancelOrphans(shop)])
  expect(first + second).toBe(1)
  expect(await shop.db.query({ text: 'select state from orphans where order_id = $1', values: [orderId] })).toEqual([
    { state: 'CANCELLED' },
  ])
  expect(await level('H')).toBe(1)
})
