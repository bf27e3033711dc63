import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { verifyEvent } from '@dealer-esim/sdk'
import Fastify from 'fastify'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { setOwnPrice } from '#catalogue/prices/prices.ts'
import { addConsoleApi } from '#http/console/console-server.ts'
import { createBodyBudget } from '#http/load-shedding/byte-budget.ts'
import { updateSales } from '#sales/update-sales.ts'
import { resumeTenant, suspendTenant } from '#tenants/change-tenant.ts'
import { startWorker } from '#worker.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { adminJsonWith, adminWith } from '../harness/processes/admin-in-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { type ConsoleTestbed, ORIGIN, REAUTHENTICATION, signedInAs } from '../http/console/console-testbed.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

const PRICE = 45_000
let database: TestDatabase
let node: Node
let worker: Running
let receiver: Receiver
/** The schema of the twins. */
let twinsDb: ReturnType<typeof createDb>

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  worker = await startWorker(node.deps)
  receiver = await startReceiver()
  await putPackages(node.deps, [packageOf('JP_1_7'), packageOf('SANDBOX_OK', 1)], OPERATOR)
  twinsDb = createDb({ url: database.url, schema: 'public_twins', poolSize: 1, applicationName: 'test' })
})
afterAll(async () => {
  await twinsDb.close()
  await worker.stop(5_000)
  await node.stop()
  await receiver.close()
  await database.drop()
})

/** A package of a supplier that nobody could call. */
function packageOf(packageCode: string, price = PRICE) {
  return packageInput({
    packageCode,
    status: 'ON_SALE',
    prices: [{ currencyCode: 'USD', price, retailPrice: null }],
    suppliers: [{ supplier: 'wholesaler', productCode: 'P-1' }],
  })
}

const env = () => ({ ...NODE_ENV, DATABASE_URL: database.url })
const twinCommand = (name: string, { tenantId }: Dealer) => ['tenant', 'twin', name, tenantId]

async function addTwin(dealer: Dealer): Promise<Dealer> {
  return adminJsonWith<Dealer>(twinCommand('create', dealer), env())
}

let orders = 0
async function buy(dealer: Dealer, packageCode: string, transactionId = `T-${++orders}`) {
  const body = JSON.stringify({ transactionId, packageInfoList: [{ packageCode, count: 1 }] })
  return call(node, dealer, 'esim/order', { body })
}

async function ended(dealer: Dealer, orderNo: string) {
  const query = () => call(node, dealer, 'esim/query', { body: JSON.stringify({ orderNo }) })
  await waitUntil(async () => !['PAID', 'ALLOCATING'].includes((await query()).data.orderStatus))
  return (await query()).data
}

/** How many rows each table of a schema has, except those that every start and every request writes. */
async function rowCounts(db: Pick<Db, 'query'>): Promise<Record<string, number>> {
  const tables = await db.query<{ name: string }>({
    text: `select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
             and not relispartition order by 1`,
  })
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await db.query<{ rows: number }>({ text: `select count(*)::int as rows from ${name}` })
    counts[name] = row!.rows
  }
  return counts
}

/** Waits until the worker's loops have written what follows from the live ledgers: their trees and sales. */
async function loopsCaughtUp(): Promise<void> {
  const text = `select 1 from wallets w left join ledger_trees t using (tenant_id) where w.version > coalesce(t.size, 0)`
  await waitUntil(async () => (await node.deps.db.query({ text })).length === 0)
  await waitUntil(() => updateSales(node.deps.db))
}

test('a dealer tries everything with its twin, and the live schema gets no row of it', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  expect(twin).toMatchObject({
    tenantId: expect.not.stringMatching(dealer.tenantId),
    appKey: expect.stringMatching(/^ak_main_test_[0-9A-Za-z]{24}$/),
  })
  await loopsCaughtUp()
  receiver.received.length = 0
  const before = await rowCounts(node.deps.db)

  const { tenantId } = twin
  expect(await call(node, twin, 'health')).toMatchObject({ code: '000000', data: { mode: 'TEST', tenantId } })
  const live = { mode: 'LIVE', tenantId: dealer.tenantId }
  expect(await call(node, dealer, 'health')).toMatchObject({ code: '000000', data: live })
  expect((await call(node, twin, 'account/balance')).data).toMatchObject({ balance: 10_000_000, currencyCode: 'USD' })
  const statement = (await call(node, twin, 'account/statement')).data
  expect(JSON.stringify(statement)).toContain('WALLET_TOPUP')

  await call(node, twin, 'webhook/set', { body: JSON.stringify({ callbackUrl: receiver.url }) })
  const order = await buy(twin, 'JP_1_7')
  expect(order).toMatchObject({ code: '000000', data: { amount: PRICE, balanceAfter: 10_000_000 - PRICE } })
  const { orderStatus, profileList: profiles } = await ended(twin, order.data.orderNo)
  expect([orderStatus, profiles[0]]).toMatchObject([
    'DELIVERED',
    { iccid: expect.stringMatching(/^89999/), ac: expect.stringMatching(/^LPA:1\$smdp\.sandbox\.invalid\$/) },
  ])
  const share = await fetch(profiles[0].shareUrl.replace(/^https?:\/\/[^/]+/, node.baseUrl))
  expect(share.status).toBe(200)

  await waitUntil(async () => receiver.events.length >= 2)
  for (const event of receiver.events) {
    const { appSecret } = twin
    expect(await verifyEvent({ appSecret, headers: event.headers, body: event.body })).toMatchObject({ mode: 'TEST' })
  }
  const after = await rowCounts(node.deps.db)
  for (const table of ['request_ids', 'qps_buckets', 'retention_clock', 'request_id_slots']) {
    delete before[table]
    delete after[table]
  }
  expect(after).toEqual(before)
})

test('a twin sees live packages at live prices, and the sandbox packages instead of the operator’s', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  const priceOf = async (packageCode: string) => {
    const { data } = await call(node, twin, 'package/list', { body: JSON.stringify({ packageCode }) })
    return data.packageList[0]?.price
  }
  expect(await priceOf('JP_1_7')).toBe(PRICE)
  expect(await priceOf('SANDBOX_OK')).toBe(10_000)
  await setOwnPrice(node.deps, { tenantId: dealer.tenantId, packageCode: 'JP_1_7', price: 12_300n }, OPERATOR)
  expect(await priceOf('JP_1_7')).toBe(12_300)
  expect((await buy(twin, 'JP_1_7')).data.amount).toBe(12_300)
  expect((await buy(twin, 'SANDBOX_OUT_OF_STOCK')).code).toBe('200011')
  const refused = await buy(twin, 'SANDBOX_REFUSED')
  expect((await ended(twin, refused.data.orderNo)).orderStatus).toBe('FAILED')
})

test('live dealer and twin never see each other’s orders, and their transactionIds do not meet', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  const { orderNo } = (await buy(twin, 'JP_1_7', 'SAME')).data
  expect((await call(node, dealer, 'esim/query', { body: JSON.stringify({ orderNo }) })).code).not.toBe('000000')
  expect((await buy(dealer, 'JP_1_7', 'SAME')).headers['idempotent-replayed']).toBeUndefined()
  expect((await call(node, { ...dealer, appKey: twin.appKey }, 'health')).code).toBe('101003')
  expect((await call(node, twin, 'order/list')).data.orderList).toHaveLength(1)
})

test('one process delivers eSIMs of the sandbox to a twin and to a live dealer', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  const suppliers = [{ supplier: 'sandbox', productCode: 'P-1' }]
  await putPackages(node.deps, [{ ...packageOf('LIVE_SANDBOX'), suppliers }], OPERATOR)
  for (const buyer of [twin, dealer, twin]) {
    const { orderNo } = (await buy(buyer, 'LIVE_SANDBOX')).data
    expect((await ended(buyer, orderNo)).orderStatus).toBe('DELIVERED')
  }
})

test('suspending the live dealer suspends its twin from the next request on', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  expect((await call(node, twin, 'health')).code).toBe('000000')
  await suspendTenant(node.deps, dealer.tenantId, OPERATOR)
  expect((await call(node, twin, 'health')).code).toBe('101005')
  await resumeTenant(node.deps, dealer.tenantId, OPERATOR)
  expect((await call(node, twin, 'health')).code).toBe('000000')
})

test('a twin is limited to TWIN_QPS_LIMIT, whatever its own limit, and then by what all twins may send', async () => {
  const twin = await addTwin(await addDealer(node.deps))
  await twinsDb.query({
    text: 'update tenants set qps_limit = 1000, version = version + 1 where tenant_id = $1',
    values: [twin.tenantId],
  })
  const limited = await startNode(database.url, { TWIN_QPS_LIMIT: '2', TWINS_QPS_LIMIT: '30' })
  try {
    expect((await call(limited, twin, 'account/balance')).code).toBe('000000')
    const buckets = await twinsDb.query({
      text: 'select qps_limit from qps_buckets where tenant_id = $1',
      values: [twin.tenantId],
    })
    expect(buckets).toEqual([{ qpsLimit: 2 }])
    const { admission } = (await limited.deps.twins.open())!
    admission.twins = { ...admission.twins!, takeRequest: () => false } // all twins have sent 30 in this second
    await waitUntil(async () => {
      const { code, headers } = await call(limited, twin, 'account/balance')
      return code === '101007' && headers['ratelimit-limit'] === '30'
    })
  } finally {
    await limited.stop()
  }
})

test('requests of a twin yield while a live dealer sends some', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  const refused = async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => call(node, twin, 'health')))
    return answers.filter(({ code }) => code === '000002').length
  }
  await waitUntil(async () => (await refused()) === 0)
  await waitUntil(async () => {
    await call(node, dealer, 'health')
    return (await refused()) > 0 // 32 of 50 wait
  })
})

test('a reset keeps credentials and RequestIDs, and gives the twin a new wallet', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  const requestId = '0194fdc2-fa2f-4cc0-81d3-ff12045b73c8'
  const timestamp = Date.now()
  await call(node, twin, 'health', { requestId, timestamp })
  await Promise.all(['SANDBOX_OK', 'SANDBOX_SLOW', 'SANDBOX_UNKNOWN'].map((code) => buy(twin, code)))
  const view = await adminJsonWith<object>(twinCommand('reset', dealer), env())
  expect(view).toMatchObject({ appKey: twin.appKey, balance: 10_000_000, resets: 1 })
  expect((await call(node, twin, 'order/list')).data.orderList).toEqual([])
  expect((await call(node, twin, 'account/statement')).data.entryList).toHaveLength(1)
  expect((await call(node, twin, 'health', { requestId, timestamp })).code).toBe('101006')
  expect((await buy(twin, 'SANDBOX_OK')).data.balanceAfter).toBe(10_000_000 - 10_000)
})

test('a twin is deleted although PostgreSQL ends the first attempt because of a deadlock', async () => {
  // On a busy machine, PostgreSQL may end the test's own transaction instead: then once more, with another twin.
  await vi.waitUntil(async () => (await deleteInDeadlock()) === 'the deletion', { timeout: 60_000 })
})

/** Deletes a twin while another transaction locks an order before the wallet. Returns which one PostgreSQL ended. */
async function deleteInDeadlock(): Promise<'the deletion' | 'the other'> {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  await ended(twin, (await buy(twin, 'SANDBOX_OK')).data.orderNo)
  const values = [twin.tenantId]
  let deleting: Promise<unknown> | undefined
  const other = twinsDb.tx(async (tx) => {
    await tx.query({ text: 'select from orders where tenant_id = $1 for update', values })
    deleting = adminJsonWith(twinCommand('delete', dealer), env())
    await waitUntil(async () => {
      const text = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await node.deps.db.query({ text, values: [] })).length > 0
    })
    await tx.query({ text: 'select from wallets where tenant_id = $1 for update', values })
  })
  const endedOne = await other.then(
    () => 'the deletion' as const,
    (error) => {
      if (error.code !== '40P01') throw error
      return 'the other' as const
    },
  )
  await deleting
  expect(await twinsDb.query({ text: 'select from wallets where tenant_id = $1', values })).toEqual([])
  return endedOne
}

test('a twin is deleted although its ledger is hashed for the first time at that moment', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  const values = [twin.tenantId]
  let deleting: Promise<unknown> | undefined
  await twinsDb.tx(async (tx) => {
    await tx.query({ text: 'delete from ledger_trees where tenant_id = $1', values })
    await tx.query({ text: 'insert into ledger_trees (tenant_id) values ($1)', values })
    deleting = adminJsonWith(twinCommand('delete', dealer), env())
    await waitUntil(async () => {
      const text = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await node.deps.db.query({ text, values: [] })).length > 0
    })
  })
  await deleting
  expect(await twinsDb.query({ text: 'select from tenants where tenant_id = $1', values })).toEqual([])
})

test('a deleted twin is refused, and leaves no row but its audit entries in the live schema', async () => {
  const dealer = await addDealer(node.deps)
  const twin = await addTwin(dealer)
  expect((await adminWith(twinCommand('create', dealer), env())).stderr).toMatch(/has a test twin already/)
  const { orderNo } = (await buy(twin, 'JP_1_7')).data
  await ended(twin, orderNo)
  await adminJsonWith(twinCommand('delete', dealer), env())
  expect(await call(node, twin, 'health')).toMatchObject({
    code: '101004',
    message: expect.stringMatching(/^No test twin has this AppKey\. If it was deleted, .* create a new one/),
  })
  expect((await adminWith(twinCommand('show', dealer), env())).stderr).toMatch(/has no test twin/)
  const left = await twinsDb.query({ text: 'select from orders where tenant_id = $1', values: [twin.tenantId] })
  expect(left).toEqual([])
  const audited = await node.deps.db.query<{ action: string }>({
    text: `select action from audit_log where tenant_id = $1 and action like '%twin' order by audit_id`,
    values: [dealer.tenantId],
  })
  expect(audited.map(({ action }) => action)).toEqual(['tenant.create_twin', 'tenant.delete_twin'])
  const again = await addTwin(dealer)
  expect(again.appKey).not.toBe(twin.appKey)
})

test('people create, show, reset and delete a twin in the console; an operator who views as the dealer does not', async () => {
  const app = Fastify()
  addConsoleApi(
    app,
    { ...node.deps, provider: undefined, consoleUrl: () => `${ORIGIN}/console` },
    {
      ...{ origins: [ORIGIN], loopback: false, cookieName: '__Host-console' },
      addressOf: (request) => request.ip,
      bodies: createBodyBudget(1024 * 1024),
      bodyRefusals: { pace: (write) => write() },
    },
  )
  await app.ready()
  try {
    const dealer = await addDealer(node.deps)
    const path = `/tenants/${dealer.tenantId}/twin`
    const bed = { app, db: node.deps.db, deps: node.deps } as unknown as ConsoleTestbed
    const admin = await signedInAs(bed, 'DEALER_ADMIN', dealer.tenantId)
    const operator = await signedInAs(bed, 'OPERATOR_ADMIN', null)
    expect((await admin.call('GET', path)).body).toEqual({ twin: null })
    expect((await admin.call('POST', path, { password: 'wrong' })).body.code).toBe('PASSWORD_WRONG')
    expect((await admin.call('GET', path)).body).toEqual({ twin: null })
    const { status, body } = await admin.call('POST', path, REAUTHENTICATION)
    expect(status).toBe(200)
    expect((await call(node, { ...dealer, ...body }, 'health')).data).toMatchObject({ mode: 'TEST' })
    expect((await operator.call('GET', path)).body.twin).toMatchObject({ appKey: body.appKey, balance: 10_000_000 })

    expect((await operator.call('POST', `/tenants/${dealer.tenantId}/view`)).status).toBe(200)
    expect((await operator.call('POST', `${path}/reset`)).body.code).toBe('VIEW_ONLY')
    expect((await operator.call('POST', `${path}/delete`, REAUTHENTICATION)).body.code).toBe('VIEW_ONLY')

    expect((await admin.call('POST', `${path}/reset`)).status).toBe(200)
    const stranger = await signedInAs(bed, 'DEALER_ADMIN', (await addDealer(node.deps, 0)).tenantId)
    expect((await stranger.call('GET', path)).status).toBe(404)
    expect((await admin.call('POST', `${path}/delete`, REAUTHENTICATION)).status).toBe(200)
    expect((await call(node, { ...dealer, ...body }, 'health')).code).toBe('101004')
  } finally {
    await app.close()
  }
})

test('a twin’s AppKey is unknown on a gateway without twins, and never looked up among live dealers', async () => {
  const other = await createTestDatabase()
  const alone = await startNode(other.url)
  try {
    const dealer = await addDealer(alone.deps, 1)
    const appKey = `ak_main_test_${'A'.repeat(24)}`
    expect((await call(alone, { ...dealer, appKey }, 'health')).code).toBe('101004')
  } finally {
    await alone.stop()
    await other.drop()
  }
})
