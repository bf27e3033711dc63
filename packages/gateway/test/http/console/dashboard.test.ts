import { createIds, firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Statement } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { countedDays } from '#http/console/home/dashboard-figures.ts'
import { localDays } from '#http/console/home/local-days.ts'
import { updateSales } from '#sales/update-sales.ts'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'
import { seedTenant } from './seeded-console.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

it('the dashboard and the order list count the same orders per day, in every time zone', async () => {
  const tenantId = await addTenant(testbed, 'Far and wide')
  await addPackage(testbed.db, 'JP', [])
  await payOrders(testbed.db, tenantId, 'JP', { orders: 3 })
  await updateSales(testbed.db)
  const dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  const { window: operator } = await signedInAs(testbed, 'OPERATOR_STAFF')
  // At UTC+14 and UTC−11, the day is never the same.
  const days: string[] = []
  for (const timeZone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    const { body } = await dealer.call('GET', `/dashboard?days=2&timeZone=${timeZone}`)
    const today = body.days.at(-1)
    expect(body.orders).toMatchObject([{ day: today, orders: 3 }])
    expect(body.sales).toMatchObject([{ day: today, currencyCode: 'USD', amount: 30_000 }])
    const { body: all } = await operator.call('GET', `/dashboard?days=2&timeZone=${timeZone}`)
    expect([all.orders, all.sales]).toEqual([body.orders, body.sales])
    const [{ startsAt } = {}] = localDays(testbed.clock.timeMs, 1, timeZone)
    const list = await dealer.call('GET', `/orders?from=${startsAt?.toISOString()}`)
    expect(list.body.orders).toHaveLength(3)
    days.push(today)
  }
  expect(days[0]).not.toBe(days[1])
})

it('the dashboard and the event list count the same events per day, regardless of attempts', async () => {
  const tenantId = await addTenant(testbed, 'Tried often')
  const { notifyId } = await seedTenant(testbed, tenantId, 'JP')
  const yesterday = new Date(testbed.clock.now() - 26 * 3_600_000)
  await testbed.db.query({
    text: `insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at)
           select tenant_id, $1, notify_type, order_id, content, $3 from events where notify_id = $2`,
    values: [firstUuidAt(yesterday.getTime()), notifyId, yesterday],
  })
  const dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  const { body } = await dealer.call('GET', '/dashboard?days=3')
  const days = localDays(testbed.clock.now(), 3, 'UTC').map(({ day, startsAt }) => ({ day, from: startsAt }))
  for (const [index, { day, from }] of days.entries()) {
    const to = days[index + 1]?.from.toISOString()
    const list = await dealer.call('GET', `/events?from=${from.toISOString()}${to ? `&to=${to}` : ''}`)
    const states = list.body.events.map((event: { deliveryState: string }) => event.deliveryState)
    const {
      delivered = 0,
      dead = 0,
      pending = 0,
      unsent = 0,
    } = body.webhooks.find((row: { day: string }) => row.day === day) ?? {}
    const count = (state: string) => states.filter((one: string) => one === state).length
    expect([day, delivered, dead, pending, unsent]).toEqual([
      day,
      ...['DELIVERED', 'DEAD', 'PENDING', 'UNSENT'].map(count),
    ])
  }
  expect(body.webhooks).toHaveLength(2)
})

it('days can begin at any quarter hour, and a period ends when its last day ends', async () => {
  const tenantId = await addTenant(testbed, 'Quarter hours')
  // In Kathmandu, at UTC+05:45, the day ends at 18:15 UTC.
  const times = ['2026-03-01T18:14:59Z', '2026-03-01T18:15:00Z', '2026-03-02T18:14:59Z', '2026-03-02T18:15:00Z']
  for (const [index, time] of times.entries()) {
    const orderId = createIds(() => Date.parse(time)).uuid()
    const statuses = index === 1 ? 'FAILED' : 'DELIVERED'
    const tookMs = 100 * index
    await testbed.db.query({
      text: `with moved as (update wallets set version = version + 1 where tenant_id = $1 returning version),
               debit as (insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id, created_at)
                 select $1, version, 'ORDER', 'WALLET', 'SALES', 100, 0, $2, $4 from moved)
             insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
               wallet_version, package_lines, status_history, event_sequence, created_at, updated_at)
             select $1, $2, $2::text, $3, 100, 'USD', 0, version, '[]',
               jsonb_build_array(jsonb_build_object('time', $4::timestamptz + $5 * interval '1 ms')), 2, $4, $4 from moved`,
      values: [tenantId, orderId, statuses, new Date(time), tookMs],
    })
  }
  await updateSales(testbed.db)
  const dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  const { body } = await dealer.call('GET', '/dashboard?from=2026-03-02&to=2026-03-02&timeZone=Asia/Kathmandu')
  const [day] = body.orders
  expect(body.orders).toEqual([{ ...day, day: '2026-03-02', orders: 2, delivered: 1, failed: 1 }])
  // The class from 181 to 256 ms.
  expect(day.p50_ms).toBeGreaterThan(181)
  expect(day.p50_ms).toBeLessThan(256)
  expect(body.sales).toEqual([{ day: '2026-03-02', currencyCode: 'USD', amount: 200 }])
})

it('events and suppliers are counted only for recent days with a limited number of orders', () => {
  const days = ['01', '02', '03'].map((day) => ({ day, startsAt: new Date() }))
  const counted = (...orders: number[]) =>
    countedDays(
      days,
      orders.map((orders, index) => ({ day: days[index]!.day, orders })),
    ).map(({ day }) => day)
  expect(counted(1, 1, 1)).toEqual(['01', '02', '03'])
  expect(counted(1, 19_000, 1_000)).toEqual(['02', '03'])
  expect(counted(0, 0, 20_001)).toEqual([])
})

/** The tables in a statement's plan. */
async function tablesRead({ text, values = [] }: Statement): Promise<string[]> {
  const [row] = await testbed.db.query<{ 'QUERY PLAN': unknown }>({ text: `explain (format json) ${text}`, values })
  const plan = JSON.stringify(row)
  return [...plan.matchAll(/"Relation Name":"(.*?)"/g)].map(([, table]) => table!)
}

it.each(['/events', '/events?state=DEAD', '/events?sort=createdAt', '/dashboard', '/suppliers/sandbox/figures'])(
  'the answer to %s for all dealers reads no partitions that were created in advance',
  async (path) => {
    const tomorrow = firstUuidAt(testbed.clock.now() + 27 * 3_600_000)
    const ahead = await testbed.db.query<{ name: string }>({
      text: `select c.relname as name from pg_inherits i
           join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
           where p.relnamespace = current_schema()::regnamespace and p.relname in ('events', 'deliveries', 'supplier_attempts')
             and substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \\(''(.*?)''\\)') > $1`,
      values: [tomorrow],
    })
    expect(ahead.length).toBeGreaterThan(6)
    const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
    const statements = vi.spyOn(testbed.deps.db, 'query')
    expect((await operator.call('GET', path)).status).toBe(200)
    const sent = statements.mock.calls
      .map(([statement]) => statement)
      .filter(({ text }) => /from (tenants t|supplier_attempts)/.test(text))
    statements.mockRestore()
    expect(sent).not.toEqual([])
    const read = (await Promise.all(sent.map(tablesRead))).flat()
    expect(read).not.toEqual([])
    // On Citus the plan lists the shards of the partitions: events_494000_102008.
    expect(read.filter((table) => ahead.some(({ name }) => `${table}_`.startsWith(`${name}_`)))).toEqual([])
  },
)

it('an unknown time zone is refused', async () => {
  const { window } = await signedInAs(testbed, 'OPERATOR_STAFF')
  expect(await window.call('GET', '/dashboard?timeZone=Mars/Olympus')).toMatchObject({
    status: 422,
    body: { code: 'TIME_ZONE_UNKNOWN' },
  })
})

it('a request that waits too long for a database connection is answered with 503 and changes nothing', async () => {
  const { window } = await signedInAs(testbed, 'OPERATOR_STAFF')
  const { pool } = testbed.db
  const { connectionTimeoutMillis: timeoutMs } = pool.options
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
  pool.options.connectionTimeoutMillis = 50
  try {
    const { status, body } = await window.call('GET', '/tenants')
    expect([status, body.code]).toEqual([503, 'UNAVAILABLE'])
  } finally {
    pool.options.connectionTimeoutMillis = timeoutMs
    for (const client of clients) client.release()
  }
})
