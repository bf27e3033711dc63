import { join } from 'node:path'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { RELEASE } from '@dealer-esim/lib/process/release.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type DealerLoad, startDealerLoad } from '#test/cells/dealer-load.ts'
import { call, type Dealer } from '#test/harness/api-node.ts'
import { createEmptyDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { adminJson } from '#test/harness/processes/admin-process.ts'
import {
  type GatewayProcess,
  SHARED_MASTER_KEY,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '#test/harness/processes/gateway-process.ts'
import { buildPreviousRelease, hasPreviousRelease } from '#test/harness/processes/previous-release.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'

/*
 * Two nodes sell while each is replaced by this release, and then by the previous one again. Callers know both nodes, and use
 * the other one when a node does not answer, as behind a load balancer.
 */

/** In each phase so many orders are acknowledged, over both nodes. */
const ORDERS = 30
const TIMEOUT_MS = 300_000
const isRunnable = hasPreviousRelease()
const THIS = { name: 'this release', main: undefined }
let PREVIOUS: { name: string; main: string }

let database: TestDatabase
let db: Database
let receiver: Receiver
let dealer: Dealer
let load: DealerLoad
const nodes: { release: string; process: GatewayProcess }[] = []

beforeAll(async () => {
  if (!isRunnable) return
  const folder = buildPreviousRelease()
  PREVIOUS = { name: 'the previous release', main: join(folder, 'dist/main.js') }
  database = await createEmptyDatabase()
  db = createDb({ url: database.url, poolSize: 2, applicationName: 'test' })
  receiver = await startReceiver()
  nodes.push(await startNodeOf(PREVIOUS), await startNodeOf(PREVIOUS))
  dealer = await addDealer(join(folder, 'dist/admin.js'))
}, TIMEOUT_MS)
afterAll(async () => {
  await load?.stop()
  await stopGateways()
  await db?.close()
  await database?.drop()
  await receiver?.close()
})

async function startNodeOf({ name, main }: typeof THIS | typeof PREVIOUS) {
  const env = { DEFAULT_QPS_LIMIT: '100000' }
  const options = { databaseUrl: database.url, env, ...(main !== undefined && { main }) }
  return { release: name, process: await startGateway(options) }
}

async function addDealer(program: string): Promise<Dealer> {
  const env = { DATABASE_URL: database.url, MASTER_KEY: SHARED_MASTER_KEY, DATA_DIR: temporaryFolder('admin') }
  const created = await adminJson<Dealer>(['tenant', 'create', '--name', 'Seller'], env, program)
  await adminJson(['wallet', 'top-up', created.tenantId, '100000', '--reference', 'opening'], env, program)
  return created
}

/** The nodes in turn, whether they answer or not. */
let turn = 0
const anyNode = {
  get baseUrl() {
    return nodes[turn++ % nodes.length]!.process.baseUrl
  },
}

/** Replaces a node as an operator does, and sells on both afterwards. */
async function replace(index: number, release: typeof THIS | typeof PREVIOUS): Promise<void> {
  expect(await nodes[index]!.process.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  nodes[index] = await startNodeOf(release)
  await load.waitForMore(ORDERS)
}

async function buyEsim(): Promise<string> {
  const body = JSON.stringify({ transactionId: 'first', packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }] })
  expect((await call(anyNode, dealer, 'esim/order', { body })).code).toBe('000000')
  return waitUntil(async () => {
    const { data } = await call(anyNode, dealer, 'esim/query', { body: '{"transactionId":"first"}' })
    return data?.orderStatus === 'DELIVERED' && (data.profileList[0].esimTranNo as string)
  }, TIMEOUT_MS)
}

/** The files of the tables' rows: a different file means that a migration has rewritten the table. */
async function rowFiles(): Promise<Map<string, string>> {
  const rows = await db.query<{ name: string; file: string }>({
    text: `select relname as name, relfilenode::text as file from pg_class
           where relnamespace = current_schema()::regnamespace and relkind = 'r' and not relispartition`,
  })
  return new Map(rows.map(({ name, file }) => [name, file]))
}

it.skipIf(!isRunnable)(
  'nodes upgraded and downgraded one by one under load lose nothing and refuse only requests that clients repeat',
  { timeout: 4 * TIMEOUT_MS },
  async () => {
    const { code } = await call(anyNode, dealer, 'webhook/set', { body: JSON.stringify({ callbackUrl: receiver.url }) })
    expect(code).toBe('000000')
    load = startDealerLoad(anyNode, dealer, await buyEsim())
    await load.waitForMore(ORDERS)
    const before = await rowFiles()

    await replace(0, THIS)
    const after = await rowFiles()
    expect([...before].filter(([name, file]) => after.get(name) !== file)).toEqual([])
    await replace(1, THIS)
    expect(await releases()).toEqual([RELEASE - 1, RELEASE])
    await replace(0, PREVIOUS)
    await replace(1, PREVIOUS)
    await load.stop()

    expect(load.faults).toEqual([])
    await expectAllSold()
  },
)

const releases = async () =>
  (await db.query<{ release: number }>({ text: 'select release from schema_releases order by 1' })).map(
    ({ release }) => release,
  )

/** Every acknowledged order is debited once, delivered, and announced to the dealer; nothing else is. */
async function expectAllSold(): Promise<void> {
  const { tenantId } = dealer
  const read = async <Row>(text: string) => await db.query<Row>({ text, values: [tenantId] })
  const undelivered = () => read(`select from orders where tenant_id = $1 and order_status <> 'DELIVERED'`)
  await waitUntil(async () => (await undelivered()).length === 0, TIMEOUT_MS)
  const orders = load.acknowledged.flat()
  const sold = await read<{ transactionId: string }>('select transaction_id from orders where tenant_id = $1')
  expect(sold.map(({ transactionId }) => transactionId).sort()).toEqual(
    ['first', ...orders.map(({ transactionId }) => transactionId)].sort(),
  )
  const [counts] = await read(
    `select (select count(*)::int from transfers where tenant_id = $1 and to_account = 'SALES') as debits,
            (select count(*)::int from profiles where tenant_id = $1) as esims,
            (select count(*)::int from events where tenant_id = $1 and notify_type = 'ORDER_PAID') as paid`,
  )
  const bought = orders.filter(({ isTopUp }) => !isTopUp).length + 1
  expect(counts).toEqual({ debits: sold.length, esims: bought, paid: sold.length })
  const faults: string[] = []
  await verifyLedger(db, { tenantId, onFault: ({ message }) => void faults.push(message) })
  expect(faults).toEqual([])
  await waitUntil(async () => {
    const announced = new Set(receiver.events.map(({ body }) => JSON.parse(body).content.orderNo as string))
    return orders.every(({ orderNo }) => announced.has(orderNo))
  }, TIMEOUT_MS)
}
