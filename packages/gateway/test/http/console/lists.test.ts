import { orderIdOf, orderNoOf } from '@dealer-esim/contract'
import { timeOfUuid } from '@dealer-esim/lib/ids.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlert } from '#alerts/create-alert.ts'
import { vacuum } from '#test/harness/databases/tables.ts'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'

type Caller = Awaited<ReturnType<typeof signedInAs>>
interface Order {
  orderNo: string
  tenantId: string
  amount: number
  currencyCode: string
  clientName: string
  transactionId: string
}

let testbed: ConsoleTestbed
let operator: Caller
/** Two dealers with few orders, and a dealer with more than can be counted. */
let [alpha, beta, large]: string[] = []
const HOUR_MS = 3_600_000
const LARGE_ORDERS = 130_000
/** The large dealer's orders are older than all others. */
const LARGE_FROM_MS = Date.parse('2024-01-01T00:00:00Z')

beforeAll(async () => {
  testbed = await startConsole()
  operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  for (const code of ['JP', 'FR', 'RARE']) await addPackage(testbed.db, code, [])
  await testbed.db.query({
    text: `with c as (insert into coverages (coverage_id, location_codes, location_networks) values ('fr', '{FR}', '[]')
                      returning coverage_id)
           update packages set coverage_id = c.coverage_id from c where package_code = 'FR'`,
  })
  alpha = await addTenant(testbed, 'Alpha')
  beta = await addTenant(testbed, 'Beta')
  large = await addTenant(testbed, 'Large')
  for (let i = 0; i < 40; i++) await addOrders(i % 2 ? alpha : beta, 1, Date.now() - i * i * HOUR_MS, sample(i))
  await addOrders(large, LARGE_ORDERS, LARGE_FROM_MS, { packageCode: 'JP', status: 'DELIVERED', amount: 5 })
  await addOrders(large, 1, LARGE_FROM_MS - HOUR_MS, { packageCode: 'RARE', status: 'DELIVERED', amount: 5 })
  await vacuum(testbed.db, 'orders')
}, 120_000)
afterAll(() => testbed.stop())

interface Sample {
  packageCode: string
  status: string
  amount: number
}

function sample(i: number): Sample {
  return {
    packageCode: i % 5 === 0 ? 'FR' : 'JP',
    status: i % 4 === 0 ? 'FAILED' : 'DELIVERED',
    amount: ((i * 7) % 13) * 10_000,
  }
}

/** Inserts orders a second apart, starting at the given time. */
async function addOrders(tenantId = '', count = 0, fromMs = 0, { packageCode, status, amount }: Sample): Promise<void> {
  await testbed.db.query({
    text: `
      with new as (
        select (lpad(to_hex($3::bigint + n * 1000), 12, '0') || '7' || substr(md5($1::text || n::text || $3::bigint::text), 1, 3) || '8'
                || substr(md5($3::bigint::text || n::text || $1::text), 1, 15))::uuid as order_id, n
        from generate_series(0, $2::int - 1) n)
      insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
        wallet_version, package_lines, status_history, event_sequence, created_at, updated_at)
      select $1::uuid, order_id, 'T-' || order_id, $5, $6::bigint, 'USD', 0, n + 2,
        json_build_array(json_build_object('packageCode', $4::text, 'packageName', 'P', 'count', 1, 'price', $6::bigint)),
        '[]', 1, now(), now()
      from new`,
    values: [tenantId, count, fromMs, packageCode, status, amount],
  })
}

async function get(caller: Caller, path: string, query: Record<string, string | number | undefined> = {}) {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return caller.call('GET', `${path}?${new URLSearchParams(given)}`)
}

/** All pages of a list, running something between them. */
async function allPages(query: Record<string, string>, meanwhile?: () => Promise<void>): Promise<Order[]> {
  const rows: Order[] = []
  let cursor: string | undefined
  do {
    const { status, body } = await get(operator, '/orders', { ...query, limit: 7, cursor })
    expect([query, status, body.code]).toEqual([query, 200, undefined])
    rows.push(...body.orders)
    cursor = body.nextCursor ?? undefined
    await meanwhile?.()
  } while (cursor)
  return rows
}

const timeOf = (row: Order) => timeOfUuid(orderIdOf(row.orderNo)!)
const RECENT = { from: '2025-01-01T00:00:00.000Z' }

describe('order pages', () => {
  it.each([
    [{ sort: '-createdAt' }, (a: Order, b: Order) => timeOf(b) - timeOf(a)],
    [{ sort: 'createdAt' }, (a: Order, b: Order) => timeOf(a) - timeOf(b)],
    [{ sort: '-amount' }, (a: Order, b: Order) => b.amount - a.amount],
    [{ sort: 'amount' }, (a: Order, b: Order) => a.amount - b.amount],
    [{ sort: 'clientName' }, (a: Order, b: Order) => a.clientName.localeCompare(b.clientName)],
    [{ sort: '-createdAt', packageCode: 'FR' }, (a: Order, b: Order) => timeOf(b) - timeOf(a)],
    [{ sort: 'createdAt', country: 'FR' }, (a: Order, b: Order) => timeOf(a) - timeOf(b)],
    [{ sort: '-createdAt', status: 'FAILED' }, (a: Order, b: Order) => timeOf(b) - timeOf(a)],
    [{ sort: 'amount', amountFrom: '20000', amountTo: '90000' }, (a: Order, b: Order) => a.amount - b.amount],
  ])(
    '%j: show each order that existed at the start once and in order, while new orders arrive',
    async (query, compare) => {
      const filter = { ...RECENT, ...query }
      const before = await allPages(filter)
      let added = 0
      const rows = await allPages(filter, async () => {
        // Some later than all rows, some in between.
        await addOrders(alpha, 1, Date.now() - (added % 2) * 300 * HOUR_MS + added, sample(added))
        added++
      })
      expect(before.length).toBeGreaterThan(7)
      expect(rows).toEqual([...rows].sort(compare))
      const seen = rows.map((row) => row.orderNo)
      expect(new Set(seen).size).toBe(seen.length)
      expect(before.filter((row) => !seen.includes(row.orderNo))).toEqual([])
    },
  )

  it('are filtered by country (for single-country packages), type and supplier', async () => {
    const french = await allPages({ ...RECENT, country: 'FR' })
    expect(french.map((row) => row.orderNo)).toEqual(
      (await allPages({ ...RECENT, packageCode: 'FR' })).map((row) => row.orderNo),
    )
    expect(await allPages({ ...RECENT, orderType: 'TOPUP' })).toEqual([])
    const [order] = french
    await testbed.db.query({
      text: `insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, supplier, item_status, updated_at)
             values ($1, $2, 1, 0, 'FR', 1, 'somebody', 'DELIVERED', now())`,
      values: [order!.tenantId, orderIdOf(order!.orderNo)],
    })
    expect(await allPages({ ...RECENT, orderType: 'NEW', supplier: 'somebody' })).toMatchObject([
      { orderNo: order!.orderNo },
    ])
  })

  it('are empty and complete for a country without packages', async () => {
    const { body } = await get(operator, '/orders', { country: 'AQ' })
    expect(body).toEqual({ orders: [], nextCursor: null, searchedTo: null })
    expect((await get(operator, '/orders/totals', { country: 'AQ' })).body).toMatchObject({
      count: 0,
      isComplete: true,
    })
  })

  it('show how far an oversized search got, and continue from there', async () => {
    const query = { tenantId: large, packageCode: 'RARE' }
    let { body } = await get(operator, '/orders', query)
    let searchedToMs = Number.POSITIVE_INFINITY
    let requests = 1
    for (; body.orders.length === 0; requests++) {
      const reachedMs = Date.parse(body.searchedTo)
      expect(reachedMs).toBeLessThan(searchedToMs)
      searchedToMs = reachedMs
      body = (await get(operator, '/orders', { ...query, cursor: body.nextCursor })).body
    }
    expect(body).toMatchObject({ orders: [{ packages: ['P'] }], nextCursor: null, searchedTo: null })
    expect(requests).toBeGreaterThan(LARGE_ORDERS / 20_000)
  })

  it('refuse a modified cursor, and a cursor from another list or sort order', async () => {
    const { nextCursor } = (await get(operator, '/orders', { limit: 1, sort: 'createdAt' })).body
    for (const [path, query] of [
      ['/profiles', { cursor: nextCursor, sort: 'createdAt' }],
      ['/orders', { cursor: nextCursor }],
      ['/orders', { cursor: `A${nextCursor}`, sort: 'createdAt' }],
    ] as const)
      expect((await get(operator, path, query)).body).toMatchObject({ code: 'CURSOR_INVALID' })
  })
})

describe('order totals', () => {
  it('are exact for up to 10 000 orders, and incomplete beyond that number', async () => {
    const rows = await allPages(RECENT)
    const amount = rows.reduce((sum, row) => sum + row.amount, 0)
    expect((await get(operator, '/orders/totals', RECENT)).body).toEqual({
      ...{ count: rows.length, isComplete: true, sums: [{ currencyCode: 'USD', amount }] },
      sortable: ['createdAt', 'amount', 'transactionId', 'clientName'],
      sorts: ['createdAt', 'amount', 'transactionId', 'clientName'],
    })
    const { body } = await get(operator, '/orders/totals')
    expect(body.sums).toBeUndefined()
    expect(body).toMatchObject({
      ...{ count: 10_000, isComplete: false, sortable: ['createdAt'] },
    })
  })

  it('more than 10 000 orders cannot be sorted by a column without an index', async () => {
    for (const path of ['/orders', '/orders.csv'])
      expect((await get(operator, path, { sort: 'amount' })).body).toMatchObject({ code: 'TOO_MANY_TO_SORT' })
  })
})

describe('CSV files', () => {
  it('contain the rows of all pages, filtered and sorted like the list', async () => {
    const query = { ...RECENT, sort: '-amount', status: 'FAILED' }
    const [head, ...lines] = String((await get(operator, '/orders.csv', query)).body)
      .trimEnd()
      .split('\n')
    expect(head).toMatch(/^\uFEFForderNo,transactionId,dealer,/)
    const rows = await allPages(query)
    expect(lines.map((line) => line.split(',')[0])).toEqual(rows.map((row) => row.orderNo))
    expect(lines[0]).toContain(`,${rows[0]!.amount / 10_000}`)
  })

  it('contain all rows even if they are read in several parts', async () => {
    const to = new Date(LARGE_FROM_MS + 3_000_000).toISOString()
    const { body } = await get(operator, '/orders.csv', { tenantId: large, to })
    expect(String(body).trim().split('\n')).toHaveLength(1 + 3_001)
  })
})

describe('a dealer', () => {
  it('sees no other dealer’s rows in any list, file or total, whatever the sorting and filters', async () => {
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', alpha)
    const own = (await allPages({ tenantId: alpha! })).length
    for (const sort of ['createdAt', '-createdAt', 'amount', '-amount', 'clientName', 'transactionId']) {
      const { body } = await get(dealer, '/orders', { sort, limit: 200, tenantId: beta })
      expect(body.orders).toHaveLength(Math.min(own, 200))
      expect(new Set(body.orders.map((row: Order) => row.tenantId))).toEqual(new Set([alpha]))
    }
    expect((await get(dealer, '/orders/totals', { tenantId: large })).body.count).toBe(own)
    const file = String((await get(dealer, '/orders.csv', { tenantId: beta })).body)
    expect(file).not.toContain('Beta')
    expect(file.trim().split('\n')).toHaveLength(1 + own)
    expect((await get(dealer, '/orders', { supplier: 'somebody' })).body).toMatchObject({ code: 'NOT_ALLOWED' })
  })
})

describe('dealer tags', () => {
  it('filter the list, its totals and its file, and are listed with their dealer counts', async () => {
    const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
    for (const [tenantId, tags] of [
      [alpha, ['cruises', 'north']],
      [beta, ['north']],
    ] as const)
      expect((await staff.call('PUT', `/tenants/${tenantId}/tags`, { tags })).status).toBe(200)
    expect((await get(operator, '/tags')).body.tags).toEqual([
      { tag: 'cruises', dealers: 1 },
      { tag: 'north', dealers: 2 },
    ])
    const named = async (tag: string) =>
      (await get(operator, '/tenants', { tag, sort: 'clientName' })).body.tenants.map(
        (row: { clientName: string; tags: string[] }) => [row.clientName, row.tags.join()],
      )
    expect(await named('cruises')).toEqual([['Alpha', 'cruises,north']])
    expect(await named('north')).toHaveLength(2)
    expect(await named('nor')).toEqual([])
    expect((await get(operator, '/tenants/totals', { tag: 'north' })).body.count).toBe(2)
    expect(String((await get(operator, '/tenants.csv', { tag: 'cruises' })).body)).toContain('"cruises, north"')
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', alpha)
    expect((await get(dealer, '/tags')).status).toBe(403)
    expect(JSON.stringify((await get(dealer, `/tenants/${alpha}`)).body)).not.toContain('cruises')
  })
})

describe('the other lists', () => {
  it.each([
    ['/tenants', 'clientName', (row: { clientName: string }) => row.clientName],
    ['/tenants', '-balance', (row: { balance: number }) => -row.balance],
    ['/packages', '-packageCode', undefined],
    ['/packages', 'name', undefined],
    ['/audit', 'createdAt', undefined],
  ] as const)('%s sorted by %s contains every row once', async (path, sort, key) => {
    const rows: Record<string, never>[] = []
    let cursor: string | undefined
    do {
      const { body } = await get(operator, path, { sort, limit: 1, cursor })
      rows.push(...(Object.values(body).find(Array.isArray) as typeof rows))
      cursor = body.nextCursor ?? undefined
    } while (cursor)
    expect(rows.length).toBe((await get(operator, `${path}/totals`)).body.count)
    expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(rows.length)
    if (key) {
      const values = rows.map((row) => key(row as never))
      expect(values).toEqual([...values].sort((a, b) => (a < b ? -1 : 1)))
    }
  })

  it.each(['01ARZ3NDEKTSV4RRFFQ69G5FAV', '1541815603606036480'])(
    'orders and events are found by the transactionId %s, which resembles an order number or ICCID',
    async (transactionId) => {
      const [order] = await allPages({ ...RECENT, tenantId: alpha! })
      const { orderNo, tenantId } = order!
      const key = [tenantId, orderIdOf(orderNo)]
      const name = (text: string) =>
        testbed.db.query({
          text: 'update orders set transaction_id = $3 where tenant_id = $1 and order_id = $2',
          values: [...key, text],
        })
      await name(transactionId)
      expect((await get(operator, '/orders', { q: transactionId })).body.orders).toMatchObject([{ orderNo }])
      expect((await get(operator, '/orders', { q: orderNo })).body.orders).toMatchObject([{ transactionId }])
      expect((await get(operator, '/orders/totals', { q: transactionId })).body).toMatchObject({ count: 1 })
      await testbed.db.query({ text: 'create table if not exists events_all partition of events default' })
      const notifyId = testbed.deps.ids.uuid()
      await testbed.db.query({
        text: `insert into events (tenant_id, order_id, notify_id, notify_type, content, created_at)
               values ($1, $2, $3, 'ORDER_PAID', '{}', now())`,
        values: [...key, notifyId],
      })
      expect((await get(operator, '/events', { q: transactionId })).body.events).toMatchObject([{ notifyId }])
      await testbed.db.query({ text: 'delete from events where notify_id = $1', values: [notifyId] })
      await name(order!.transactionId)
    },
  )

  it('events are found by order number and by transactionId', async () => {
    const [order] = await allPages({ ...RECENT, packageCode: 'FR' })
    const notifyId = testbed.deps.ids.uuid()
    await testbed.db.query({ text: 'create table if not exists events_all partition of events default' })
    await testbed.db.query({
      text: `insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at)
             values ($1, $2, 'ORDER_PAID', $3, '{}', now())`,
      values: [order!.tenantId, notifyId, orderIdOf(order!.orderNo)],
    })
    for (const query of [{ orderNo: order!.orderNo }, { q: order!.transactionId }]) {
      expect((await get(operator, '/events', query)).body.events).toMatchObject([{ notifyId }])
      const other = order!.tenantId === alpha ? beta : alpha
      const dealer = await signedInAs(testbed, 'DEALER_STAFF', other)
      expect((await get(dealer, '/events', query)).body.events).toEqual([])
    }
    const nobody = { orderNo: orderNoOf(testbed.deps.ids.uuid()) }
    expect((await get(operator, '/events', nobody)).body.events).toEqual([])
  })
})

it('all alerts on the longest page can be marked as read with one request', async () => {
  const before = (await operator.call('GET', '/notices/unread')).body.count
  await testbed.db.tx(async (tx) => {
    for (let number = 0; number < 200; number++)
      createAlert(tx, testbed.deps.ids, { kind: 'LOW_STOCK', message: 'Low.' })
  })
  const { notices } = (await operator.call('GET', '/notices?unread=true&limit=200')).body
  const noticeIds = notices.map(({ noticeId }: { noticeId: string }) => noticeId)
  expect(noticeIds).toHaveLength(200)
  expect((await operator.call('POST', '/notices/read', { noticeIds })).status).toBe(200)
  expect((await operator.call('GET', '/notices/unread')).body.count).toBe(before)
})

it('a new gateway’s lists have no further page after their first row', async () => {
  const young = await startConsole()
  try {
    const tenantId = await addTenant(young, 'Young Ltd')
    const person = await signedInAs(young, 'OPERATOR_STAFF')
    const pages = () => Promise.all(['/orders', '/profiles', '/events'].map((path) => person.call('GET', path)))
    for (const { body } of await pages()) expect(body).toMatchObject({ nextCursor: null, searchedTo: null })
    await addPackage(young.db, 'JP', [])
    await payOrders(young.db, tenantId, 'JP')
    const [orders] = await pages()
    expect(orders!.body).toMatchObject({ orders: [{ packages: ['Package'] }], nextCursor: null, searchedTo: null })
  } finally {
    await young.stop()
  }
})
