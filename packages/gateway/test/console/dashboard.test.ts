import { afterAll, beforeAll, expect, it } from 'vitest'
import { localDays } from '../../src/console-api/routes/overview/local-days.ts'
import { firstUuidAt } from '../../src/lib/ids.ts'
import { addPackage, payOrders } from '../harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'
import { seedTenant } from './seeded-console.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

it('the dashboard counts the same orders for a day as the list of that day, in every time zone', async () => {
  const tenantId = await addTenant(testbed, 'Far and wide')
  await addPackage(testbed.db, 'JP', [])
  await payOrders(testbed.db, tenantId, 'JP', { orders: 3 })
  const dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  // At UTC+14 and UTC−11 it is never the same day.
  const days: string[] = []
  for (const timeZone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    const { body } = await dealer.call('GET', `/dashboard?days=2&timeZone=${timeZone}`)
    const today = body.days.at(-1)
    expect(body.orders).toMatchObject([{ day: today, orders: 3 }])
    expect(body.sales).toMatchObject([{ day: today, currencyCode: 'USD', amount: 30_000 }])
    const [{ startsAt } = {}] = localDays(testbed.clock.timeMs, 1, timeZone)
    const list = await dealer.call('GET', `/orders?from=${startsAt?.toISOString()}`)
    expect(list.body.orders).toHaveLength(3)
    days.push(today)
  }
  expect(days[0]).not.toBe(days[1])
})

it('the dashboard counts the same events for a day as the list of that day, regardless of attempts', async () => {
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

it('an unknown time zone is refused', async () => {
  const { window } = await signedInAs(testbed, 'OPERATOR_STAFF')
  expect(await window.call('GET', '/dashboard?timeZone=Mars/Olympus')).toMatchObject({
    status: 422,
    body: { code: 'TIME_ZONE_UNKNOWN' },
  })
})

it('a request that gets no database connection in time is answered 503, nothing changed', async () => {
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
