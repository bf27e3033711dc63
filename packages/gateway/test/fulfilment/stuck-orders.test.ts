import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '#test/http/console/console-testbed.ts'

/* An order that its supplier does not answer: both sides read who is waited for, and can do something. */

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

describe('the page of an undecided order', () => {
  it('says who has not answered since when, when it is asked again and by when it is reviewed, and names no supplier to the dealer', async () => {
    const { waiting } = (await operator.call('GET', path)).body
    expect(waiting).toMatchObject({ reason: 'NO_ANSWER', supplier: 'sandbox' })
    const minutesFromNow = (time: string) => Math.round((Date.parse(time) - Date.now()) / 60_000)
    expect(minutesFromNow(waiting.since)).toBe(-20)
    expect(minutesFromNow(waiting.nextAskAt)).toBe(1)
    expect(minutesFromNow(waiting.reviewAt)).toBeGreaterThan(0)
    expect((await dealer.call('GET', path)).body.waiting).toEqual({ ...waiting, supplier: null })
    expect((await operator.call('GET', '/dashboard')).body.attention.lateOrders).toBe(1)
  })

  it('lets operators ask the supplier now, a limited number of times, and dealers not', async () => {
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

  it('lets a dealer ask the operator: a note on the order, with an alert that leads to it', async () => {
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

  it('is silent about whom it waits for once the order is decided, and refuses to ask', async () => {
    await testbed.db.query({ text: `update order_items set item_status = 'DELIVERED', retry_at = null` })
    await testbed.db.query({ text: `update orders set order_status = 'DELIVERED', due_at = null` })
    expect((await operator.call('GET', path)).body.waiting).toBeNull()
    const another = await signedInAs(testbed, 'OPERATOR_STAFF')
    expect((await another.call('POST', `${path}/ask`)).body).toMatchObject({ code: 'ORDER_DECIDED' })
  })
})
