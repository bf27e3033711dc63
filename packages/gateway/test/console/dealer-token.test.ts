import { orderIdOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { saveCancellation } from '../../src/fulfilment/cancelling/save-cancellation.ts'
import { makeAccessToken } from '../../src/people/access-token.ts'
import { addPackage, PRICE } from '../harness/shop.ts'
import { addPerson, addTenant, type ConsoleApp, startConsole } from './console-app.ts'
import { furnish } from './furnished.ts'

let room: ConsoleApp
beforeAll(async () => {
  room = await startConsole()
  await addPackage(room.db, 'JP', [])
})
afterAll(() => room.stop())

it('a dealer’s script reads its orders, refunds, eSIMs, events and statements with nothing but a token', async () => {
  const [own, other] = [await addTenant(room, 'Scripted'), await addTenant(room, 'Unscripted')]
  const { orderNo, transactionId, profileId, notifyId } = await furnish(room, own, 'JP')
  const theirs = await furnish(room, other, 'JP')
  const orderId = orderIdOf(orderNo)!
  await saveCancellation(room.deps, own, { orderId, itemNo: 1, profileId }, { kind: 'cancelled' })
  const call = await scriptOf(own)

  const { tenant } = (await call('/me')).json()
  expect(tenant).toMatchObject({ tenantId: own, clientName: 'Scripted' })
  const home = `/tenants/${tenant.tenantId}`
  const { orders } = (await call('/orders')).json()
  expect(orders).toMatchObject([{ orderNo, transactionId, amount: Number(PRICE), refundedAmount: Number(PRICE) }])
  const order = (await call(`${home}/orders/${orderNo}`)).json()
  expect(order.timeline.map((step: { kind: string }) => step.kind)).toEqual(
    expect.arrayContaining(['DEBIT', 'REFUND', 'EVENT']),
  )
  const { entries } = (await call(`${home}/wallet/entries?kind=REFUND`)).json()
  expect(entries).toMatchObject([{ kind: 'REFUND', orderNo, itemNo: 1, amount: Number(PRICE), balanceAfter: 0 }])
  const month = new Date().toISOString().slice(0, 7)
  const file = await call(`${home}/wallet/entries.csv?month=${month}`)
  expect(file.headers['content-disposition']).toBe(`attachment; filename="statement-scripted-${month}.csv"`)
  const lines = file.body.trim().split('\n')
  expect(lines.map((line) => line.split(',').at(-1))).toEqual(['currency_code', 'USD', 'USD'])
  const refunds = (await call(`${home}/wallet/entries.csv?month=${month}&kind=REFUND`)).body.trim().split('\n')
  expect(refunds).toEqual([expect.stringMatching(/^version,/), expect.stringContaining(',REFUND,1.00,0.00,')])
  expect((await call(`/profiles?orderNo=${orderNo}`)).json().profiles).toMatchObject([{ profileId, supplier: null }])
  expect((await call('/events')).json().events.map((one: { tenantId: string }) => one.tenantId)).not.toContain(other)
  expect((await call(`${home}/events/${notifyId}`)).json()).toMatchObject({ deliveries: [{ httpStatus: 500 }] })
  for (const path of ['/wallet', '/wallet/entries', `/orders/${theirs.orderNo}`, `/profiles/${theirs.profileId}`])
    expect([path, (await call(`/tenants/${other}${path}`)).statusCode]).toEqual([path, 404])
})

/** Whatever the dealer's staff calls by a token, from anywhere: no cookie, no origin. */
async function scriptOf(tenantId: string) {
  const { personId } = await addPerson(room, 'DEALER_STAFF', tenantId)
  const asked = { name: 'a script', scope: 'READ' as const, days: 30 }
  const { token } = await room.db.tx((tx) => makeAccessToken(tx, room.deps.ids, personId, asked))
  return (path: string) =>
    room.app.inject({ url: `/console/api${path}`, headers: { authorization: `Bearer ${token}` } })
}
