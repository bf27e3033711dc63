import { afterAll, beforeAll, expect, it } from 'vitest'
import { searchProfiles } from '#esims/search-profiles.ts'
import { ensureLocalDemo } from '#local-demo.ts'
import { getTrialData, removeTrialData, startTrialData } from '#operations/trial/trial-data.ts'
import { searchOrders } from '#orders/reading/search-orders.ts'
import { updateSales } from '#sales/update-sales.ts'
import { growAllTrees, makeDueCheckpoints } from '#wallet/books/books-loop.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { listEvents } from '#webhooks/list-events.ts'
import { startWorker } from '#worker.ts'
import { type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitUntil } from '../harness/shop.ts'

/* One gateway for all tests, which run in order, because filling it takes seconds. */

let database: TestDatabase
let node: Node
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await ensureLocalDemo(node.deps)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

/** What the worker does for the demo dealer's books too, whose rows are compared afterwards. */
async function keepBooks(): Promise<void> {
  await growAllTrees(node.deps)
  await makeDueCheckpoints(node.deps)
}

/** Every row of every table, by table, except audit log entries about the deployment. */
async function allRows(): Promise<Record<string, string>> {
  const { db } = node.deps
  const tables = await db.query<{ name: string }>({
    text: `select relname as name from pg_class where relnamespace = current_schema()::regnamespace
             and relkind in ('r', 'p') and not relispartition order by relname`,
  })
  const found: Record<string, string> = {}
  for (const { name } of tables) {
    const where = name === 'audit_log' ? `where action not like 'trial_data.%'` : ''
    const [row] = await db.query<{ rows: string }>({
      text: `select count(*) || ' ' || coalesce(md5(string_agg(t::text, chr(10) order by t::text)), '') as rows
             from ${name} t ${where}`,
    })
    found[name] = row!.rows
  }
  return found
}

let before: Record<string, string>

it('trial data fills every page of a dealer, with dates over four weeks', async () => {
  const { db } = node.deps
  await updateSales(db)
  await keepBooks()
  before = await allRows()
  const started = await startTrialData(node.deps, OPERATOR)
  expect(await getTrialData(node.deps)).toMatchObject({ state: 'FILLING', dealers: 4 })
  await started.filled
  expect(await getTrialData(node.deps)).toEqual({ state: 'READY', dealers: 4, done: 20, all: 20 })

  const { orders } = await searchOrders(db, { tenantId: null }, { limit: 1_000 })
  expect(orders.length).toBeGreaterThan(300)
  expect(new Set(orders.map((order) => order.orderStatus))).toEqual(
    new Set(['PAID', 'DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED']),
  )
  const oldestMs = Math.min(...orders.map((order) => order.createdAt.getTime()))
  expect(node.deps.databaseClock.now() - oldestMs).toBeGreaterThan(25 * 86_400_000)
  const { profiles: esims } = await searchProfiles(db, { tenantId: null }, { limit: 1_000 })
  expect(new Set(esims.map((esim) => esim.esimStatus))).toEqual(new Set(['GOT_RESOURCE', 'IN_USE', 'USED_EXPIRED']))
  expect(esims.some((esim) => (esim.orderUsage ?? 0n) > 0n)).toBe(true)
  const events = await listEvents(db, {}, { limit: 2_000 })
  expect(new Set(events.map((event) => event.deliveryState))).toEqual(
    new Set(['PENDING', 'DELIVERED', 'DEAD', 'UNSENT']),
  )
})

it('a ledger with trial data passes verification', async () => {
  const faults: unknown[] = []
  const counts = await verifyLedger(node.deps.db, { onFault: (fault) => faults.push(fault) })
  expect([faults, counts.tenants]).toEqual([[], 5n])
})

it('a second start adds no trial data twice', async () => {
  const rows = await allRows()
  await (await startTrialData(node.deps, OPERATOR)).filled
  expect(await allRows()).toEqual(rows)
})

it('removing trial data leaves the previous data intact, even after orders were fulfilled', async () => {
  const worker = await startWorker(node.deps)
  try {
    await waitUntil(async () => {
      const { orders } = await searchOrders(node.deps.db, { tenantId: null, status: 'PAID' }, { limit: 1 })
      return orders.length === 0
    })
  } finally {
    await worker.stop(5_000)
  }
  await updateSales(node.deps.db)
  await keepBooks()
  await removeTrialData(node.deps, OPERATOR)
  expect(await getTrialData(node.deps)).toMatchObject({ state: 'NONE', dealers: 0 })
  const after = await allRows()
  const changed = Object.keys(before).filter((table) => after[table] !== before[table])
  // This test's worker wrote these tables for the gateway as a whole.
  expect(
    changed.filter(
      (table) => !['ledger_checks', 'retention_clock', 'request_id_slots', 'supplier_states'].includes(table),
    ),
  ).toEqual([])
})

it('a gateway that is not local refuses trial data', async () => {
  const deps = { ...node.deps, config: { ...node.deps.config, deployment: 'test' as const } }
  await expect(startTrialData(deps, OPERATOR)).rejects.toThrow('for local gateways only')
  await expect(removeTrialData(deps, OPERATOR)).rejects.toThrow('for local gateways only')
})
