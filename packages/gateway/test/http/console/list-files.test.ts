import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlert } from '#alerts/create-alert.ts'
import { addPackage } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'
import { seedTenant } from './seeded-console.ts'

type Caller = Awaited<ReturnType<typeof signedInAs>>

let testbed: ConsoleTestbed
let operator: Caller
let [alpha, beta] = ['', '']
/** More rows than one query for a file reads. */
const MANY = 1_203

const exec = (text: string, ...values: unknown[]) => testbed.db.query({ text, values })

/** SQL: n seconds ago, and a UUIDv7 from that time. */
const timeAt = (n: string) => `now() - ${n} * interval '1 second'`
const idAt = (n: string) =>
  `(lpad(to_hex((extract(epoch from ${timeAt(n)}) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(${n}), 12, '0'))::uuid`

beforeAll(async () => {
  testbed = await startConsole()
  operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  await addPackage(testbed.db, 'JP', [{ supplier: 'north', productCode: 'P1', cost: 5n }])
  await addPackage(testbed.db, 'FR', [{ supplier: 'north', productCode: 'P2', cost: 5n }])
  await exec(`insert into suppliers (supplier, type, config) values ('north', 'stock', '')`)
  await operator.call('POST', '/packages/sale', { packageCodes: ['FR'], onSale: false })
  alpha = await addTenant(testbed, 'Alpha')
  beta = await addTenant(testbed, 'Beta')
  for (const tenantId of [alpha, beta]) await seedTenant(testbed, tenantId, 'JP')
  await exec(
    `insert into wallet_adjustments (tenant_id, adjustment_id, amount, reference, reason, proposed_by, expires_at,
       created_at)
     select $1, ${idAt('n')}, n, 'fee ' || n, 'a fee', 'cli:seed', now() + interval '1 day', ${timeAt('n')}
     from generate_series(1, $2::int) n`,
    alpha,
    MANY,
  )
  await exec(
    `insert into supplier_products (supplier, product_code, name, package_type, countries, volume, is_day_pass,
       duration_days, cost, currency_code, is_listed, first_seen_at, changed_at)
     select 'north', 'P' || n, 'Product ' || n, 'BASE', case when n % 3 = 0 then '{FR}' else '{JP}' end::text[], 1000, false,
       7, 25000, 'USD', true, now(), now()
     from generate_series(1, $1::int) n`,
    MANY,
  )
  await exec(
    `insert into stock_batches (supplier, batch_id, batch_name, product_code, imported_at, codes, available, expired)
     select 'north', ${idAt('n')}, 'Batch ' || n, 'P1', ${timeAt('n')}, 3, 2, 0 from generate_series(1, $1::int) n`,
    MANY,
  )
  for (const [path, body] of [
    ['/price-plans', { planName: 'GOLD', displayName: 'Gold dealers' }],
    ['/price-groups', { groupName: 'PARTNERS' }],
  ] as const)
    expect((await operator.call('POST', path, body)).status).toBe(200)
  for (const scope of [{ packageCode: 'JP' }, { packageCode: 'FR' }, { supplier: 'north' }])
    await operator.call('PUT', '/price-plans/GOLD/rules', { ...scope, percent: '-5' })
  await operator.call('PUT', '/sale-rules/EUROPE', { currencyCode: 'USD', percent: '25', fixed: 5_000 })
  const rate = { costCurrency: 'EUR', saleCurrency: 'USD', rate: '1.1', ratedAt: '2026-11-20T00:00:00.000Z' }
  await operator.call('PUT', '/exchange-rates', rate)
  for (const code of ['JP', 'FR']) await operator.call('PUT', `/tenants/${alpha}/own-prices/${code}`, { price: 12_300 })
  for (const reference of ['S1', 'S2']) {
    await operator.call('POST', `/tenants/${alpha}/wallet/top-ups`, { amount: 10_000, reference })
    const alert = { tenantId: alpha, kind: 'LOW_BALANCE', message: reference } as const
    await testbed.db.tx(async (tx) => createAlert(tx, testbed.deps.ids, alert))
  }
}, 120_000)
afterAll(() => testbed.stop())

type Row = Record<string, unknown>

/** The rows of a file, keyed by its header. */
async function fileOf(caller: Caller, path: string, query = ''): Promise<Record<string, string>[]> {
  const { status, body, headers } = await caller.call('GET', `${path}.csv${query}`)
  expect([path, status, String(headers['content-type'])]).toEqual([path, 200, 'text/csv; charset=utf-8'])
  expect(headers['content-disposition']).toMatch(/^attachment; filename="[\w.-]+\.csv"$/)
  return parse(String(body), { bom: true, columns: true })
}

/** All pages of the list that the file was made from. */
async function rowsOf(caller: Caller, path: string, query = ''): Promise<Row[]> {
  const rows: Row[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const more = cursor === undefined ? '' : `${query === '' ? '?' : '&'}cursor=${cursor}`
    const { status, body } = await caller.call('GET', path + query + more)
    expect([path, status]).toEqual([path, 200])
    rows.push(...(Object.values(body).find(Array.isArray) as Row[]))
    cursor = (body.nextCursor as string | undefined) ?? null
  }
  return rows
}

describe('a list’s file', () => {
  it.each([
    ['/people', '', 'id', 'personId'],
    ['/people', '?tenantId=ALPHA', 'id', 'personId'],
    ['/suppliers', '', 'supplier', 'supplier'],
    ['/stock', '', 'product', 'productCode'],
    ['/stock/batches', '', 'id', 'batchId'],
    ['/stock/batches', '?supplier=nobody', 'id', 'batchId'],
    ['/adjustments', '', 'id', 'adjustmentId'],
    ['/adjustments', '?open=true&tenantId=BETA', 'id', 'adjustmentId'],
    ['/adjustments', '?status=APPROVED', 'id', 'adjustmentId'],
    ['/top-up-requests', '', 'id', 'requestId'],
    ['/top-up-requests', '?tenantId=BETA&status=REQUESTED', 'id', 'requestId'],
    ['/supplier-products', '', 'code', 'productCode'],
    ['/supplier-products', '?country=FR&isSold=false', 'code', 'productCode'],
    ['/supplier-products', '?keyword=product%207&isListed=true', 'code', 'productCode'],
    ['/price-plans', '', 'name', 'planName'],
    ['/price-plans/GOLD/rules', '', 'package', 'packageCode'],
    ['/price-groups', '', 'name', 'groupName'],
    ['/sale-rules', '', 'name', 'ruleName'],
    ['/exchange-rates', '', 'costCurrency', 'costCurrency'],
    ['/notices', '?tenantId=ALPHA', 'id', 'noticeId'],
    ['/packages/JP/buyers', '', 'id', 'tenantId'],
    ['/packages/JP/buyers', '?q=alp', 'id', 'tenantId'],
    ['/tenants/ALPHA/prices', '', 'package_code', 'packageCode'],
    ['/tenants/ALPHA/prices', '?source=OWN', 'package_code', 'packageCode'],
    ['/tenants/ALPHA/prices', '?keyword=fr', 'package_code', 'packageCode'],
  ])('%s%s contains the rows of all pages in the order of the list', async (path, query, column, member) => {
    const [at, filter] = [path, query].map((text) => text.replace('ALPHA', alpha).replace('BETA', beta)) as [
      string,
      string,
    ]
    const rows = await rowsOf(operator, at, filter)
    const lines = await fileOf(operator, at, filter)
    expect(lines.map((line) => line[column])).toEqual(rows.map((row) => row[member] ?? ''))
  })

  it('contains every row once if a single query cannot read all rows', async () => {
    for (const [path, column] of [
      ['/adjustments', 'id'],
      ['/supplier-products', 'code'],
      ['/stock/batches', 'id'],
    ] as const) {
      const lines = await fileOf(operator, path)
      expect([path, lines.length >= MANY]).toEqual([path, true])
      expect([path, new Set(lines.map((line) => line[column])).size]).toEqual([path, lines.length])
    }
  })

  it('contains amounts as decimals, and counts and sizes as whole numbers', async () => {
    const [product] = await fileOf(operator, '/supplier-products', '?keyword=product%201203')
    expect(product).toMatchObject({ cost: '2.50', volumeBytes: '1000', durationDays: '7', packages: '' })
    const [adjustment] = await fileOf(operator, '/adjustments', `?tenantId=${beta}`)
    expect(adjustment).toMatchObject({ amount: '0.0005', currency: 'USD', dealer: 'Beta', status: 'PROPOSED' })
    const [, rule] = await fileOf(operator, '/price-plans/GOLD/rules')
    expect(rule).toMatchObject({ package: 'FR', percent: '-5' })
    const [saleRule] = await fileOf(operator, '/sale-rules')
    expect(saleRule).toMatchObject({ name: 'EUROPE', percent: '25', fixed: '0.50' })
  })
})

describe('a paginated list', () => {
  it.each([
    ['/stock/batches', ''],
    ['/stock/batches', '?supplier=nobody'],
    ['/stock/batches', '?expiring=true'],
    ['/adjustments', ''],
    ['/adjustments', '?open=true&tenantId=BETA'],
    ['/adjustments', '?status=APPROVED'],
    ['/top-up-requests', ''],
    ['/top-up-requests', '?tenantId=BETA&status=REQUESTED'],
    ['/supplier-products', '?supplier=north'],
    ['/supplier-products', '?supplier=north&country=FR&isSold=false'],
    ['/price-plans/GOLD/rules', ''],
    ['/price-plans/GOLD/rules', '?packageCode=JP'],
    ['/notices', '?tenantId=ALPHA'],
    ['/notices', '?tenantId=ALPHA&unread=true'],
    ['/packages/JP/buyers', ''],
    ['/packages/JP/buyers', '?q=alp'],
    ['/tenants/ALPHA/prices', ''],
    ['/tenants/ALPHA/prices', '?source=OWN&keyword=fr'],
    ['/tenants/ALPHA/wallet/entries', ''],
    ['/tenants/ALPHA/wallet/entries', '?kind=TOP_UP'],
    ['/tenants/ALPHA/wallet/entries', `?month=${new Date().toISOString().slice(0, 7)}`],
  ])('%s%s has totals that count the rows on all pages and sum their amounts', async (path, query) => {
    const [at, filter] = [path, query].map((text) => text.replace('ALPHA', alpha).replace('BETA', beta)) as [
      string,
      string,
    ]
    const rows = await rowsOf(operator, at, filter)
    const { status, body } = await operator.call('GET', `${at}/totals${filter}`)
    expect([at, status]).toEqual([at, 200])
    expect(body).toMatchObject({ count: rows.length, isComplete: true })
    const hasSums = /adjustments|top-up-requests|entries/.test(path) && rows.length > 0
    const amount = rows.reduce((sum, row) => sum + Number(row.amount), 0)
    expect(body.sums).toEqual(hasSums ? [{ currencyCode: 'USD', amount }] : undefined)
  })

  it.each([
    ['/notices?tenantId=ALPHA&limit=1', 'createdAt', 'noticeId'],
    ['/adjustments?limit=200', 'createdAt', 'adjustmentId'],
    ['/adjustments?status=PROPOSED&tenantId=ALPHA&limit=200', 'createdAt', 'adjustmentId'],
    ['/top-up-requests?limit=1', 'createdAt', 'requestId'],
    ['/stock/batches?limit=200', 'importedAt', 'batchId'],
    ['/supplier-products?supplier=north&limit=200', 'supplier', 'productCode'],
    ['/packages/JP/buyers?limit=1', 'createdAt', 'tenantId'],
    ['/packages/JP/buyers?limit=1', 'clientName', 'tenantId'],
    ['/tenants/ALPHA/wallet/entries?limit=1', 'createdAt', 'walletVersion'],
    ['/tenants/ALPHA/prices?limit=1', 'packageCode', 'packageCode'],
    ['/price-plans/GOLD/rules?limit=1', 'packages', 'packageCode'],
  ])('%s is sorted by %s in both directions, and so is the exported file', async (list, column, id) => {
    const [path = '', query] = list.replace('ALPHA', alpha).split('?')
    const [up, down] = [
      await rowsOf(operator, path, `?${query}&sort=${column}`),
      await rowsOf(operator, path, `?${query}&sort=-${column}`),
    ]
    expect(up.length).toBeGreaterThan(1)
    expect(new Set(up.map((row) => row[id])).size).toBe(up.length)
    expect(down.map((row) => row[id])).toEqual(up.map((row) => row[id]).reverse())
    const values = up.map((row) => String(row[column] ?? ''))
    expect(values).toEqual([...values].sort())
    const filter = new URLSearchParams(query)
    filter.delete('limit')
    const { body } = await operator.call('GET', `${path}/totals?${filter}`)
    expect(body).toMatchObject({ sorts: expect.arrayContaining([column]), sortable: expect.arrayContaining([column]) })
    if (/prices|entries/.test(path)) return // Their files have their own order.
    const [first] = await fileOf(operator, path, `?${filter}&sort=${column}`)
    const [last] = await fileOf(operator, path, `?${filter}&sort=-${column}`)
    expect(Object.values(first!)).toContain(String(up[0]![id] ?? ''))
    expect(Object.values(last!)).toContain(String(down[0]![id] ?? ''))
  })

  it('counts at most 10 000 rows, and omits the sums if there are more rows', async () => {
    await exec(`insert into suppliers (supplier, type, config) values ('south', 'stock', '')`)
    await exec(
      `insert into supplier_products (supplier, product_code, name, package_type, countries, volume, is_day_pass,
         duration_days, cost, currency_code, is_listed, first_seen_at, changed_at)
       select 'south', 'S' || n, 'South ' || n, 'BASE', '{JP}', 1000, false, 7, 25000, 'USD', true, now(), now()
       from generate_series(1, 10000) n`,
    )
    const path = '/supplier-products/totals?supplier=south'
    expect((await operator.call('GET', path)).body).toMatchObject({ count: 10_000, isComplete: true })
    await exec(
      `insert into supplier_products select supplier, 'one more', name, package_type, countries, volume, is_day_pass,
         duration_days, cost, currency_code, is_listed, first_seen_at, changed_at
       from supplier_products where supplier = 'south' and product_code = 'S1'`,
    )
    expect((await operator.call('GET', path)).body).toMatchObject({ count: 10_000, isComplete: false })
    await exec(
      `insert into wallet_adjustments (tenant_id, adjustment_id, amount, reference, reason, proposed_by, expires_at,
         created_at)
       select $1, gen_random_uuid(), 1, 'many ' || n, 'a fee', 'cli:seed', now() + interval '1 day', now()
       from generate_series(1, 10001) n`,
      beta,
    )
    const { body } = await operator.call('GET', `/adjustments/totals?tenantId=${beta}`)
    expect(body).toMatchObject({ count: 10_000, isComplete: false })
    expect(body.sums).toBeUndefined()
  })

  it('has as many rows per page as requested', async () => {
    for (const path of ['/adjustments', '/supplier-products', '/stock/batches', `/tenants/${alpha}/wallet/entries`]) {
      const { body } = await operator.call('GET', `${path}?limit=1`)
      expect([path, (Object.values(body).find(Array.isArray) as Row[]).length]).toEqual([path, 1])
      expect((await operator.call('GET', `${path}?limit=201`)).status).toBe(400)
    }
  })

  it('of the packages for sale to a dealer has matching counts and exports', async () => {
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', alpha)
    const path = `/tenants/${alpha}/buyable-packages`
    expect((await operator.call('POST', '/packages/sale', { packageCodes: ['FR'], onSale: true })).status).toBe(200)
    for (const query of ['', '?keyword=fr', '?locationCode=ZZ']) {
      const rows = await rowsOf(dealer, path, query)
      expect([query, (await dealer.call('GET', `${path}/totals${query}`)).body]).toMatchObject([
        query,
        { count: rows.length, isComplete: true },
      ])
      const lines = await fileOf(dealer, path, query)
      expect(lines.map((line) => line.code)).toEqual(rows.map((row) => row.packageCode))
      if (query === '') expect(lines.map((line) => [line.code, line.price])).toContainEqual(['JP', '1.23'])
    }
    await operator.call('POST', '/packages/sale', { packageCodes: ['FR'], onSale: false })
  })
})

describe('a wallet’s file', () => {
  it('contains all movements, oldest first, or only those in a given month or of a given kind', async () => {
    for (const reference of ['R1', 'R2'])
      await operator.call('POST', `/tenants/${alpha}/wallet/top-ups`, { amount: 10_000, reference })
    const path = `/tenants/${alpha}/wallet/entries`
    const entries = await rowsOf(operator, path)
    const lines = await fileOf(operator, path)
    expect(lines.map((line) => Number(line.version))).toEqual(entries.map((row) => row.walletVersion).reverse())
    const topUps = await fileOf(operator, path, '?kind=TOP_UP')
    expect(topUps.map((line) => [line.reference, line.amount])).toEqual(
      expect.arrayContaining([
        ['R1', '1.00'],
        ['R2', '1.00'],
      ]),
    )
    expect(new Set(topUps.map((line) => line.kind))).toEqual(new Set(['TOP_UP']))
    const nowhere = `/tenants/${testbed.deps.ids.uuid()}/wallet/entries.csv`
    expect((await operator.call('GET', nowhere)).status).toBe(404)
  })
})

describe('a dealer’s files', () => {
  it('contain only that dealer’s rows, whichever dealer is requested', async () => {
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', alpha)
    const people = await fileOf(dealer, '/people', `?tenantId=${beta}`)
    expect(people.map((line) => line.id)).toContain(dealer.personId)
    const theirs = (await fileOf(operator, '/people', `?tenantId=${beta}`)).map((line) => line.id)
    expect(people.filter((line) => theirs.includes(line.id!))).toEqual([])
    const requests = await fileOf(dealer, '/top-up-requests', `?tenantId=${beta}`)
    expect(requests.map((line) => line.dealer)).toEqual(['Alpha'])
    expect((await dealer.call('GET', `/tenants/${beta}/prices.csv`)).status).toBe(404)
  })

  it('neither reveal where a price comes from nor list packages that are off sale', async () => {
    const dealer = await signedInAs(testbed, 'DEALER_STAFF', alpha)
    const lines = await fileOf(dealer, `/tenants/${alpha}/prices`)
    expect(lines.map((line) => line.package_code)).toEqual(['JP'])
    expect(Object.keys(lines[0]!)).not.toEqual(expect.arrayContaining(['source']))
    expect(Object.keys(lines[0]!)).not.toEqual(expect.arrayContaining(['list_price']))
    expect((await dealer.call('GET', `/tenants/${alpha}/prices.csv?source=OWN`)).status).toBe(422)
    const shown = await fileOf(operator, `/tenants/${alpha}/prices`)
    expect(shown.map((line) => [line.package_code, line.status, line.source])).toEqual(
      expect.arrayContaining([
        ['FR', 'OFF_SALE', 'OWN'],
        ['JP', 'ON_SALE', 'OWN'],
      ]),
    )
  })
})
