import { afterAll, beforeAll, expect, it } from 'vitest'
import { seeSupplier } from '#suppliers/state/see-supplier.ts'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { addPerson, addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

it('each set-up step counts as done once its data exists', async () => {
  const { db } = testbed
  const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  const steps = async () => (await operator.call('GET', '/setup')).body.steps
  const done = async () => {
    const all = Object.entries(await steps())
    return all.filter(([, isDone]) => isDone).map(([name]) => name)
  }
  await db.query({ text: 'delete from stock_levels', values: [] })
  await db.query({ text: 'delete from suppliers', values: [] })
  expect(await done()).toEqual([])
  // The sandbox that a test deployment starts with does not complete any step.
  await db.query({
    text: `insert into suppliers (supplier, type, config) values ('sandbox', 'sandbox', '')`,
    values: [],
  })
  await addPackage(db, 'SANDBOX_OK', [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }])
  expect(await done()).toEqual([])
  expect((await operator.call('GET', '/setup')).body.dealer).toBeNull()
  await db.query({ text: `insert into suppliers (supplier, type, config) values ('stock', 'stock', '')`, values: [] })
  // A supplier is connected once it has been seen to work.
  expect(await done()).toEqual([])
  const see = (failure: string | null) =>
    db.tx((tx) => seeSupplier(tx, 'stock', { by: 'TEST', failure }, { beganAt: new Date(Date.now() + 60_000) }))
  await see('it has no codes: import some')
  expect(await done()).toEqual([])
  await see(null)
  expect(await done()).toEqual(['supplier'])
  await addPackage(db, 'JP', [{ supplier: 'stock', productCode: 'P' }])
  expect(await done()).toEqual(['supplier', 'catalogue'])

  const tenantId = await addTenant(testbed, 'First dealer')
  await addTenant(testbed, 'Second dealer')
  await addPerson(testbed, 'DEALER_ADMIN', tenantId)
  expect(await done()).toEqual(['supplier', 'catalogue'])
  const { dealer } = (await operator.call('GET', '/setup')).body
  expect(dealer).toMatchObject({ tenantId, clientName: 'First dealer', hasPeople: true, hasMoney: false })
  await operator.call('POST', `/tenants/${tenantId}/wallet/top-ups`, { amount: 1_000_000, reference: 'bank 1' })
  expect(await done()).toEqual(['supplier', 'catalogue', 'dealer'])

  await db.query({ text: `insert into operator_settings (contact_name) values ('Meridian')` })
  expect(await done()).not.toContain('brand')
  await db.query({ text: `update operator_settings set contact_email = 'care@m.example'` })
  expect(await done()).toEqual(['supplier', 'catalogue', 'brand', 'dealer'])

  await payOrders(db, tenantId, 'JP')
  expect(await done()).toEqual(['supplier', 'catalogue', 'brand', 'dealer'])
  await db.query({ text: `update orders set order_status = 'DELIVERED', due_at = null`, values: [] })
  await db.query({
    text: 'insert into webhook_endpoints (tenant_id, callback_url) values ($1, $2)',
    values: [tenantId, 'x'],
  })
  await db.query({
    text: `insert into passkeys (passkey_id, person_id, name, credential_id, public_key, sign_count, transports)
           values (gen_random_uuid(), $1, 'Laptop', 'id', 'key', 0, '{}')`,
    values: [operator.personId],
  })
  expect(await done()).toContain('secondFactor')
  await db.query({ text: 'delete from passkeys' })
  expect(await done()).not.toContain('secondFactor')
  await db.query({ text: `update people set totp_secret = 'x', totp_confirmed = true`, values: [] })
  expect(await done()).toEqual(
    ['secondFactor', 'supplier', 'catalogue', 'dealer', 'brand', 'testOrder', 'webhook'].sort(byPlace(await steps())),
  )
})

it('the go-live step counts as done while the latest checks found no fault, and the checks are audited', async () => {
  const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  const { status, body } = await operator.call('POST', '/setup/checks')
  expect(status).toBe(200)
  expect(body.findings.map((finding: { check: string }) => finding.check)).toEqual(
    expect.arrayContaining(['database', 'schema', 'deployment', 'suppliers']),
  )
  const faults = body.findings.filter((finding: { state: string }) => finding.state === 'FAULT').length
  expect((await operator.call('GET', '/setup')).body.steps.goLive).toBe(faults === 0)
  const log = await operator.call('GET', '/audit?action=deployment.check')
  expect(log.body.entries[0]).toMatchObject({ action: 'deployment.check', after: { faults } })
  const last = (count: number) =>
    testbed.db.query({
      text: `update audit_log set after = jsonb_build_object('faults', $1::int) where action = 'deployment.check'`,
      values: [count],
    })
  await last(0)
  expect((await operator.call('GET', '/setup')).body.steps.goLive).toBe(true)
  await last(1)
  expect((await operator.call('GET', '/setup')).body.steps.goLive).toBe(false)
})

/** Compares names by their position in an object. */
function byPlace(members: object): (a: string, b: string) => number {
  const names = Object.keys(members)
  return (a, b) => names.indexOf(a) - names.indexOf(b)
}
