import { orderNoOf } from '@dealer-esim/contract'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '#test/http/console/console-testbed.ts'

let testbed: ConsoleTestbed
let operator: Awaited<ReturnType<typeof signedInAs>>
let dealer: typeof operator
let lotus = ''
let kite = ''
let lotusOrders: string[] = []
let kiteOrders: string[] = []
beforeAll(async () => {
  testbed = await startConsole()
  const { db } = testbed
  lotus = await addTenant(testbed, 'Lotus Travel')
  kite = await addTenant(testbed, 'Kite Tours')
  operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  dealer = await signedInAs(testbed, 'DEALER_ADMIN', lotus)
  await addPackage(db, 'JP', [{ supplier: 'north', productCode: 'P', cost: 5n }])
  lotusOrders = (await payOrders(db, lotus, 'JP', { orders: 2 })).map(orderNoOf)
  kiteOrders = (await payOrders(db, kite, 'JP', { orders: 2 })).map(orderNoOf)
  await operator.call('POST', `/tenants/${lotus}/wallet/top-ups`, { amount: 10_000, reference: 'INV-1' })
})
afterAll(() => testbed.stop())

interface Order {
  orderNo: string
  entryNo: number
  clientName: string
  location: string | null
}

async function ordersOf(caller: typeof operator, query: string): Promise<Order[]> {
  return (await caller.call('GET', `/orders${query}`)).body.orders
}

it('an order’s number is the entryNo of its debit in the ledger', async () => {
  const orders = await ordersOf(operator, `?tenantId=${lotus}`)
  const { entries } = (await operator.call('GET', `/tenants/${lotus}/wallet/entries?kind=ORDER`)).body
  expect(orders.map(({ orderNo, entryNo }) => [orderNo, entryNo])).toEqual(
    entries.map((entry: { orderNo: string; walletVersion: number }) => [entry.orderNo, entry.walletVersion]),
  )
  expect(entries.map((entry: { orderEntryNo: number }) => entry.orderEntryNo)).toEqual([2, 1])
  const order = (await operator.call('GET', `/tenants/${lotus}/orders/${lotusOrders[1]}`)).body
  expect([order.entryNo, order.location]).toEqual([orders[0]!.entryNo, 'JP'])
})

it('#2 and 2 find every dealer’s order with this number, but a dealer finds only its own order', async () => {
  for (const q of ['%232', '2']) {
    const found = await ordersOf(operator, `?q=${q}&sort=clientName`)
    expect(found.map(({ orderNo, clientName }) => [orderNo, clientName])).toEqual([
      [kiteOrders[1], 'Kite Tours'],
      [lotusOrders[1], 'Lotus Travel'],
    ])
    expect((await ordersOf(dealer, `?q=${q}`)).map(({ orderNo }) => orderNo)).toEqual([lotusOrders[1]])
  }
})

it('a number that belongs to a payment, or to nothing, finds no order', async () => {
  for (const q of ['%233', '%239', '%230', '%23', '%23x', '%23999999999999999', '9'.repeat(30)])
    expect([q, await ordersOf(dealer, `?q=${q}`)]).toEqual([q, []])
})

it('the finder lists every dealer’s order with a number, however many dealers there are', async () => {
  const more = await Promise.all(Array.from({ length: 6 }, (_, index) => addTenant(testbed, `More ${index}`)))
  for (const tenantId of more) await payOrders(testbed.db, tenantId, 'JP')
  const { results } = (await operator.call('GET', '/search?q=%231')).body
  expect(results).toHaveLength(8)
  expect(results).toContainEqual({
    kind: 'ORDER',
    label: '#1',
    detail: expect.stringMatching(/^Lotus Travel · Package · T-/),
    to: `/tenants/${lotus}/orders/${lotusOrders[0]}`,
  })
  expect((await dealer.call('GET', '/search?q=%231')).body.results).toEqual([
    expect.objectContaining({ label: '#1', detail: expect.stringMatching(/^Package · T-/) }),
  ])
})

it('a movement file contains the order number next to the orderNo', async () => {
  const { body } = await operator.call('GET', `/tenants/${lotus}/wallet/entries.csv`)
  const rows = parse(body, { columns: true }) as Record<string, string>[]
  expect(rows.map((row) => [row.order_no, row.order_entry_no])).toEqual([
    [lotusOrders[0], '1'],
    [lotusOrders[1], '2'],
    ['', ''],
  ])
})
