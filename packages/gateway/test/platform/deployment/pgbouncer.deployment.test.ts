import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examine } from '#operations/doctor/examine.ts'
import { inspectConfig } from '#platform/config/config.ts'
import { addDealer, call, NODE_ENV, type Node, startNode } from '#test/harness/api-node.ts'
import { canRun } from '#test/harness/can-run.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { freePort } from '#test/harness/processes/free-port.ts'
import { SHARED_MASTER_KEY, spawnGateway, startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { removeFolder } from '#test/harness/temporary-folders.ts'
import { addPackages } from '#test/http/dealer/api-fixture.ts'
import { isListening } from './proxies.ts'

type PoolMode = 'session' | 'transaction' | 'statement'

let database: TestDatabase
let operator: Node
const poolers: ChildProcess[] = []
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-pgbouncer-'))
beforeAll(async () => {
  chmodSync(folder, 0o755)
  database = await createTestDatabase()
  operator = await startNode(database.url)
  await addPackages(operator)
})
afterAll(async () => {
  await stopGateways()
  for (const pooler of poolers) if (pooler.kill('SIGINT') && pooler.exitCode === null) await once(pooler, 'close')
  await operator.stop()
  await database.drop()
  removeFolder(folder)
})

/** @returns the database's URL through PgBouncer */
async function startPgBouncer(mode: PoolMode): Promise<string> {
  const url = new URL(database.url)
  const port = await freePort()
  const name = url.pathname.slice(1)
  const target = `host=${url.hostname} port=${url.port} dbname=${name} user=${url.username} password=${decodeURIComponent(url.password)}`
  const file = join(folder, `${mode}.ini`)
  writeFileSync(
    file,
    `[databases]
${name} = ${target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 100
max_client_conn = 200
`,
  )
  // PgBouncer refuses to run as root.
  const account = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const pooler = spawn('pgbouncer', [file], { stdio: 'ignore', ...account })
  poolers.push(pooler)
  await waitUntil(() => isListening(port))
  url.host = `127.0.0.1:${port}`
  // Parameters of the embedded server that operators do not set: PgBouncer refuses them.
  url.search = ''
  return url.href
}

function diagnose(databaseUrl: string) {
  const { config, faults } = inspectConfig(
    { DATABASE_URL: databaseUrl, MASTER_KEY: SHARED_MASTER_KEY, METRICS_PORT: '0' },
    [],
  )
  return examine({ config, configFaults: faults, databaseUrl, masterKeys: config.masterKeys })
}

describe.skipIf(!canRun('gateways behind PgBouncer', 'pgbouncer'))('behind PgBouncer', () => {
  it('a gateway in session mode sells and delivers, and its limits hold', async () => {
    const url = await startPgBouncer('session')
    const gateway = await startGateway({ databaseUrl: url, env: NODE_ENV })
    const dealer = await addDealer(operator.deps)
    const order = { transactionId: 'POOLED', packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] }
    const [placed, ...replays] = await Promise.all(
      Array.from({ length: 20 }, () => call(gateway, dealer, 'esim/order', { body: JSON.stringify(order) })),
    )
    for (const { code, data } of replays) expect([code, data.orderNo]).toEqual(['000000', placed!.data.orderNo])
    const query = { body: JSON.stringify({ transactionId: 'POOLED' }) }
    await waitUntil(async () => (await call(gateway, dealer, 'esim/query', query)).data.orderStatus === 'DELIVERED')

    const limited = createDb({
      url,
      poolSize: 2,
      applicationName: 'test pooled',
      statementTimeoutMs: 300,
      lockTimeoutMs: 200,
    })
    const slow = { text: 'select pg_sleep($1)', values: [5] }
    await expect(limited.query(slow)).rejects.toSatisfy((error) => sqlState(error) === '57014')
    await limited.close()
    const findings = await diagnose(url)
    const ofIt = findings.filter(({ check }) => check === 'database' || check === 'session')
    expect(ofIt.filter(({ state }) => state !== 'OK')).toEqual([])
    expect(ofIt.map(({ check }) => check)).toContain('session')
  })

  it('gateways with different schemas share the pooler in session mode', async () => {
    const url = await startPgBouncer('session')
    const env = { ...NODE_ENV, DATABASE_SCHEMA: 'cell_two', CELL_NAME: 'two' }
    const gateway = await startGateway({ databaseUrl: url, env })
    const second = await startNode(url, env)
    try {
      await addPackages(second)
      const dealer = await addDealer(second.deps)
      const body = JSON.stringify({ transactionId: 'TWO', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
      expect((await call(gateway, dealer, 'esim/order', { body })).code).toBe('000000')
      const text = `select from cell_two.orders where transaction_id = 'TWO'`
      expect(await operator.deps.db.query({ text })).toHaveLength(1)
      expect(await operator.deps.db.query({ text: text.replace('cell_two.', '') })).toEqual([])
    } finally {
      await second.stop()
    }
  })

  it.each(['transaction', 'statement'] as const)(
    'a gateway in %s mode does not start, and says what to do',
    async (mode) => {
      const url = await startPgBouncer(mode)
      const refusal = /connection pooler .* Set pool_mode = session in PgBouncer/
      const gateway = spawnGateway({ databaseUrl: url, env: NODE_ENV })
      expect((await gateway.exited).code).toBe(1)
      expect(gateway.stderr).toMatch(refusal)
      expect((await diagnose(url)).find(({ state }) => state === 'FAULT')).toMatchObject({ check: 'database' })
    },
  )
})
