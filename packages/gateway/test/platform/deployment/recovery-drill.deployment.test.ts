import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { formatMoney, makeIccid, QPS_LIMIT_MAX } from '@dealer-esim/contract'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { adminJsonWith } from '#test/harness/processes/admin-in-process.ts'
import {
  type GatewayProcess,
  SHARED_MASTER_KEY,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '#test/harness/processes/gateway-process.ts'
import { type Es2plusServer, startEs2plusServer } from '#test/harness/servers/es2plus-server.ts'
import { addPackage, addSupplier, createShop, waitUntil } from '#test/harness/shop.ts'
import { firstProduct } from '#test/wholesalers/simulator-fixtures.ts'

/*
 * The drill: a backup, 200 sales over all kinds of suppliers, the loss of the database, a restore, and dealers that repeat
 * what they have sold. Wholesalers are simulated in this process, so they forget nothing.
 */

const LISTED = ['zendit', 'esim-access'] as const
const SIMULATED = [...LISTED, 'mobimatter'] as const
const NAMES = [...SIMULATED, 'es2plus', 'warehouse'] as const
type Name = (typeof NAMES)[number]
const SALES = 200
/** Orders that are open at the backup, and delivered after it. */
const OPEN = ['OPEN-0', 'OPEN-1', 'OPEN-2']
const CODES = 80
const PRICE = 10_000
const AT_ONCE = 10
/** By then every node has read its suppliers, also on a busy machine: the wait that `supplier set` asks for. */
const PAUSED_MS = 10_000

interface Sale {
  name: Name
  transactionId: string
  orderNo: string
  iccid: string
}

let lost: TestDatabase
let found: TestDatabase
let es2plus: Es2plusServer
let receiver: Server
let dataDir: string
let folder: string
let gateway: GatewayProcess
let esim: DealerEsim
let tenantId: string
let env: Record<string, string>
const simulators = new Map<Name, Simulator>()
/** How often each event arrived, by notifyId. */
const received = new Map<string, number>()
const sales: Sale[] = []

const envOf = (url: string) => ({
  ...{ DATABASE_URL: url, DATABASE_SCHEMA: DEFAULT_SCHEMA, MASTER_KEY: SHARED_MASTER_KEY },
  ...{ DATA_DIR: dataDir, METRICS_PORT: '0' },
})

// Also before a second attempt, which begins with nothing sold.
beforeEach(async () => {
  sales.length = 0
  received.clear()
  lost = await createEmptyDatabase()
  found = await createEmptyDatabase()
  dataDir = temporaryFolder('drill')
  folder = temporaryFolder('drill-files')
  env = envOf(lost.url)
  es2plus = await startEs2plusServer()
  receiver = createServer((request, response) => {
    const id = String(request.headers['webhook-id'])
    received.set(id, (received.get(id) ?? 0) + 1)
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  await openGateway(lost)
  tenantId = (await esim.health()).tenantId
  const callbackUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  await esim.setWebhook({ callbackUrl, enabled: true })
  await addSuppliers()
})
afterEach(async () => {
  await stopGateways()
  for (const simulator of simulators.values()) await simulator.close()
  await es2plus?.close()
  receiver?.close()
  await lost?.drop()
  await found?.drop()
})

async function openGateway({ url }: TestDatabase): Promise<void> {
  gateway = await startGateway({ databaseUrl: url, dataDir })
  const dealer = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  esim = new DealerEsim({ ...dealer, baseUrl: gateway.baseUrl, retries: 0 })
}

async function addSuppliers(): Promise<void> {
  const shop = await createShop(lost.url)
  for (const kind of SIMULATED) {
    const simulator = await createSimulator(kind, { catalogueSize: 3, balance: 10_000_000_000 })
    simulators.set(kind, simulator)
    const config = { url: simulator.url, ...simulator.credentials, timeoutMs: 20_000, perSecond: 1_000 }
    await addSupplier(shop, kind, kind, kind === 'mobimatter' ? { ...config, settlesMs: 500 } : config)
  }
  const smdp = { url: es2plus.url, functionRequesterIdentifier: '1.2.3', ...es2plus.identity, timeoutMs: 20_000 }
  await addSupplier(shop, 'es2plus', 'es2plus', smdp)
  await addSupplier(shop, 'warehouse', 'stock')
  const file = join(folder, 'codes.csv')
  const codes = Array.from({ length: CODES }, (_, n) => `${makeIccid('8986', n)},LPA:1$smdp.example.com$CODE-${n}`)
  writeFileSync(file, `iccid,ac\n${codes.join('\n')}\n`)
  await adminJsonWith(['stock', 'import', file, '--supplier', 'warehouse', '--product', 'P'], env)
  for (const name of NAMES) {
    const simulated = simulators.has(name)
    const productCode = simulated ? await firstProduct(shop.suppliers.get(name)!.supplier) : 'P'
    await addPackage(shop.db, packageOf(name), [{ supplier: name, productCode }], true)
    await shop.db.query({
      text: `insert into list_prices values ($1, 'USD', $2, null, false, now(), now())`,
      values: [packageOf(name), PRICE],
    })
  }
  // A fast machine repeats more orders a second than dealers may by default.
  await shop.db.query({ text: 'update tenants set qps_limit = $1, version = version + 1', values: [QPS_LIMIT_MAX] })
  await shop.db.query({ text: 'update catalogue_version set version = version + 1, changed_at = clock_timestamp()' })
  await shop.close()
  for (const name of NAMES) {
    const packageCode = packageOf(name)
    await waitUntil(async () => (await esim.packages({ packageCode })).packageList.length === 1)
  }
}

const packageOf = (name: Name) => `DRILL_${name.toUpperCase().replace('-', '_')}`

const order = (name: Name, transactionId: string) =>
  esim.order({ transactionId, packageInfoList: [{ packageCode: packageOf(name), count: 1 }] })

async function sell(name: Name, transactionId: string): Promise<Sale> {
  const { orderNo } = await order(name, transactionId)
  return delivered(name, transactionId, orderNo)
}

function delivered(name: Name, transactionId: string, orderNo: string): Promise<Sale> {
  return waitUntil(
    async () => {
      const { orderStatus, profileList } = await esim.query({ transactionId })
      return orderStatus === 'DELIVERED' && { name, transactionId, orderNo, iccid: profileList[0]!.iccid }
    },
    120_000,
    200,
  )
}

/** Runs the work for each value, a few simultaneously. */
async function each<Value, Result>(
  values: readonly Value[],
  work: (value: Value) => Promise<Result>,
): Promise<Result[]> {
  const queue = [...values.entries()]
  const results: Result[] = []
  const next = async () => {
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) results[entry[0]] = await work(entry[1])
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
  return results
}

interface Report {
  suppliers: { supplier: string; state: string }[]
  theirs: { supplier: string; key: string }[]
  openOrders: { orderNo: string }[]
  batches: { batchId: string; held: number }[]
  transactions: { transactionId: string; state: string }[]
}
const show = () => adminJsonWith<Report>(['recovery', 'show'], env)
const codeOf = (call: Promise<unknown>) =>
  call.then(
    (answer) => ((answer as { replayed?: boolean }).replayed ? 'replayed' : 'placed'),
    (error: { code: string }) => error.code,
  )
const isRefusedForRecovery = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('it was placed'),
    (error: { code: string; message: string }) => {
      expect(error.code).toBe('000002')
      return /restored from a backup/.test(error.message)
    },
  )
const soldAt = (name: Name) =>
  simulators
    .get(name)!
    .orders()
    .filter(({ state }) => state === 'delivered')
    .flatMap(({ iccids }) => iccids)

test('each of 200 sales after a backup is found or in doubt, and nothing is sold twice', async () => {
  const before = await each(NAMES, (name) => sell(name, `BEFORE-${name}`))
  await adminJsonWith(['supplier', 'pause', 'zendit'], env)
  await new Promise((resolve) => setTimeout(resolve, PAUSED_MS))
  const open = await each(OPEN, (transactionId) => order('zendit', transactionId))
  const { file } = await adminJsonWith<{ file: string }>(['backup', folder, '--encrypt'], env)

  await adminJsonWith(['supplier', 'resume', 'zendit'], env)
  const plan = Array.from({ length: SALES - OPEN.length }, (_, n) => ({
    name: NAMES[n % NAMES.length]!,
    id: `SALE-${n}`,
  }))
  sales.push(...(await each(plan, ({ name, id }) => sell(name, id))))
  sales.push(...(await each(OPEN, (id) => delivered('zendit', id, open[OPEN.indexOf(id)]!.orderNo))))
  expect(sales).toHaveLength(SALES)
  const sold = Object.fromEntries(SIMULATED.map((name) => [name, soldAt(name).length]))
  const soldAtSmdp = es2plus.soldIccids().length
  await gateway.kill('SIGKILL')

  env = envOf(found.url)
  await adminJsonWith(['restore', file], env)
  await openGateway(found)
  const last = sales.slice(-20).filter(({ transactionId }) => !OPEN.includes(transactionId))
  // On a busy machine, the first ones may be refused for its load, with the same code.
  await each(last, (sale) => waitUntil(() => isRefusedForRecovery(order(sale.name, sale.transactionId)), 120_000, 500))

  await waitUntil(
    async () => (await show()).suppliers.filter(({ state }) => state === 'COMPARED').length > LISTED.length,
    120_000,
  )
  const report = await show()
  const stateOf = (name: Name) => report.suppliers.find(({ supplier }) => supplier === name)!.state
  // Simulators may use the same ICCIDs.
  const theirs = new Set(report.theirs.map(({ supplier, key }) => `${supplier} ${key}`))
  const isOpen = ({ transactionId }: Sale) => OPEN.includes(transactionId)
  for (const sale of sales.filter(({ name }) => LISTED.includes(name as never)))
    expect({ ...sale, isFound: theirs.has(`${sale.name} ${sale.orderNo}-1`) }).toEqual({
      ...sale,
      isFound: !isOpen(sale),
    })
  expect(report.openOrders).toEqual([]) // a supplier's list has delivered them
  expect([stateOf('mobimatter'), stateOf('es2plus'), stateOf('warehouse')]).toEqual(['NO_LIST', 'NO_LIST', 'STOCK'])
  expect(report.batches).toMatchObject([{ held: CODES - 1 }])
  expect(report.transactions.map(({ transactionId }) => transactionId).sort()).toEqual(
    last.map(({ transactionId }) => transactionId).sort(),
  )

  const list = join(folder, 'orders.csv')
  const rows = sales.map(({ transactionId, orderNo }) => `${transactionId},${orderNo},${formatMoney(PRICE)}`)
  writeFileSync(list, `transactionId,orderNo,amount\n${rows.join('\n')}\n`)
  const { matches } = await adminJsonWith<{ matches: { match: string }[] }>(['recovery', 'list', tenantId, list], env)
  const expected = (sale: Sale) =>
    isOpen(sale) ? 'OURS' : LISTED.includes(sale.name as never) ? 'SUPPLIER_HAS_IT' : 'DEALER_ALONE'
  expect(matches.map(({ match }) => match)).toEqual(sales.map(expected))
  const fromStock = sales.filter(({ name }) => name === 'warehouse').map(({ iccid }) => iccid)
  const gone = join(folder, 'gone.csv')
  writeFileSync(gone, `iccid\n${fromStock.join('\n')}\n`)
  const batch = [
    'recovery',
    'stock',
    'warehouse',
    report.batches[0]!.batchId,
    '--sold',
    gone,
    '--rest-unsold',
    '--evidence',
    'by the dealer',
  ]
  expect(await adminJsonWith(batch, env)).toMatchObject({ sold: fromStock.length })
  await adminJsonWith(['recovery', 'release', '--all', '--accept-doubt', 'the dealer is debited'], env)

  const again = await each(sales, (sale) => codeOf(order(sale.name, sale.transactionId)))
  expect(again).toEqual(
    sales.map((sale) => ({ OURS: 'replayed', SUPPLIER_HAS_IT: '200012', DEALER_ALONE: '000002' })[expected(sale)]),
  )
  await adminJsonWith(['supplier', 'resume', 'zendit'], env) // as it was at the backup
  await waitUntil(async () => (await esim.packages({ packageCode: packageOf('warehouse') })).packageList.length === 1)
  const next = [...NAMES, ...NAMES].map((name, n) => ({ name, id: `AFTER-${n}` }))
  const after = await each(next, ({ name, id }) => sell(name, id))
  const iccids = [...before, ...sales, ...after].map(({ name, iccid }) => `${name} ${iccid}`)
  expect(new Set(iccids).size).toBe(iccids.length)
  for (const name of SIMULATED) expect([name, soldAt(name).length]).toEqual([name, sold[name]! + 2])
  expect(es2plus.soldIccids()).toHaveLength(soldAtSmdp + 2)
  expect(await adminJsonWith(['ledger', 'verify'], env)).toMatchObject({ ok: true })
  expect(received.size).toBeGreaterThan(SALES)
  expect(Math.max(...received.values())).toBeLessThanOrEqual(2)
})
