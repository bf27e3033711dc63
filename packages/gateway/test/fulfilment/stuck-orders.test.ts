import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { alertOfLateOrders } from '#fulfilment/review/late-orders.ts'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '#test/http/console/console-testbed.ts'

/* An order that its supplier does not answer: both sides can see who is being waited for, and can act on it. */

let testbed: ConsoleTestbed
let operator: Awaited<ReturnType<typeof signedInAs>>
let dealer: Awaited<ReturnType<typeof signedInAs>>
let tenantId: string
let orderId: string
let path: string
beforeAll(async () => {
  testbed = await startConsole()
  operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  tenantId = await addTenant(testbed, 'Lotus Travel')
  dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  await operator.call('POST', `/tenants/${tenantId}/wallet/top-ups`, { amount: 1_000_000, reference: 'bank 1' })
  await addPackage(testbed.db, 'P', [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }])
  ;[orderId = ''] = await payOrders(testbed.db, tenantId, 'P')
  path = `/tenants/${tenantId}/orders/${orderNoOf(orderId)}`
  await testbed.db.query({
    text: `update order_items set item_status = 'UNKNOWN', supplier = 'sandbox', product_code = 'P', attempts = 3,
             requested_at = now() - interval '20 minutes', in_doubt_at = now() - interval '20 minutes',
             retry_at = now() + interval '50 seconds' where order_id = $1`,
    values: [orderId],
  })
  await testbed.db.query({
    text: `update orders set order_status = 'ALLOCATING', due_at = now() + interval '50 seconds',
             created_at = now() - interval '21 minutes' where order_id = $1`,
    values: [orderId],
  })
})
afterAll(() => testbed.stop())

describe('an undecided order’s page', () => {
  it('shows who has not answered and what happens next, but hides the supplier from the dealer', async () => {
    const { waiting } = (await operator.call('GET', path)).body
    expect(waiting).toMatchObject({ reason: 'NO_ANSWER', supplier: 'sandbox' })
    const minutesFromNow = (time: string) => Math.round((Date.parse(time) - Date.now()) / 60_000)
    expect(minutesFromNow(waiting.since)).toBe(-20)
    expect(minutesFromNow(waiting.nextAskAt)).toBe(1)
    expect(minutesFromNow(waiting.reviewAt)).toBeGreaterThan(0)
    expect((await dealer.call('GET', path)).body.waiting).toEqual({ ...waiting, supplier: null })
    expect((await operator.call('GET', '/dashboard')).body.attention.lateOrders).toBe(1)
  })

  it('lets operators, but not dealers, query the supplier a limited number of times', async () => {
    expect((await dealer.call('POST', `${path}/ask`)).status).toBe(403)
    expect((await operator.call('POST', `${path}/ask`)).status).toBe(200)
    const [due] = await testbed.db.query<{ order: boolean; item: boolean }>({
      text: `select o.due_at <= now() as order, i.retry_at <= now() as item
             from orders o join order_items i using (tenant_id, order_id) where order_id = $1`,
      values: [orderId],
    })
    expect(due).toEqual({ order: true, item: true })
    let last = 200
    for (let asked = 1; asked <= 10; asked++) last = (await operator.call('POST', `${path}/ask`)).status
    expect(last).toBe(429)
  })

  it('lets a dealer ask the operator, which adds a note to the order and raises an alert', async () => {
    expect((await operator.call('POST', `${path}/questions`, { text: 'Where?' })).status).toBe(403)
    expect((await dealer.call('POST', `${path}/questions`, { text: ' ' })).status).toBe(400)
    const text = 'The customer is at the counter. When does it arrive?'
    expect((await dealer.call('POST', `${path}/questions`, { text })).status).toBe(200)
    const { notes } = (await operator.call('GET', `${path}/notes`)).body
    expect(notes).toMatchObject([{ text, actor: expect.stringContaining('@people.test') }])
    expect((await dealer.call('GET', `${path}/notes`)).status).toBe(403)
    const [alert] = (await operator.call('GET', '/notices')).body.notices
    expect(alert).toMatchObject({ kind: 'ORDER_QUESTION', path })
    expect(alert.message).toBe(`Lotus Travel asks about order #2: ${text}`)
    expect((await dealer.call('GET', '/notices')).body.notices).toEqual([])
  })

  it('no longer names a supplier or accepts questions once the order is decided', async () => {
    await testbed.db.query({ text: `update order_items set item_status = 'DELIVERED', retry_at = null` })
    await testbed.db.query({ text: `update orders set order_status = 'DELIVERED', due_at = null` })
    expect((await operator.call('GET', path)).body.waiting).toBeNull()
    const another = await signedInAs(testbed, 'OPERATOR_STAFF')
    expect((await another.call('POST', `${path}/ask`)).body).toMatchObject({ code: 'ORDER_DECIDED' })
  })
})

it('the late-order alert links to a list of exactly the orders that it counts', async () => {
  const waits = async (status: string, itemStatus: string, minutes: number) => {
    const [id = ''] = await payOrders(testbed.db, tenantId, 'P')
    await testbed.db.query({
      text: 'update order_items set item_status = $2 where order_id = $1',
      values: [id, itemStatus],
    })
    await testbed.db.query({
      text: `update orders set order_status = $2, due_at = now() + interval '1 hour',
               created_at = now() - $3 * interval '1 minute' where order_id = $1`,
      values: [id, status, minutes],
    })
    return orderNoOf(id)
  }
  const paid = await waits('PAID', 'WAITING', 20)
  const late = [paid, await waits('ALLOCATING', 'UNKNOWN', 20)].sort()
  await waits('PAID', 'WAITING', 2)
  await waits('ALLOCATING', 'ASKED', 2)
  await waits('UNDER_REVIEW', 'UNKNOWN', 20)
  expect(await alertOfLateOrders(testbed.deps)).toBe(true)
  const { notices } = (await operator.call('GET', '/notices')).body
  const { path: list, message } = notices.find(({ kind }: { kind: string }) => kind === 'ORDERS_LATE')
  expect(message).toContain(`longer than usual: ${late.length}.`)
  const orderNosOf = async (person: typeof operator, query: string) =>
    (await person.call('GET', query)).body.orders.map(({ orderNo }: { orderNo: string }) => orderNo).sort()
  expect(await orderNosOf(operator, list)).toEqual(late)
  expect(await orderNosOf(operator, `${list}&sort=amount`)).toEqual(late)
  expect((await operator.call('GET', list.replace('?', '/totals?'))).body.count).toBe(late.length)
  expect((await operator.call('GET', '/dashboard')).body.attention.lateOrders).toBe(late.length)
  expect(await orderNosOf(operator, `${list}&status=PAID`)).toEqual([paid])
  const stranger = await signedInAs(testbed, 'DEALER_STAFF', await addTenant(testbed, 'Other'))
  expect([await orderNosOf(dealer, list), await orderNosOf(stranger, list)]).toEqual([late, []])
})
