import { verifyLedger } from '../../packages/gateway/src/wallet/verify/verify.ts'
import { median } from '../compare.ts'
import { type Environment, OPENING_BALANCE } from '../environment.ts'
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

export async function createSide(bench: Environment, name: string, orders: number): Promise<Side> {
  bench.progress(`  ${orders} orders: loading`)
  const database = await bench.createDatabase(name)
  const tenants = await database.createTenants(TENANTS)
  const tenantIds = tenants.map((tenant) => tenant.tenantId)
  const secrets = tenantIds.map((tenantId) => bench.cipher.encrypt(secretsText(), tenantId))
  const history: OrderHistory = { tenantIds, orders, startMs: Date.now() - WEEK_MS, opening: OPENING_BALANCE, secrets }
  await loadHistory(database.databaseUrl, database.db, history, bench.progress)
  const notes = [await verifySmallLedger(database.db, orders)]
  const [size] = await database.db.query<{ size: string }>({
    text: 'select pg_size_pretty(pg_database_size(current_database())) as size',
  })
  notes.push(`the database of ${orders} orders has ${size!.size}`)
  const gateway = await database.startApi()
  const operations = await createOperations({ url: database.databaseUrl, cipher: bench.cipher, history })
  const dealer = tenants[0]!
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
  'account/statement, first page': 'account/statement',
  'account/statement, deep page': 'account/statement',
}
