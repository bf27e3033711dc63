import { verifyLedger } from '@dealer-esim/gateway/wallet/verify/verify-ledger.ts'
import { median } from '../compare.ts'
import { type BenchDatabase, type Environment, OPENING_BALANCE, type Tenant } from '../environment.ts'
import { requireSuccess, sendAll, signedRequest } from '../load.ts'
import { countBuffers } from './buffers.ts'
import { type OrderHistory, secretsText } from './history.ts'
import { loadHistory } from './load.ts'
import { createOperations, type Path } from './operations.ts'

/** One of the two databases: the dealer with half of its orders, and a gateway. */
export interface Side {
  /** p50 of sequential calls over HTTP; statements by the console's function are read directly. */
  p50Ms(path: Path, calls: number): Promise<number>
  /** Shared buffers that a call of the module's function touches, on one connection. */
  buffers(path: Path): Promise<number>
  notes: string[]
  close(): Promise<void>
}

const TENANTS = 200
const WEEK_MS = 7 * 24 * 3_600_000
/** Verifying a ledger of millions takes minutes, and its rows are generated like those of the smaller one. */
const VERIFIED_ORDERS_MAX = 500_000

/** Facts about a loaded database that cannot be read from it. */
interface Known {
  tenants: Tenant[]
  startMs: number
  ledger: string
}

/** Opens the large side. It uses the orders of a `--data` folder if that has as many. */
export async function openLargeSide(bench: Environment): Promise<Side> {
  const { orders } = bench
  const { database, known } = await bench.createLoaded(`growth_${orders}`, (created) => load(bench, created, orders))
  return createSide(bench, orders, database, known)
}

/** Loads its orders in every run: that takes seconds, and a run adds orders, which a small side would not hide. */
export async function createSmallSide(bench: Environment, orders: number): Promise<Side> {
  const database = await bench.createDatabase('growth_small')
  return createSide(bench, orders, database, await load(bench, database, orders))
}

async function load(bench: Environment, database: BenchDatabase, orders: number): Promise<Known> {
  bench.progress(`  ${orders} orders: loading`)
  const known = { tenants: await database.createTenants(TENANTS), startMs: Date.now() - WEEK_MS }
  const history = historyOf(bench, orders, known)
  await loadHistory(database.databaseUrl, database.db, history, bench.progress)
  return { ...known, ledger: await verifySmallLedger(database.db, orders) }
}

function historyOf({ cipher }: Environment, orders: number, { tenants, startMs }: Omit<Known, 'ledger'>): OrderHistory {
  const tenantIds = tenants.map((tenant) => tenant.tenantId)
  const secrets = tenantIds.map((tenantId) => cipher.encrypt(secretsText(), tenantId))
  return { tenantIds, orders, startMs, opening: OPENING_BALANCE, secrets }
}

async function createSide(bench: Environment, orders: number, database: BenchDatabase, known: Known): Promise<Side> {
  const history = historyOf(bench, orders, known)
  const notes = [known.ledger]
  const [size] = await database.db.query<{ size: string }>({
    text: 'select pg_size_pretty(pg_database_size(current_database())) as size',
  })
  notes.push(`the database of ${orders} orders has ${size!.size}`)
  const gateway = await database.startApi()
  const operations = await createOperations({ url: database.databaseUrl, cipher: bench.cipher, history })
  const dealer = known.tenants[0]!
  return {
    notes,
    async p50Ms(path, calls) {
      const operation = OPERATIONS[path]
      if (operation === undefined) return medianTimeMs(calls, (index) => operations.call(path, index))
      const bodies = Array.from({ length: calls }, (_, index) => operations.body(path, index))
      const requests = bodies.map((body) => signedRequest(dealer, operation, body))
      return requireSuccess(await sendAll(gateway.baseUrl, requests, 1)).p50Ms
    },
    buffers: (path) =>
      countBuffers(path === 'order' || path === 'topup' ? operations.orderDb : operations.db, (index) =>
        operations.call(path, index),
      ),
    async close() {
      await gateway.stop()
      await operations.close()
      await database.drop()
    },
  }
}

async function medianTimeMs(calls: number, call: (index: number) => Promise<unknown>): Promise<number> {
  const timesMs: number[] = []
  for (let index = 0; index < calls; index++) {
    const start = performance.now()
    await call(index)
    timesMs.push(performance.now() - start)
  }
  return median(timesMs)
}

async function verifySmallLedger(db: Parameters<typeof verifyLedger>[0], orders: number): Promise<string> {
  if (orders > VERIFIED_ORDERS_MAX)
    return `the ledger of ${orders} orders was generated like the smaller one, which was verified`
  const faults: string[] = []
  await verifyLedger(db, { onFault: ({ message }) => faults.push(message) })
  if (faults.length > 0) throw new Error(`The loaded ledger has faults: ${faults[0]}`)
  return `the ledger of ${orders} orders was verified`
}

const OPERATIONS: Partial<Record<Path, string>> = {
  order: 'esim/order',
  topup: 'esim/topup',
  query: 'esim/query',
  'usage/query': 'esim/usage/query',
  'order/list, first page': 'order/list',
  'order/list, deep page': 'order/list',
  'profile/list, first page': 'esim/profile/list',
  'profile/list, deep page': 'esim/profile/list',
  balance: 'account/balance',
  'ledger/proof': 'ledger/proof',
  'ledger/consistency': 'ledger/consistency',
  'ledger/checkpoint': 'ledger/checkpoint',
  'account/statement, first page': 'account/statement',
  'account/statement, deep page': 'account/statement',
}
