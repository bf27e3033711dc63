import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeIccid } from '@dealer-esim/contract'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAILS } from '#alerts/mail/send-mail.ts'
import { keepRepeated } from '#orders/placing/restored-orders.ts'
import { claimJobs } from '#platform/jobs.ts'
import { lockWallet } from '#wallet/ledger/lock-wallets.ts'
import { findDue } from '#wallet/statement/issue-loop.ts'
import { createEmptyDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'
import { adminJsonWith, adminWith } from '../harness/processes/admin-in-process.ts'
import {
  type GatewayProcess,
  SHARED_MASTER_KEY,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '../harness/processes/gateway-process.ts'
import { addPackage, waitUntil } from '../harness/shop.ts'

/* A gateway that is backed up, sells on, is lost, and is restored. The tests follow each other. */

interface Report {
  recovery: { preparedAt: string | null } | null
  suppliers: { supplier: string; state: string }[]
  openOrders: { orderNo: string }[]
  theirs: { supplier: string; key: string; iccid: string }[]
  transactions: { transactionId: string; state: string; orderNo: string | null }[]
  batches: { batchId: string; held: number }[]
  dealers: { tenantId: string; released: boolean; listed: boolean }[]
  doubts: string[]
}

const CODES = ['A', 'B', 'C', 'D'].map((name, index) => ({ name, iccid: makeIccid('8986', index + 1) }))
let lost: TestDatabase
let found: TestDatabase
let db: Database
let dataDir: string
let folder: string
let env: Record<string, string>
let gateway: GatewayProcess
let dealer: { appKey: string; appSecret: string }
let esim: DealerEsim
let tenantId: string
let soldLater: { orderNo: string; transactionId: string; amount: number }
let openOrderNo: string

const line = (packageCode: string, count = 1) => [{ packageCode, count }]
const envOf = (url: string) => ({
  ...{ DATABASE_URL: url, DATABASE_SCHEMA: DEFAULT_SCHEMA, MASTER_KEY: SHARED_MASTER_KEY },
  ...{ DATA_DIR: dataDir, METRICS_PORT: '0' },
})
const show = () => adminJsonWith<Report>(['recovery', 'show'], env)
const failure = async (...args: string[]) => {
  const { code, stderr } = await adminWith(args, env)
  expect(code).toBe(1)
  return stderr.trim()
}
const delivered = (transactionId: string) =>
  waitUntil(async () => (await esim.query({ transactionId })).orderStatus === 'DELIVERED')
const codeOf = (transactionId: string) => esim.query({ transactionId }).then((order) => order.profileList[0]!.iccid)

beforeAll(async () => {
  lost = await createEmptyDatabase()
  found = await createEmptyDatabase()
  dataDir = temporaryFolder('recovery')
  folder = temporaryFolder('recovery-files')
  env = envOf(lost.url)
  gateway = await startGateway({ databaseUrl: lost.url, dataDir })
  dealer = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  esim = new DealerEsim({ ...dealer, baseUrl: gateway.baseUrl })
  tenantId = (await esim.health()).tenantId
  const old = createDb({ url: lost.url, poolSize: 1, applicationName: 'test' })
  await adminJsonWith(['supplier', 'add', 'warehouse', '--type', 'stock'], env)
  const file = join(folder, 'codes.csv')
  writeFileSync(
    file,
    `iccid,ac\n${CODES.map(({ name, iccid }) => `${iccid},LPA:1$smdp.example.com$${name}`).join('\n')}\n`,
  )
  await adminJsonWith(['stock', 'import', file, '--supplier', 'warehouse', '--product', 'P'], env)
  await addPackage(old, 'STOCKED', [{ supplier: 'warehouse', productCode: 'P' }])
  const price = { text: `insert into list_prices values ($1, $2, 10000, null, false, now(), now())` }
  await old.query({ ...price, values: ['STOCKED', 'USD'] })
  await adminJsonWith(['supplier', 'add', 'later', '--type', 'stock'], env)
  await addPackage(old, 'WAITS', [{ supplier: 'later', productCode: 'P' }])
  await old.query({ ...price, values: ['WAITS', 'USD'] })
  await old.query({ text: 'update catalogue_version set version = version + 1, changed_at = clock_timestamp()' })
  await adminJsonWith(['supplier', 'pause', 'later'], env)
  await waitUntil(async () => (await esim.packages({ packageCode: 'WAITS' })).packageList.length === 1)
  await esim.order({ transactionId: 'BEFORE', packageInfoList: line('JP_1_7') })
  await esim.order({ transactionId: 'STOCK-BEFORE', packageInfoList: line('STOCKED') })
  for (const transactionId of ['BEFORE', 'STOCK-BEFORE']) await delivered(transactionId)
  const open = await esim.order({ transactionId: 'OPEN', packageInfoList: line('WAITS') })
  openOrderNo = open.orderNo
  const { file: backup } = await adminJsonWith<{ file: string }>(['backup', folder], env)

  soldLater = await esim.order({ transactionId: 'LATER', packageInfoList: line('JP_1_7') })
  await esim.order({ transactionId: 'STOCK-LATER', packageInfoList: line('STOCKED') })
  for (const transactionId of ['LATER', 'STOCK-LATER']) await delivered(transactionId)
  await gateway.kill('SIGKILL')
  env = envOf(found.url)
  await adminJsonWith(['restore', backup], env)
  db = createDb({ url: found.url, poolSize: 2, applicationName: 'test' })
  // The sandbox keeps its records in our database; a wholesaler would not have forgotten them.
  await db.query({ text: 'delete from sandbox_issued' })
  const issued = await old.query<{ row: string }>({ text: 'select to_jsonb(s)::text as row from sandbox_issued s' })
  for (const { row } of issued) {
    await db.query({
      text: 'insert into sandbox_issued select * from jsonb_populate_record(null::sandbox_issued, $1::jsonb)',
      values: [row],
    })
  }
  await old.close()
}, 120_000)
afterAll(async () => {
  await stopGateways()
  await db?.close()
  await lost.drop()
  await found.drop()
})

test('a restore ends sessions, and releases nobody before a worker has held what may be sold', async () => {
  expect((await show()).recovery).toMatchObject({ preparedAt: null })
  expect(await failure('recovery', 'release', '--all', '--accept-doubt', 'no matter')).toMatch(/are not held yet/)
})

test('a restored gateway answers dealers 000002, and remembers the transactionIds of their orders', async () => {
  gateway = await startGateway({ databaseUrl: found.url, dataDir })
  esim = new DealerEsim({ ...dealer, baseUrl: gateway.baseUrl, retries: 0 })
  await expect(esim.health()).rejects.toMatchObject({ code: '000002' })
  // No backup has the test twins.
  const twin = new DealerEsim({ ...dealer, appKey: `ak_main_test_${'A'.repeat(24)}`, baseUrl: gateway.baseUrl })
  await expect(twin.health()).rejects.toMatchObject({
    code: '101004',
    message: expect.stringMatching(/restored from a backup, create a new one in the portal/),
  })
  for (const transactionId of ['BEFORE', 'LATER', 'NEW']) {
    await expect(esim.order({ transactionId, packageInfoList: line('JP_1_7') })).rejects.toMatchObject({
      code: '000002',
    })
  }
  const { transactions } = await show()
  expect(transactions).toMatchObject([
    { transactionId: 'LATER', state: 'IN_DOUBT' },
    { transactionId: 'NEW', state: 'IN_DOUBT' },
  ])
})

test('no statement is issued and no e-mail is sent for a dealer in recovery', async () => {
  await db.query({ text: `update tenants set created_at = created_at - interval '40 days'` })
  await db.query({
    text: `insert into mails (tenant_id, mail_id, recipient, kind, content, due_at)
           values ($1, gen_random_uuid(), 'dealer@example.com', 'ALERT', '\\x00', now())`,
    values: [tenantId],
  })
  expect(await findDue(db, undefined)).toEqual([])
  expect(await claimJobs(db, MAILS, 10)).toEqual([])
  await db.query({ text: 'delete from mails' })
})

test('suppliers are asked, codes and open orders are held, and everything is named', async () => {
  await waitUntil(async () => (await show()).suppliers.some(({ state }) => state === 'COMPARED'))
  const report = await show()
  expect(report.suppliers).toEqual(
    expect.arrayContaining([
      { supplier: 'sandbox', type: 'sandbox', state: 'COMPARED', unreadable: 0, evidence: null },
      { supplier: 'warehouse', type: 'stock', state: 'STOCK', unreadable: 0, evidence: null },
    ]),
  )
  expect(report.theirs).toMatchObject([{ supplier: 'sandbox', key: `${soldLater.orderNo}-1` }])
  expect(report.openOrders).toMatchObject([{ orderNo: openOrderNo }])
  expect(report.batches).toMatchObject([{ held: 3 }])
  expect(report.doubts.join()).toMatch(/belong to no order.*have sent no list/)
  expect(await failure('recovery', 'release', '--all')).toMatch(/Nothing was released\. Settle this, or accept it/)
  expect(await db.query({ text: `select order_status from orders where transaction_id = 'OPEN'` })).toEqual([
    { orderStatus: 'UNDER_REVIEW' },
  ])
})

test('a dealer’s list is matched: a supplier proves a sale, the dealer alone does not', async () => {
  const list = join(folder, 'list.csv')
  const orders = [
    ['LATER', soldLater.orderNo, '1.00'],
    ['OPEN', openOrderNo, '1.00'],
    ['ALONE', '7YYYYYYYYYYYYYYYYYYYYYYYYY', '3.00'],
  ]
  const write = (rows: string[][]) =>
    writeFileSync(list, `transactionId,orderNo,amount\n${rows.map((row) => row.join(',')).join('\n')}\n`)
  write([['', soldLater.orderNo, '1']])
  expect(await failure('recovery', 'list', tenantId, list)).toBe('row 2: The transactionId is missing.')
  write(orders)
  const { matches } = await adminJsonWith<{ matches: object[] }>(['recovery', 'list', tenantId, list], env)
  expect(matches).toMatchObject([{ match: 'SUPPLIER_HAS_IT' }, { match: 'OURS' }, { match: 'DEALER_ALONE' }])
  expect((await show()).transactions).toMatchObject([
    { transactionId: 'ALONE', state: 'IN_DOUBT' },
    { transactionId: 'LATER', state: 'SOLD' },
    { transactionId: 'NEW', state: 'IN_DOUBT' },
  ])
})

test('a released dealer buys nothing twice, and only what was decided', async () => {
  await adminJsonWith(['recovery', 'release', tenantId, '--accept-doubt', 'the operator debits them'], env)
  const order = (transactionId: string) => esim.order({ transactionId, packageInfoList: line('JP_1_7') })
  expect(await order('BEFORE')).toMatchObject({ replayed: true })
  await expect(order('LATER')).rejects.toMatchObject({ code: '200012' })
  await expect(order('NEW')).rejects.toMatchObject({ code: '000002' })
  await expect(order('ALONE')).rejects.toMatchObject({ code: '000002' })
  const decide = ['recovery', 'decide', tenantId, '--not-sold', '--evidence', 'no supplier has it']
  expect(await failure(...decide, 'NEW', 'UNSEEN')).toBe('There is no transactionId UNSEEN.')
  await expect(order('NEW')).rejects.toMatchObject({ code: '000002' })
  await adminJsonWith([...decide, 'ALONE', 'NEW'], env)
  await order('NEW')
  await delivered('NEW')
  await order('AFTER')
  expect(await findDue(db, undefined)).not.toEqual([])
  await delivered('AFTER')
})

test('a decision waits for an order that is being refused, and both succeed', async () => {
  const decide = ['recovery', 'decide', tenantId, 'ALONE', '--sold', '--evidence', 'the dealer said so']
  const decided = await db.tx(async (tx) => {
    await lockWallet(tx, tenantId)
    const deciding = adminWith(decide, env)
    await waitForBlockedStatements(db)
    keepRepeated(tx, [{ tenant: { tenantId }, request: { transactionId: 'ALONE' } }])
    return { deciding }
  })
  expect(await decided.deciding).toMatchObject({ code: 0 })
  const order = esim.order({ transactionId: 'ALONE', packageInfoList: line('JP_1_7') })
  await expect(order).rejects.toMatchObject({ code: '200012' })
})

test('no held code is sold, and a code that was sold is never sold again', async () => {
  const [batch] = (await show()).batches
  const release = (...options: string[]) => [
    'recovery',
    'stock',
    'warehouse',
    batch!.batchId,
    ...options,
    '--evidence',
    'counted',
  ]
  await expect(esim.order({ transactionId: 'NONE', packageInfoList: line('STOCKED') })).rejects.toMatchObject({
    code: '200011',
  })
  const old = createDb({ url: lost.url, poolSize: 1, applicationName: 'test' })
  const [gone] = await old.query<{ iccid: string }>({
    text: `select iccid from stock_codes where key is not null and state = 'RESERVED' order by reserved_at desc limit 1`,
  })
  await old.close()
  const file = join(folder, 'sold.csv')
  writeFileSync(file, `iccid\n${makeIccid('8999', 1)}\n`)
  expect(await failure(...release('--sold', file))).toMatch(/are not in this batch/)
  writeFileSync(file, `iccid\n${gone!.iccid}\n`)
  expect(await adminJsonWith(release('--sold', file, '--rest-unsold'), env)).toMatchObject({ sold: 1, onSale: 2 })
  const before = await codeOf('STOCK-BEFORE')
  const iccids = new Set([before, gone!.iccid])
  for (const transactionId of ['S-1', 'S-2']) {
    await waitUntil(() =>
      esim.order({ transactionId, packageInfoList: line('STOCKED') }).then(
        () => true,
        () => false,
      ),
    )
    await delivered(transactionId)
    iccids.add(await codeOf(transactionId))
  }
  expect(iccids.size).toBe(4)
  expect(await failure(...release('--all-sold'))).toMatch(/No code of batch .* is held/)
})

test('an open order is settled with what was delivered, once', async () => {
  const file = join(folder, 'delivered.csv')
  writeFileSync(file, `iccid,ac\n${makeIccid('8987', 1)},LPA:1$smdp.example.com$OPEN\n`)
  await adminJsonWith(['order', 'settle', openOrderNo, '--delivered', file, '--evidence', 'the supplier said so'], env)
  await delivered('OPEN')
})

test('the recovery ends, and the ledger verifies', async () => {
  await adminJsonWith(['recovery', 'release', '--all', '--accept-doubt', 'the operator debits them'], env)
  expect((await show()).recovery).toBe(null)
  expect(await adminJsonWith(['ledger', 'verify'], env)).toMatchObject({ ok: true })
  expect(await failure('recovery', 'start', '--since', '2026-11-01T00:00:00Z')).toMatch(/Gateways use this database/)
  await gateway.kill()
  await adminJsonWith(['recovery', 'start', '--since', '2026-11-01T00:00:00Z'], env)
  expect((await show()).recovery).toMatchObject({ preparedAt: null })
  await adminJsonWith(['recovery', 'release', '--nothing-sold', 'only moved to another server'], env)
  expect((await show()).recovery).toBe(null)
})

test('a gateway that starts with --recovery answers dealers 000002, and starts normally once its dealers are released', async () => {
  const options = { databaseUrl: found.url, dataDir, recovery: '2026-11-02T00:00:00Z' }
  const health = () => new DealerEsim({ ...dealer, baseUrl: gateway.baseUrl, retries: 0 }).health()
  gateway = await startGateway(options)
  await expect(health()).rejects.toMatchObject({ code: '000002' })
  await adminJsonWith(['recovery', 'release', '--nothing-sold', 'only moved to another server'], env)
  await gateway.kill()
  gateway = await startGateway(options)
  expect(await health()).toMatchObject({ tenantId })
})
