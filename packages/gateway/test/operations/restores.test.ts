import { makeIccid } from '@dealer-esim/contract'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { prepareRecovery } from '#operations/recovery/recovery-loop.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { adminFailure, adminJson } from '../harness/processes/admin-in-process.ts'
import { addTenant } from '../harness/shop.ts'

/* Decisions of a recovery that depend on when something happened: before the backup, between two restores, or since. */

let shop: AdminTestbed
let tenantId: string

beforeAll(async () => {
  shop = await createAdminTestbed()
  tenantId = await addTenant(shop.db)
})
afterEach(async () => {
  await shop.db.query({ text: 'truncate restores, recovered_tenants, restored_transactions, restored_lists' })
})
afterAll(() => shop.close())

async function restore(ago: string): Promise<string> {
  const [row] = await shop.db.query<{ restoreId: string }>({
    text: `insert into restores (restore_id, backup_started_at, restored_at, paused_suppliers)
           values (gen_random_uuid(), now() - $1::interval - interval '1 hour', now() - $1::interval, '{}')
           returning restore_id`,
    values: [ago],
  })
  return row!.restoreId
}

async function importCode(supplier: string, serial: number): Promise<void> {
  const file = shop.file('codes.csv', `iccid,ac\n${makeIccid('8986', serial)},LPA:1$smdp.example.com$C${serial}\n`)
  await adminJson('stock', 'import', file, '--supplier', supplier, '--product', 'P')
}

const codeStates = (supplier: string) =>
  shop.db.query({
    text: 'select state, held_at is not null as held from stock_codes where supplier = $1 order by iccid',
    values: [supplier],
  })

test('a recovery without sales releases its own codes, and leaves those of an earlier one held', async () => {
  await adminJson('supplier', 'add', 'shelf', '--type', 'stock')
  await importCode('shelf', 1)
  const first = await restore('2 days')
  await prepareRecovery(shop)
  await shop.db.query({ text: `update stock_codes set held_at = held_at - interval '1 day'` })
  await importCode('shelf', 2)
  const second = await restore('1 second')
  const end = ['recovery', 'release', '--nothing-sold', 'only moved'] as const
  expect(await adminFailure(...end)).toMatch(/from 2 restores have not ended/)
  await shop.db.query({ text: 'update restores set recovering = false where restore_id = $1', values: [first] })
  await prepareRecovery(shop)
  await shop.db.query({
    text: 'insert into recovered_tenants (tenant_id, restore_id) values ($1, $2)',
    values: [tenantId, second],
  })
  expect(await adminFailure(...end)).toMatch(/Dealers were released already/)
  await shop.db.query({ text: 'delete from recovered_tenants' })
  await adminJson(...end)
  expect(await codeStates('shelf')).toEqual([
    { state: 'EXPIRED', held: true },
    { state: 'FREE', held: false },
  ])
})
