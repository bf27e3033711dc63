import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AdminTestbed, createAdminTestbed } from '#test/harness/admin-testbed.ts'
import { admin, adminFailure, adminJson, adminUsageError } from '#test/harness/processes/admin-in-process.ts'
import { addSupplier } from '#test/harness/shop.ts'

let shop: AdminTestbed
let simulator: Simulator

beforeAll(async () => {
  shop = await createAdminTestbed()
  simulator = await createSimulator('zendit', { catalogueSize: 3 })
  await addSupplier(shop, 'whole', 'zendit', { url: simulator.url, ...simulator.credentials })
  await addSupplier(shop, 'codes', 'stock')
})
afterAll(async () => {
  await simulator.close()
  await shop.close()
})

it('supplier balance reads a balance, lists balances, and sets the alert level', async () => {
  simulator.setBalance(2_500_000)
  expect(await adminJson('supplier', 'balance', 'whole')).toMatchObject({ supplier: 'whole', amount: 2_500_000 })
  expect(await adminJson('supplier', 'balance', 'whole', '--alert-below', '300')).toEqual({
    name: 'whole',
    alertBelow: 3_000_000,
  })
  const { balanceList } = await adminJson('supplier', 'balance')
  expect(balanceList).toMatchObject([{ supplier: 'whole', amount: 2_500_000, alertBelow: 3_000_000 }])
  expect(await admin('supplier', 'balance')).toMatchObject({
    stdout: expect.stringMatching(/whole +250\.00 USD .*300\.00/),
  })
  expect(await adminJson('supplier', 'balance', 'whole', '--alert-below', 'none')).toMatchObject({ alertBelow: null })
  expect(await shop.audited('supplier.alert_below')).toMatchObject([
    { subject: 'whole', after: { alertBelow: 3_000_000 } },
    { subject: 'whole', after: { alertBelow: null } },
  ])
})

it('supplier balance lists the days with unexplained changes, and exits with status 1', async () => {
  simulator.setBalance(2_500_000)
  const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
  await shop.db.query({
    text: `insert into supplier_balance_days (supplier, day, currency_code, fell, rose, bought_min, bought_max, unexplained)
           values ('whole', $1, 'USD', 45000, 0, 20000, 20000, 25000)`,
    values: [day],
  })
  expect(await admin('supplier', 'balance', 'whole')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`${day}: 2.50 USD more is unexplained by the purchases of this gateway`),
  })
  expect((await admin('supplier', 'balance', 'whole', '--json')).stdout).toContain('"unexplained": 25000')
  await shop.db.query({ text: 'delete from supplier_balance_days' })
  expect(await admin('supplier', 'balance', 'whole')).toMatchObject({ code: 0 })
})

it('supplier balance reports why it cannot read a balance', async () => {
  simulator.addFault({ kind: 'server-error-before', operation: 'balance' })
  expect(await adminFailure('supplier', 'balance', 'whole')).toMatch(/500|503/)
  simulator.clearFaults()
  expect(await adminFailure('supplier', 'balance', 'codes')).toBe(
    'codes has no balance to read: suppliers of type stock do not report one.',
  )
  expect(await adminUsageError('supplier', 'balance', '--alert-below', '5')).toContain('Specify the supplier')
})
