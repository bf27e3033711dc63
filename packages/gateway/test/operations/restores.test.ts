import { makeIccid, orderNoOf } from '@dealer-esim/contract'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startInRecovery } from '#operations/recovery/begin-recovery.ts'
import { prepareRecovery } from '#operations/recovery/prepare-recovery.ts'
import { keepRepeated } from '#orders/placing/restored-orders.ts'
import { storedTransactionId } from '#orders/transaction-id.ts'
import { readConfig } from '#platform/config/config.ts'
import { nameWithKeys } from '#platform/deployment/peers.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'
import { adminFailure, adminJson } from '../harness/processes/admin-in-process.ts'
import { addPackage, addTenant, payOrders, TEST_KEY } from '../harness/shop.ts'

/* Decisions of a recovery that depend on when something happened: before the backup, between two restores, or since. */

let shop: AdminTestbed
let tenantId: string

beforeAll(async () => {
  shop = await createAdminTestbed()
  tenantId = await addTenant(shop.db)
  await adminJson('recovery', 'show') // the first command records the deployment
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

async function list(...rows: string[]): Promise<{ match: string }[]> {
  const file = shop.file('list.csv', `transactionId,orderNo,amount\n${rows.join('\n')}\n`)
  return (await adminJson('recovery', 'list', tenantId, file)).matches
}

const repeat = (transactionId: string) =>
  shop.db.tx(async (tx) => keepRepeated(tx, [{ tenant: { tenantId }, request: { transactionId } }]))

const states = async () => {
  const rows = await shop.db.query<{ transactionId: string; state: string }>({
    text: 'select transaction_id, state from restored_transactions order by transaction_id',
  })
  return Object.fromEntries(rows.map(({ transactionId, state }) => [transactionId, state]))
}

test('what a supplier or a dealer proves later replaces the decision that nothing was sold', async () => {
  await restore('1 hour')
  const orderNo = orderNoOf(systemIds.uuid())
  await shop.db.query({
    text: `insert into unclaimed_esims (supplier, key, iccid) values ('sandbox', $1, '8985')`,
    values: [`${orderNo}-1`],
  })
  for (const transactionId of ['CLAIMED', 'PROVEN', 'UNLISTED']) await repeat(transactionId)
  await adminJson('recovery', 'decide', tenantId, '--not-sold', 'CLAIMED', 'PROVEN', 'UNLISTED', '--evidence', 'guess')
  const matches = await list(`PROVEN,${orderNo},1`, `CLAIMED,${orderNoOf(systemIds.uuid())},1`)
  expect(matches).toMatchObject([{ match: 'SUPPLIER_HAS_IT' }, { match: 'DEALER_ALONE' }])
  expect(await states()).toEqual({ CLAIMED: 'IN_DOUBT', PROVEN: 'SOLD', UNLISTED: 'NOT_SOLD' })
  const { transactions } = await adminJson('recovery', 'show')
  expect(transactions.map(({ proof }: { proof: string | null }) => proof)).toEqual([
    null,
    'sandbox has sold 8985',
    'guess',
  ])
})

test('a transactionId that was not sold before one restore is in doubt again when it is repeated after the next', async () => {
  await restore('1 hour')
  for (const transactionId of ['AGAIN', 'GONE', 'ONCE']) await repeat(transactionId)
  await adminJson('recovery', 'decide', tenantId, '--not-sold', 'AGAIN', 'ONCE', '--evidence', 'no supplier has it')
  await adminJson('recovery', 'decide', tenantId, '--sold', 'GONE', '--evidence', 'the dealer has it')
  await repeat('AGAIN')
  expect(await states()).toEqual({ AGAIN: 'NOT_SOLD', GONE: 'SOLD', ONCE: 'NOT_SOLD' })
  await restore('0 seconds')
  for (const transactionId of ['AGAIN', 'GONE']) await repeat(transactionId)
  expect(await states()).toEqual({ AGAIN: 'IN_DOUBT', GONE: 'SOLD', ONCE: 'NOT_SOLD' })
})

test('after two restores, the report has what suppliers listed after the first, and wants a dealer’s list of both', async () => {
  await restore('2 hours')
  await list('ALONE,7YYYYYYYYYYYYYYYYYYYYYYYYY,1')
  await shop.db.query({
    text: `insert into unclaimed_esims (supplier, key, iccid, found_at)
           values ('sandbox', 'OLD', '8981', now() - interval '3 hours'), ('sandbox', 'BETWEEN', '8982', now() - interval '1 hour')`,
  })
  await restore('0 seconds')
  const report = async () => {
    const { theirs, dealers } = await adminJson('recovery', 'show')
    return [theirs.map(({ key }: { key: string }) => key), dealers.map(({ listed }: { listed: boolean }) => listed)]
  }
  expect(await report()).toEqual([expect.arrayContaining(['BETWEEN']), [false]])
  expect(await report()).not.toEqual([expect.arrayContaining(['OLD']), [false]])
  await list('ALONE,7YYYYYYYYYYYYYYYYYYYYYYYYY,1')
  expect(await report()).toEqual([expect.arrayContaining(['BETWEEN']), [true]])
})

const dueOrders = async () => {
  const rows = await shop.db.query<{ orderId: string }>({
    text: 'select order_id from orders where due_at is not null order by order_id',
  })
  return rows.map(({ orderId }) => orderId)
}

test('a recovery that ends while a worker prepares it holds nothing afterwards', async () => {
  await adminJson('supplier', 'add', 'rack', '--type', 'stock')
  await importCode('rack', 3)
  await addPackage(shop.db, 'RACKED', [{ supplier: 'rack', productCode: 'P' }])
  const [orderId] = await payOrders(shop.db, tenantId, 'RACKED')
  await restore('0 seconds')
  const { preparing } = await shop.db.tx(async (tx) => {
    await tx.query({ text: 'update restores set recovering = false returning 1' })
    const started = prepareRecovery(shop)
    await waitForBlockedStatements(shop.db)
    return { preparing: started }
  })
  await preparing
  expect(await codeStates('rack')).toEqual([{ state: 'FREE', held: false }])
  expect(await dueOrders()).toEqual([orderId])
})

test('only orders of the time before the restore are put under review', async () => {
  const [, newer] = await payOrders(shop.db, tenantId, 'RACKED', { orders: 2 })
  await shop.db.query({
    text: `update orders set created_at = created_at - interval '2 hours' where order_id <> $1`,
    values: [newer],
  })
  await restore('1 hour')
  await prepareRecovery(shop)
  expect(await dueOrders()).toEqual([newer])
})

test('a release names entries of a compared list that could not be read', async () => {
  await restore('1 hour')
  await prepareRecovery(shop)
  await shop.db.query({
    text: `insert into supplier_list_checks (supplier, checked_at, unreadable, unreadable_entries, complete_at)
           values ('sandbox', now(), 3, '[]', clock_timestamp()) on conflict (supplier) do update
           set unreadable = excluded.unreadable, complete_at = excluded.complete_at`,
  })
  const { suppliers, doubts } = await adminJson('recovery', 'show')
  expect(suppliers).toContainEqual({
    supplier: 'sandbox',
    type: 'sandbox',
    state: 'COMPARED',
    unreadable: 3,
    evidence: null,
  })
  expect(doubts.join('\n')).toMatch(/3 entries of the list of sandbox could not be read/)
})

test('a recovery that an operator begins ends sessions, access tokens and personal links, as a restore does', async () => {
  const personId = systemIds.uuid()
  await shop.db.query({
    text: `insert into people (person_id, email, name, role) values ($1, 'ops@operator.test', 'Ops', 'OPERATOR_ADMIN')`,
    values: [personId],
  })
  for (const text of [
    `insert into sessions (session_id, person_id, token_hash, signed_in_by, expires_at)
     values (gen_random_uuid(), $1, '\\x01', 'PASSWORD', now() + interval '1 hour')`,
    `insert into access_tokens (token_id, person_id, name, scope, token_hash, hint)
     values (gen_random_uuid(), $1, 'script', 'READ', '\\x01', '1')`,
    `insert into person_links (token_hash, person_id, kind, expires_at, created_by)
     values ('\\x01', $1, 'INVITATION', now() + interval '1 hour', 'test')`,
  ]) {
    await shop.db.query({ text, values: [personId] })
  }
  await adminJson('recovery', 'start', '--since', '2026-11-01T00:00:00Z')
  const left = await shop.db.query({
    text: 'select 1 from sessions union all select 1 from access_tokens union all select 1 from person_links',
  })
  expect(left).toEqual([])
})

test('a recovery that an operator begins is recorded in each ledger with its number of entries', async () => {
  const tenantId = await addTenant(shop.db)
  await adminJson('recovery', 'start', '--since', '2026-11-01T00:00:00Z')
  const recorded = await shop.db.query({
    text: `select l.tree_size, l.note from ledger_restores l join restores using (restore_id) where l.tenant_id = $1`,
    values: [tenantId],
  })
  expect(recorded).toEqual([{ treeSize: 1n, note: null }])
})

test('a release says that credits since the backup are not known', async () => {
  await restore('1 hour')
  const { doubts } = await adminJson('recovery', 'show')
  expect(doubts.join('\n')).toMatch(/Credits and adjustments since \S+Z are not known: compare them with the bank/)
})

test('a dealer’s list is matched with transactionIds of any form, orders without a number, and other numbers of known orders', async () => {
  const [orderId] = await payOrders(shop.db, tenantId, 'LISTED')
  await restore('0 seconds')
  const known = orderNoOf(orderId!)
  const odd = storedTransactionId('order 1/ü')
  const matches = await list('order 1/ü,,1', `T-${orderId},,1`, `OTHER,${known},1`)
  expect(matches).toMatchObject([{ match: 'DEALER_ALONE' }, { match: 'OURS' }, { match: 'CONTRADICTION' }])
  expect(await states()).toEqual({ OTHER: 'IN_DOUBT', [odd]: 'IN_DOUBT' })
  await adminJson('recovery', 'decide', tenantId, '--sold', 'order 1/ü', '--evidence', 'the dealer has it')
  expect(await states()).toEqual({ OTHER: 'IN_DOUBT', [odd]: 'SOLD' })
  await adminJson('recovery', 'decide', tenantId, '--not-sold', odd, '--evidence', 'it does not')
  expect(await states()).toEqual({ OTHER: 'IN_DOUBT', [odd]: 'NOT_SOLD' })
  const file = shop.file('list.csv', `transactionId,orderNo,amount\n,${known},1\n`)
  expect(await adminFailure('recovery', 'list', tenantId, file)).toMatch(/row 2: The transactionId is missing/)
})

const settings = () => readConfig(process.env, ['--recovery', '2026-11-29T14:05:00.250Z'])
const start = () => startInRecovery(settings(), process.env.DATABASE_URL!, silentLog)
const recoveries = () => shop.db.query({ text: 'select recovering from restores order by restored_at' })

test('nodes that start with --recovery begin one recovery, and none again once it has ended', async () => {
  await Promise.all([start(), start(), start()])
  expect(await recoveries()).toEqual([{ recovering: true }])
  await adminJson('recovery', 'start', '--since', '2026-11-29T14:05:00.250Z')
  await shop.db.query({ text: 'update restores set recovering = false' })
  await start()
  expect(await recoveries()).toEqual([{ recovering: false }])
  const again = await adminJson('recovery', 'start', '--since', '2026-11-29T14:05:00.250Z')
  expect(again).toMatchObject({ begun: true })
  expect(await recoveries()).toEqual([{ recovering: false }, { recovering: true }])
})

test('a database that was restored to the same time again has lost the record, so --recovery begins again', async () => {
  await start()
  await shop.db.query({ text: 'delete from restores' }) // as the restore does, because the row is younger
  await start()
  expect(await recoveries()).toEqual([{ recovering: true }])
})

test('--recovery is refused while a gateway without it runs, in the future, and on a database that no gateway has used', async () => {
  const name = nameWithKeys('gateway', createCipher([TEST_KEY]))
  const gateway = createDb({ url: process.env.DATABASE_URL!, poolSize: 1, applicationName: name })
  await gateway.query({ text: 'select' })
  await expect(start()).rejects.toThrow(
    /--recovery: Gateways use this database: they have 1 connections to it. Stop them first/,
  )
  await gateway.close()
  const later = { ...settings(), recoverySince: new Date(Date.now() + 3_600_000) }
  await expect(startInRecovery(later, process.env.DATABASE_URL!, silentLog)).rejects.toThrow(/is in the future/)
  await shop.db.query({ text: 'create table kept as table deployment' })
  await shop.db.query({ text: 'delete from deployment' })
  await expect(start()).rejects.toThrow(/No gateway has used this database/)
  await shop.db.query({ text: 'insert into deployment table kept' })
  expect(await recoveries()).toEqual([])
})
