import { orderIdOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { applyReports } from '#esims/apply-reports.ts'
import { createAccessToken } from '#people/account/access-token.ts'
import { addPackage, PRICE } from '#test/harness/shop.ts'
import { addPerson, addTenant, type ConsoleTestbed, startConsole } from '../console-testbed.ts'
import { seedTenant } from '../seeded-console.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
  await addPackage(testbed.db, 'JP', [])
})
afterAll(() => testbed.stop())

it('a dealer’s script reads orders, eSIMs, events and statements with only a token', async () => {
  const [own, other] = [await addTenant(testbed, 'Scripted'), await addTenant(testbed, 'Unscripted')]
  const { orderNo, transactionId, profileId, notifyId } = await seedTenant(testbed, own, 'JP')
  const theirs = await seedTenant(testbed, other, 'JP')
  const orderId = orderIdOf(orderNo)!
  const report = { time: new Date(), esimStatus: 'CANCEL' } as const
  await applyReports(testbed.deps, own, [{ orderId, profileId, report }])
  const call = await createScript(own)

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
  expect(lines.map((line) => line.split(',').at(-2))).toEqual(['currency_code', 'USD', 'USD'])
  const refunds = (await call(`${home}/wallet/entries.csv?month=${month}&kind=REFUND`)).body.trim().split('\n')
  expect(refunds).toEqual([expect.stringMatching(/^version,/), expect.stringContaining(',REFUND,1.00,0.00,')])
  expect((await call(`/profiles?orderNo=${orderNo}`)).json().profiles).toMatchObject([{ profileId, supplier: null }])
  expect((await call('/events')).json().events.map((one: { tenantId: string }) => one.tenantId)).not.toContain(other)
  expect((await call(`${home}/events/${notifyId}`)).json()).toMatchObject({ deliveries: [{ httpStatus: 500 }] })
  for (const path of ['/wallet', '/wallet/entries', `/orders/${theirs.orderNo}`, `/profiles/${theirs.profileId}`])
    expect([path, (await call(`/tenants/${other}${path}`)).statusCode]).toEqual([path, 404])
})

/** Makes calls with a token of the dealer's staff, without a cookie or origin. */
async function createScript(tenantId: string) {
  const { personId } = await addPerson(testbed, 'DEALER_STAFF', tenantId)
  const input = { name: 'a script', scope: 'READ' as const, days: 30 }
  const { token } = await testbed.db.tx((tx) => createAccessToken(tx, testbed.deps.ids, personId, input))
  return (path: string) =>
    testbed.app.inject({ url: `/console/api${path}`, headers: { authorization: `Bearer ${token}` } })
}
