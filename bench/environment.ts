import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { masterCipher } from '../packages/gateway/src/lib/crypto.ts'
import { connect, type Db } from '../packages/gateway/src/lib/db.ts'
import { startEmbeddedPostgres } from '../packages/gateway/src/lib/embedded-postgres/index.ts'
import { systemIds } from '../packages/gateway/src/lib/ids.ts'
import { silentLog } from '../packages/gateway/src/lib/log.ts'
import { createTenant } from '../packages/gateway/src/tenants/create.ts'
import { topUp } from '../packages/gateway/src/wallet/top-up.ts'
import { percentile } from './compare.ts'
import { type BenchGateway, startBenchGateway } from './gateway.ts'
import type { Credentials } from './load.ts'

/** A database of the bench's own, durable as in production, and gateways on it. */
export interface Environment {
  databaseUrl: string
  db: Db
  rounds: number
  progress(line: string): void
  /** A gateway that plays the api role alone, so that what is measured is the door and the order path. */
  startApi(): Promise<BenchGateway>
  tenants(count: number): Promise<Tenant[]>
  settings: string[]
  close(): Promise<void>
}

interface Tenant extends Credentials {
  tenantId: string
}

const MASTER_KEY = Buffer.alloc(32, 1)
const QPS_LIMIT = 100_000
const SYSTEM = { actor: 'system' } as const

export interface EnvironmentOptions {
  rounds: number
  progress(line: string): void
  profileDir?: string | undefined
}

export async function openEnvironment({ rounds, progress, profileDir }: EnvironmentOptions): Promise<Environment> {
  const dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-bench-'))
  const postgres = await startEmbeddedPostgres({ dataDir, log: silentLog })
  const env = {
    MASTER_KEY: MASTER_KEY.toString('base64'),
    DATABASE_URL: postgres.url,
    DATA_DIR: join(dataDir, 'local'),
  }
  let started = 0
  const start = () => startBenchGateway({ folder: dataDir, name: `gateway-${++started}`, role: 'api', env, profileDir })
  const first = await start() // migrates the database and brings the catalogue
  await first.stop()
  const db = connect({ url: postgres.url, poolSize: 4, applicationName: 'bench' })
  const cipher = masterCipher([MASTER_KEY])
  const deps = { db, ids: systemIds, cipher }
  const settings = await describe(db, dataDir)

  return {
    databaseUrl: postgres.url,
    db,
    rounds,
    progress,
    settings,
    startApi: start,
    async tenants(count) {
      const made: Tenant[] = []
      for (let index = 0; index < count; index++) {
        const tenant = await createTenant(deps, { clientName: `Bench dealer ${index}`, currencyCode: 'USD' }, SYSTEM)
        await topUp(deps, { tenantId: tenant.tenantId, amount: 9_000_000_000_000n, reference: 'bench' }, SYSTEM)
        made.push(tenant)
      }
      const values = [made.map((tenant) => tenant.tenantId), QPS_LIMIT]
      await db.query({ text: 'update tenants set qps_limit = $2 where tenant_id = any($1::uuid[])', values })
      return made
    },
    async close() {
      await db.close()
      await postgres.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function describe(db: Db, dataDir: string): Promise<string[]> {
  const names = [
    'server_version',
    'fsync',
    'synchronous_commit',
    'full_page_writes',
    'shared_buffers',
    'wal_sync_method',
  ]
  const rows = await db.query<{ name: string; setting: string }>({
    text: 'select name, setting from pg_settings where name = any($1) order by name',
    values: [names],
  })
  for (const demanded of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const row = rows.find((setting) => setting.name === demanded)
    if (row?.setting !== 'on') throw new Error(`${demanded} is ${row?.setting}: figures would mean nothing`)
  }
  return [
    `node ${process.version} on ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`,
    ...rows.map((row) => `${row.name} = ${row.setting}`),
    `a flush of 8 KiB to disk takes ${flushTime_ms(dataDir).toFixed(2)} ms (median of 200)`,
  ]
}

function flushTime_ms(dataDir: string): number {
  const file = openSync(join(dataDir, 'flush'), 'w')
  const page = Buffer.alloc(8192, 1)
  const times: number[] = []
  for (let index = 0; index < 200; index++) {
    const start = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    times.push(performance.now() - start)
  }
  closeSync(file)
  return percentile(
    times.sort((left, right) => left - right),
    0.5,
  )
}
