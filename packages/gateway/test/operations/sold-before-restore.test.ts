import { makeIccid, orderNoOf } from '@dealer-esim/contract'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { prepareRecovery } from '#operations/recovery/prepare-recovery.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { approveAdjustment } from '#wallet/ledger/adjust.ts'
import { listAdjustments } from '#wallet/ledger/adjustment.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminFailure, adminJson, adminUsageError } from '../harness/processes/admin-in-process.ts'
import { addTenant, payOrders } from '../harness/shop.ts'

/* What an operator finds out to have been sold between a backup and its restore: it is not forgotten, freed or left unpaid. */

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

async function restore(): Promise<void> {
  await shop.db.query({
    text: `insert into restores (restore_id, backup_started_at, restored_at)
           values (gen_random_uuid(), now() - interval '2 hours', now() - interval '1 hour')`,
  })
}

const iccid = (serial: number) => makeIccid('8986', serial)

async function importBatch(supplier: string, name: string, ...serials: number[]): Promise<void> {
  const rows = serials.map((serial) => `${iccid(serial)},LPA:1$smdp.example.com$D${serial}`)
  const file = shop.file('codes.csv', `iccid,ac\n${rows.join('\n')}\n`)
  await adminJson('stock', 'import', file, '--supplier', supplier, '--product', 'P', '--name', name)
}

const ordersFile = (...rows: string[]) => shop.file('list.csv', `transactionId,orderNo,amount\n${rows.join('\n')}\n`)

test('a recovery is not ended as one without sales while the gateway knows what was sold', async () => {
  await adminJson('supplier', 'add', 'counter', '--type', 'stock')
  await importBatch('counter', 'all', 71, 72)
  await restore()
  await prepareRecovery(shop)
  const end = () => adminFailure('recovery', 'release', '--nothing-sold', 'only moved')
  const orderNo = orderNoOf(systemIds.uuid())
  await shop.db.query({
    text: `insert into unclaimed_esims (supplier, key, iccid) values ('sandbox', $1, '8984')`,
    values: [`${orderNo}-1`],
  })
  expect(await end()).toMatch(/sandbox has sold 8984.*Nothing was changed/s)
  await shop.db.query({ text: 'truncate unclaimed_esims' })
  await adminJson('recovery', 'list', tenantId, ordersFile('ALONE,,4.50'))
  expect(await end()).toMatch(/has the transactionId ALONE, which is not decided/)
  await adminJson('recovery', 'decide', tenantId, 'ALONE', '--sold', '--evidence', 'the supplier has it')
  expect(await end()).toMatch(/transactionId ALONE of .* was sold/)
  await adminJson('recovery', 'decide', tenantId, 'ALONE', '--not-sold', '--evidence', 'it was a mistake')
  const file = shop.file('sold.csv', `iccid\n${iccid(71)}\n`)
  await adminJson('recovery', 'stock', 'counter', '--sold', file, '--evidence', 'the dealer has it')
  expect(await end()).toMatch(/1 codes of counter were sold: 8986/)
  expect((await adminJson('recovery', 'show')).recovery).not.toBeNull()
})

test('codes are marked as sold file by file, and the others stay held until the list of a batch is complete', async () => {
  await adminJson('supplier', 'add', 'depot', '--type', 'stock')
  const say = (...options: string[]) => ['recovery', 'stock', 'depot', ...options, '--evidence', 'by Acme'] as const
  const sold = (...serials: number[]) => shop.file('sold.csv', `iccid\n${serials.map(iccid).join('\n')}\n`)
  const heldCodes = async () => {
    const { batches } = await adminJson('recovery', 'show')
    const ofDepot = batches.filter(({ supplier }: { supplier: string }) => supplier === 'depot')
    return Object.fromEntries(ofDepot.map((row: { batchName: string; held: number }) => [row.batchName, row.held]))
  }
  await importBatch('depot', 'first', 81, 82, 85)
  await importBatch('depot', 'second', 83, 84)
  await importBatch('depot', 'third', 87)
  await shop.db.query({
    text: `update stock_codes set state = 'RESERVED', key = 'ORDER-1' where iccid = $1`,
    values: [iccid(85)],
  })
  await restore()
  expect(await adminFailure(...say('first', '--rest-unsold'))).toMatch(/a worker holds them first/)
  await prepareRecovery(shop)
  expect(await adminJson(...say('--sold', sold(81, 83, 85)))).toMatchObject({
    ...{ sold: 2, onSale: 0, alreadySold: [], ordered: [`${iccid(85)} (ORDER-1)`] },
  })
  expect(await heldCodes()).toEqual({ first: 1, second: 1, third: 1 })
  expect(await adminJson(...say('--sold', sold(81)))).toMatchObject({ sold: 0, alreadySold: [iccid(81)] })
  expect(await adminFailure(...say('second', '--sold', sold(82)))).toMatch(/are not in this batch.*name no batch/)
  expect(await adminUsageError(...say('--rest-unsold'))).toMatch(/Name the batch/)
  expect((await adminJson('recovery', 'show')).doubts.join()).toMatch(/1 codes of batch first of depot are held/)
  expect(await adminJson(...say('second', '--rest-unsold'))).toMatchObject({ sold: 0, onSale: 1, noneSold: false })
  expect((await admin(...say('third', '--rest-unsold'))).stdout).toMatch(
    /1 code for sale again\.\nNo code of the batch is marked as sold\./,
  )
  const available = () =>
    shop.db.query({ text: `select available, expired from stock_batches where batch_name = 'second'` })
  expect(await available()).toEqual([{ available: 1n, expired: 0n }])
  // A dealer answers late.
  expect(await adminJson(...say('--sold', sold(84)))).toMatchObject({ sold: 1 })
  expect(await available()).toEqual([{ available: 0n, expired: 0n }])
  expect(await heldCodes()).toEqual({ first: 1 })
  await importBatch('depot', 'second', 86)
  expect(await adminFailure('stock', 'withdraw', 'depot', 'second')).toMatch(/Several batches of depot have the name/)
  expect(await adminFailure('stock', 'alert', 'depot', 'fourth', '3')).toBe('There is no batch fourth.')
})

test('an order that another dealer has, or claims, is not claimed again', async () => {
  const other = await addTenant(shop.db)
  const [ownId] = await payOrders(shop.db, other, 'OTHERS')
  await restore()
  const orderNo = orderNoOf(systemIds.uuid())
  const match = (dealer: string, row: string) => ['recovery', 'list', dealer, ordersFile(row)] as const
  await adminJson(...match(tenantId, `T-1,${orderNo},4.50`))
  expect(await adminFailure(...match(other, `T-2,${orderNo},4.50`))).toMatch(
    /^row 2: .* is already claimed by .* \(T-1\)\. .*--not-sold\nNothing was kept/,
  )
  expect(await adminFailure(...match(tenantId, `T-3,${orderNoOf(ownId!)},4.50`))).toMatch(/is an order of .* \(T-/)
  expect(await shop.db.query({ text: 'select transaction_id, state from restored_transactions' })).toEqual([
    { transactionId: 'T-1', state: 'IN_DOUBT' },
  ])
  await adminJson('recovery', 'decide', tenantId, 'T-1', '--not-sold', '--evidence', 'the list of another dealer')
  expect((await adminJson(...match(other, `T-2,${orderNo},4.50`))).matches).toMatchObject([{ match: 'DEALER_ALONE' }])
})

test('an order that was sold is to be debited until an adjustment with its reference and amount is approved', async () => {
  const dealer = await addTenant(shop.db)
  await restore()
  await prepareRecovery(shop)
  const file = ordersFile('OWED,,4.50', 'KEPT,,1')
  await adminJson('recovery', 'list', dealer, file)
  await adminJson('recovery', 'decide', dealer, 'OWED', '--sold', '--evidence', 'the supplier has it')
  const show = () => adminJson('recovery', 'show')
  const [debit] = (await show()).debits
  expect(debit).toMatchObject({ transactionId: 'OWED', amount: 45_000, state: 'NOT_DEBITED' })
  const command = `wallet adjust ${dealer} -4.50 --reference restored-OWED --reason "sold before the restore: OWED"`
  expect((await admin('recovery', 'show')).stdout).toContain(
    `owes 4.50 USD\nPropose each; another person approves it:\n${command}`,
  )
  expect(await adminFailure('recovery', 'release', dealer)).toMatch(
    /are not decided, and stay refused: KEPT.*not debited, in all 4\.50 USD: OWED/s,
  )
  await adminJson('wallet', 'adjust', dealer, '-4.50', '--reference', debit.reference, '--reason', 'sold')
  expect((await show()).debits).toMatchObject([{ state: 'PROPOSED' }])
  const [proposal] = await listAdjustments(shop.db, { tenantId: dealer })
  await approveAdjustment(shop, dealer, proposal!.adjustmentId, { ...SYSTEM, actor: 'cli:another' })
  expect((await show()).debits).toMatchObject([{ state: 'DEBITED' }])
  expect((await show()).doubts.join()).not.toMatch(/not debited/)
  expect(await adminFailure('recovery', 'list', systemIds.uuid(), file)).toMatch(
    /created after the backup, create it again/,
  )
  expect(await adminFailure('recovery', 'release', '--all')).toMatch(/no list can be matched any more/)
  expect(await adminFailure('recovery', 'credits', '--evidence', 'no')).toMatch(/“no” is too short/)
})
