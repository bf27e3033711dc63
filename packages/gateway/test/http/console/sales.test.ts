import { orderNoOf } from '@dealer-esim/contract'
import { createIds } from '@dealer-esim/lib/ids.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SalesReport } from '#http/console/sales.ts'
import { updateSales } from '#sales/update-sales.ts'
import { addPackage, PRICE, payOrders } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'

let testbed: ConsoleTestbed
let operator: Awaited<ReturnType<typeof signedInAs>>
let dealer: typeof operator
let [alpha, beta] = ['', '']
const orderIds: string[] = []
const today = () => new Date(testbed.clock.now()).toISOString().slice(0, 10)

/** Inserts an order that was placed and delivered `days` ago. */
async function sell(
  tenantId: string,
  packageCode: string,
  { days = 0, count = 1, supplier = 'north', cost = 4_000, costCurrency = 'USD' },
) {
  const [orderId = ''] = await payOrders(testbed.db, tenantId, packageCode, { count })
  const moved = createIds(() => testbed.clock.now() - days * 86_400_000).uuid()
  for (const table of ['orders', 'order_items', 'transfers']) {
    await testbed.db.query({ text: `update ${table} set order_id = $2 where order_id = $1`, values: [orderId, moved] })
  }
  await testbed.db.query({
    text: `update order_items set item_status = 'DELIVERED', supplier = $2, cost = $3, cost_currency = $4 where order_id = $1`,
    values: [moved, supplier, cost, costCurrency],
  })
  await testbed.db.query({
    text: `update orders set order_status = 'DELIVERED', due_at = null, event_sequence = 3 where order_id = $1`,
    values: [moved],
  })
  orderIds.push(moved)
}

beforeAll(async () => {
  testbed = await startConsole()
  const { db } = testbed
  alpha = await addTenant(testbed, 'Alpha')
  beta = await addTenant(testbed, 'Beta')
  await db.query({ text: 'update wallets set balance = 10000000' })
  operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
  dealer = await signedInAs(testbed, 'DEALER_ADMIN', alpha)
  for (const code of ['JP', 'EU']) await addPackage(db, code, [{ supplier: 'north', productCode: 'P', cost: 5n }])
  await db.query({ text: `insert into coverages values ('europe', '{DE,FR}', '[]')` })
  await db.query({ text: `update packages set coverage_id = 'europe' where package_code = 'EU'` })
  await sell(alpha, 'JP', { count: 3 })
  await sell(alpha, 'EU', { costCurrency: 'EUR', supplier: 'south' })
  await sell(beta, 'JP', { days: 1, supplier: 'south' })
  await sell(alpha, 'JP', { days: 35 })
  await updateSales(db)
})
afterAll(() => testbed.stop())

async function get(path: string): Promise<SalesReport> {
  const { status, body } = await operator.call('GET', path)
  expect([path, status, body]).toEqual([path, 200, expect.anything()])
  return body
}

const price = Number(PRICE)

describe('sales', () => {
  it('the totals show revenue, cost and margin for the period and the previous period', async () => {
    const { totals, from, to, previousTo } = await get('/sales?by=day')
    expect([to, totals.length]).toEqual([today(), 1])
    expect(Date.parse(from) - Date.parse(previousTo)).toBe(86_400_000)
    expect(totals[0]).toMatchObject({
      ...{ currencyCode: 'USD', items: 5, sales: 5 * price, refunds: 0, revenue: 5 * price, cost: 16_000 },
      // One of their costs is in another currency: that sale's revenue is not part of the margin.
      ...{ margin: 4 * price - 16_000, marginRevenue: 4 * price, unknownItems: 1, unknownRevenue: price },
      previous: { items: 1, revenue: price, cost: 4_000, margin: price - 4_000 },
    })
  })

  it.each([
    [
      'dealer',
      () => [
        [alpha, 'Alpha', 4],
        [beta, 'Beta', 1],
      ],
    ],
    [
      'package',
      () => [
        ['JP', 'Package JP', 4],
        ['EU', 'Package EU', 1],
      ],
    ],
    [
      'country',
      () => [
        ['JP', 'Japan', 4],
        ['!RG', '!RG', 1],
      ],
    ],
    [
      'supplier',
      () => [
        ['north', 'north', 3],
        ['south', 'south', 2],
      ],
    ],
  ])('sales are broken down by %s, in descending order of revenue', async (by, expected) => {
    const { rows, omitted } = await get(`/sales?by=${by}`)
    expect([rows.map(({ key, name, items }) => [key, name, items]), omitted]).toEqual([expected(), 0])
  })

  it('sales are broken down by day, each compared with the corresponding day in the previous period', async () => {
    const [from, to] = [today(), today()]
    const { rows } = await get(`/sales?by=day&from=${from}&to=${to}`)
    expect(rows).toMatchObject([{ key: today(), items: 4, previous: { items: 1 } }])
  })

  it('the margin is unknown rather than zero if all costs are unknown', async () => {
    const { rows } = await get('/sales?by=package&packageCode=EU')
    expect(rows).toMatchObject([{ key: 'EU', revenue: price, cost: 0, margin: null, unknownItems: 1 }])
    const csv = (await operator.call('GET', '/sales.csv?by=package')).body as unknown as string
    const line = csv.split('\n').find((text) => text.startsWith('EU'))
    expect(line?.trim()).toBe('EU,Package EU,USD,1,1.00,0.00,1.00,0.00,,1,1.00')
  })

  it.each([
    [`tenantId=`, () => alpha, 4],
    ['supplier=', () => 'south', 2],
    ['country=', () => 'JP', 4],
    ['packageCode=', () => 'JP', 4],
    ['orderType=', () => 'TOPUP', 0],
  ])('the filter %s applies to every breakdown', async (name, value, items) => {
    for (const by of ['day', 'dealer', 'package', 'country', 'supplier']) {
      const { rows, totals } = await get(`/sales?by=${by}&${name}${value()}`)
      const sum = rows.reduce((all, row) => all + row.items, 0)
      expect([by, sum, totals[0]?.items ?? 0]).toEqual([by, items, items])
    }
  })

  it.each([
    ['by=day&from=2026-02-30&to=2026-03-05', 'NOT_A_DAY'],
    ['by=day&from=2026-02-02&to=2026-02-01', 'PERIOD_EMPTY'],
    ['by=day&from=2024-02-02&to=2026-02-01', 'PERIOD_TOO_LONG'],
    ['by=dealer&supplier=north&from=2026-01-01&to=2026-02-01', 'PERIOD_TOO_LONG'],
  ])('the period %s is refused as %s', async (period, code) => {
    const { status, body } = await operator.call('GET', `/sales?${period}`)
    expect([status, body.code]).toEqual([422, code])
  })

  it('balances are listed with the number of days they last at the average spend, fewest first', async () => {
    const { balances } = (await operator.call('GET', '/sales/balances')).body
    expect(balances).toMatchObject([
      { clientName: 'Alpha', basis: 1, spent: 4 * price, daysLeft: 248 },
      { clientName: 'Beta', basis: 2, spent: price },
    ])
    const csv = (await operator.call('GET', '/sales/balances.csv')).body as unknown as string
    expect(csv.trim().split('\n')).toHaveLength(3)
  })
})

describe('cost and margin', () => {
  it('an order shows its cost and margin to operators', async () => {
    const margins = []
    for (const orderId of orderIds.slice(0, 2)) {
      margins.push((await operator.call('GET', `/tenants/${alpha}/orders/${orderNoOf(orderId)}`)).body.margin)
    }
    expect(margins).toEqual([
      { cost: 12_000, margin: 3 * price - 12_000, unknownItems: 0 },
      { cost: 0, margin: null, unknownItems: 1 },
    ])
  })

  it('a dealer sees neither cost nor margin in an order, and has no sales report', async () => {
    const { body } = await dealer.call('GET', `/tenants/${alpha}/orders/${orderNoOf(orderIds[0]!)}`)
    expect([body.margin, body.items[0].cost]).toEqual([null, null])
    for (const path of ['/sales?by=day', '/sales.csv?by=day', '/sales/balances', '/sales/balances.csv']) {
      expect([path, (await dealer.call('GET', path)).status]).toEqual([path, 403])
    }
    const dashboard = await dealer.call('GET', '/dashboard')
    expect(JSON.stringify(dashboard.body)).not.toMatch(/cost|margin/i)
  })
})
