import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { createWakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { examine } from '#operations/doctor/examine.ts'
import { readConfig } from '#platform/config/config.ts'
import { listPeers } from '#platform/deployment/peers.ts'
import { migrationsFolder, packageRoot } from '#platform/package-root.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createEmptyDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { type GatewayProcess, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { expectRecordsToAgree } from '#test/orders/load-records.ts'
import { type OrderLoad, startOrderLoad } from '#test/orders/order-load.ts'
import { type Receiver, startReceiver } from '#test/webhooks/receiver.ts'

/*
 * Two gateways in one database, each in its own schema, with dealers, suppliers and packages of the same names. Their
 * master keys differ, so a gateway that saw the other one would refuse to start.
 */

interface Cell {
  schema: string
  env: Record<string, string>
  operator: Node
  gateway: GatewayProcess
  receiver: Receiver
  dealer: Dealer
  load: OrderLoad
}

const CALLERS = 2
const ENDS_WITHIN_MS = 25_000

let database: TestDatabase
let north: Cell
let south: Cell

beforeAll(async () => {
  database = await createEmptyDatabase()
  ;[north, south] = await Promise.all([startCell('north', 7), startCell('south', 8)])
}, 300_000)
afterAll(async () => {
  await Promise.all([north, south].map((cell) => cell?.load.stop()))
  await stopGateways()
  for (const cell of [north, south]) {
    await cell?.operator.stop()
    await cell?.receiver.close()
  }
  await database.drop()
})

async function startCell(schema: string, keyByte: number): Promise<Cell> {
  const env = {
    ...NODE_ENV,
    DATABASE_SCHEMA: schema,
    CELL_NAME: schema,
    MASTER_KEY: Buffer.alloc(32, keyByte).toString('base64'),
    DEFAULT_QPS_LIMIT: '100000',
  }
  const gateway = await startGateway({ databaseUrl: database.url, env })
  const operator = await startNode(database.url, env)
  const { deps } = operator
  await addSupplier(deps, { name: 'shop', type: 'sandbox', config: {} }, OPERATOR)
  await putPackages(
    deps,
    [
      packageInput({
        packageCode: 'JP_1_7',
        status: 'ON_SALE',
        prices: [{ currencyCode: 'USD', price: 1_000, retailPrice: null }],
        suppliers: [{ supplier: 'shop', productCode: 'SANDBOX_OK' }],
      }),
    ],
    OPERATOR,
  )
  const dealer = await addDealer(deps)
  const receiver = await startReceiver()
  const setting = await call(operator, dealer, 'webhook/set', { body: JSON.stringify({ callbackUrl: receiver.url }) })
  expect(setting.code).toBe('000000')
  const load = startOrderLoad(dealer, CALLERS, () => [{ packageCode: 'JP_1_7', count: 1 }])
  return { schema, env, operator, gateway, receiver, dealer, load }
}

const dbOf = (cell: Cell) => cell.operator.deps.db

describe('two gateways in one database', () => {
  it('keep their tables apart: neither gateway knows the other’s AppKeys', async () => {
    expect(north.dealer.appKey).toMatch(/^ak_north_[A-Za-z0-9]{24}$/)
    expect(south.dealer.appKey).toMatch(/^ak_south_[A-Za-z0-9]{24}$/)
    expect((await call(south.operator, north.dealer, 'esim/query')).code).toBe('101004')
    const rows = await dbOf(north).query<{ schemaname: string }>({
      text: `select distinct schemaname from pg_tables where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
    })
    expect(rows.map(({ schemaname }) => schemaname)).toEqual(['north', 'south'])
  })

  it('count only their own processes', async () => {
    for (const { operator, gateway, env } of [north, south]) {
      const pids = new Set((await listPeers(operator.deps.db)).map(({ pid }) => pid))
      expect([...pids].sort()).toEqual([gateway.pid, process.pid].sort())
      const config = readConfig({ ...env, DATABASE_URL: database.url }, [])
      const { databaseUrl, masterKeys } = config
      const findings = await examine({ config, configFaults: [], databaseUrl, masterKeys })
      expect(findings.filter(({ state }) => state === 'FAULT')).toEqual([])
      expect(findings.map(({ check }) => check)).toContain('ledger')
    }
  })

  it('do not wake each other', async () => {
    const woken: string[] = []
    const connect = (schema: string, nodeId: string) => {
      const wakeups = createWakeups({
        url: database.url,
        schema,
        nodeId,
        onError: (error) => {
          throw error
        },
      })
      wakeups.on('settings', () => woken.push(`${schema} ${nodeId}`))
      return wakeups
    }
    const all = ['north a', 'north b', 'south c', 'south d']
    const nodes = [connect('north', 'a'), connect('north', 'b'), connect('south', 'c'), connect('south', 'd')] as const
    // Each node wakes its own loops when it begins to listen.
    await waitUntil(async () => all.every((node) => woken.includes(node)))
    woken.length = 0
    nodes[0].wake('settings')
    await waitUntil(async () => woken.includes('north b'))
    nodes[2].wake('settings')
    // Notifications arrive in commit order: one from north would have arrived earlier.
    await waitUntil(async () => woken.includes('south d'))
    expect(woken.toSorted()).toEqual(all)
    await Promise.all(nodes.map((node) => node.stop()))
  })

  it('do not wait for each other’s locks', async () => {
    await dbOf(north).tx(async (tx) => {
      await tx.query({ text: `select pg_advisory_xact_lock(${advisoryKey('partitions')})` })
      await tx.query({ text: `select pg_advisory_xact_lock(hashtextextended('north migrations', 0))` })
      await maintainPartitions(dbOf(south))
      const options = { databaseUrl: database.url, schema: 'south', log: silentLog, directory: migrationsFolder() }
      expect(await migrate(options)).toEqual([])
      const text = `select pg_try_advisory_xact_lock(${advisoryKey('partitions')}) as locked`
      expect(await dbOf(north).query({ text })).toEqual([{ locked: false }])
      expect(await dbOf(south).query({ text })).toEqual([{ locked: true }])
    })
  })

  it('sell, deliver and report concurrently under load, and one continues when the other ends', {
    timeout: 300_000,
  }, async () => {
    for (const { load, gateway } of [north, south]) load.sendTo(gateway)
    await Promise.all([north, south].map(({ load }) => load.waitForMore(30)))
    await north.load.stop()
    await expectCellToAgree(north)
    expect(await north.gateway.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    await south.load.waitForMore(10)
    await north.operator.stop()
    await dbOf(south).query({ text: 'drop schema north cascade' })
    await south.load.waitForMore(10)
    await south.load.stop()
    await expectCellToAgree(south)
  })
})

/** Every acknowledged order exists once, in this cell, and no others exist. */
async function expectCellToAgree({ gateway, dealer, operator, receiver, load }: Cell): Promise<void> {
  const { db } = operator.deps
  await expectRecordsToAgree({ gateway, dealer, db, requested: load.requested, receiver }, ENDS_WITHIN_MS)
  const [row] = await db.query<{ count: number }>({ text: 'select count(*)::int as count from orders' })
  expect(row!.count).toBe(load.requested.length)
}

it('every advisory lock in the gateway includes the schema', () => {
  const source = join(packageRoot(), '..')
  const files = ['gateway/src', 'lib/src'].flatMap((folder) =>
    readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  )
  const locks = files.flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(/pg_\w*advisory\w*\(.*/g)].map(
      ([lock]) => `${file}: ${lock}`,
    ),
  )
  expect(locks.length).toBeGreaterThan(5)
  // The keys of migrations and of shard views are parameters together with the schema, because it may not exist or be up to
  // date yet. `moveLock` is an advisoryKey.
  const apart = (lock: string) =>
    /advisoryKey\(|moveLock\(|current_schema\(\)|postgres\/(migrations|distributed-schema)\.ts/.test(lock)
  expect(locks.filter((lock) => !apart(lock))).toEqual([])
})
