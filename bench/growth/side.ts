import { verifyLedger } from '../../packages/gateway/src/wallet/verify/verify.ts'
import { median } from '../compare.ts'
import { type Environment, OPENING_BALANCE } from '../environment.ts'
import { allSucceeded, sendAll, signedRequest } from '../load.ts'
import { buffersTouched } from './buffers.ts'
import { loadPast } from './load.ts'
import { openRooms, type Path } from './rooms.ts'
import { type Past, secretsText } from './rows.ts'

/** One of the two databases: the dealer with half of its orders, and a gateway. */
export interface Side {
  /** Of lone calls, one after the other. Over HTTP, but for the statement, which dealers and operators read elsewhere. */
  p50Ms(path: Path, calls: number): Promise<number>
  /** Shared buffers that a call touches: of the room's own function, on one connection. */
  buffers(path: Path): Promise<number>
  notes: string[]
  close(): Promise<void>
}

const TENANTS = 200
const WEEK_MS = 7 * 24 * 3_600_000
/** Checking a ledger of millions takes minutes; it is the same rows that the smaller one has. */
const VERIFIED_MAX = 500_000

export async function openSide(bench: Environment, name: string, orders: number): Promise<Side> {
  bench.progress(`  ${orders} orders: loading`)
  const database = await bench.another(name)
  const tenants = await database.tenants(TENANTS)
  const tenantIds = tenants.map((tenant) => tenant.tenantId)
  const secrets = tenantIds.map((tenantId) => bench.cipher.encrypt(secretsText(), tenantId))
  const past: Past = { tenantIds, orders, startMs: Date.now() - WEEK_MS, opening: OPENING_BALANCE, secrets }
  await loadPast(database.databaseUrl, database.db, past, bench.progress)
  const notes = [await verified(database.db, orders)]
  const [size] = await database.db.query<{ size: string }>({
    text: 'select pg_size_pretty(pg_database_size(current_database())) as size',
  })
  notes.push(`the database of ${orders} orders has ${size!.size}`)
  const gateway = await database.startApi()
  const rooms = await openRooms({ url: database.databaseUrl, cipher: bench.cipher, past })
  const dealer = tenants[0]!
  return {
    notes,
    async p50Ms(path, calls) {
      const operation = OPERATIONS[path]
      if (operation === undefined) return timed(calls, (index) => rooms.call(path, index))
      const bodies = Array.from({ length: calls }, (_, index) => rooms.body(path, index))
      const requests = bodies.map((body) => signedRequest(dealer, operation, body))
      return allSucceeded(await sendAll(gateway.baseUrl, requests, 1)).p50Ms
    },
    buffers: (path) => buffersTouched(path === 'order' ? rooms.orderDb : rooms.db, (index) => rooms.call(path, index)),
    async close() {
      await gateway.stop()
      await rooms.close()
      await database.drop()
    },
  }
}

async function timed(calls: number, call: (index: number) => Promise<unknown>): Promise<number> {
  const timesMs: number[] = []
  for (let index = 0; index < calls; index++) {
    const start = performance.now()
    await call(index)
    timesMs.push(performance.now() - start)
  }
  return median(timesMs)
}

async function verified(db: Parameters<typeof verifyLedger>[0], orders: number): Promise<string> {
  if (orders > VERIFIED_MAX) return `the ledger of ${orders} orders was generated as the smaller one that was checked`
  const faults: string[] = []
  await verifyLedger(db, { onFault: ({ message }) => faults.push(message) })
  if (faults.length > 0) throw new Error(`the ledger that was loaded does not hold: ${faults[0]}`)
  return `the ledger of ${orders} orders was checked`
}

const OPERATIONS: Partial<Record<Path, string>> = {
  order: 'esim/order',
  query: 'esim/query',
  'profile/list, first page': 'esim/profile/list',
  'profile/list, deep page': 'esim/profile/list',
  balance: 'account/balance',
}
