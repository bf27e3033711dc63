import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { SYSTEM } from '../packages/gateway/src/platform/audit/audit.ts'
import { type CreateTenantDeps, createTenant } from '../packages/gateway/src/tenants/create-tenant.ts'
import { topUp } from '../packages/gateway/src/wallet/ledger/top-up-wallet.ts'
import { type Cipher, createCipher } from '../packages/lib/src/crypto.ts'
import { systemIds } from '../packages/lib/src/ids.ts'
import { createDb, type Db } from '../packages/lib/src/postgres/db.ts'
import { silentLog } from '../packages/lib/src/telemetry/log.ts'
import { median } from './compare.ts'
import { type BenchGateway, startBenchGateway } from './gateway.ts'
import type { Credentials } from './load.ts'

/** A database that a gateway has migrated, and gateways on it. */
export interface BenchDatabase {
  databaseUrl: string
  db: Db
  /** Starts a gateway with the role `api` only, to measure the dealer API and the order path. */
  startApi(): Promise<BenchGateway>
  /** Starts a gateway with the role `worker` only, which sends events. */
  startWorker(): Promise<BenchGateway>
  /** Starts a gateway with both roles, as `npm start` does. */
  startAll(): Promise<BenchGateway>
  /** Creates tenants with OPENING_BALANCE and a QPS limit that is never reached. */
  createTenants(count: number): Promise<Tenant[]>
  /** Drops the database, unless `--data` keeps it, and closes its connections. */
  drop(): Promise<void>
}

/** The environment that a figure is measured in. It has its own database, so earlier figures do not influence it. */
export interface Environment extends BenchDatabase {
  rounds: number
  /** Number of orders on the larger side of `growth`. */
  orders: number
  cipher: Cipher
  progress(line: string): void
  /** Creates another database on the same server. */
  createDatabase(name: string): Promise<BenchDatabase>
  /**
   * Creates a database and loads it. With `--data`, the database stays, and a later run uses it instead.
   * @param load returns what a later run must know of the loaded data, as JSON
   */
  createLoaded<Known>(
    name: string,
    load: (database: BenchDatabase) => Promise<Known>,
  ): Promise<{ database: BenchDatabase; known: Known }>
}

/** The bench's own server, as durable as in production. */
export interface BenchServer {
  settings: string[]
  createEnvironment(name: string): Promise<Environment>
  close(): Promise<void>
}

export interface Tenant extends Credentials {
  tenantId: string
}

export const OPENING_BALANCE = 9_000_000_000_000n
const MASTER_KEY = Buffer.alloc(32, 1)
const QPS_LIMIT = 100_000
/** Long enough to build indexes over millions of rows. */
const STATEMENT_TIMEOUT_MS = 1_800_000

export interface ServerOptions {
  rounds: number
  orders: number
  progress(line: string): void
  /** Instead of the embedded server: a superuser's URL. It may count statements with pg_stat_statements. */
  serverUrl?: string | undefined
  /** The folder of a server whose loaded databases stay for later runs. Without it, a temporary server is used. */
  dataDir?: string | undefined
  profileDir?: string | undefined
}

export async function createBenchServer({
  profileDir,
  serverUrl,
  dataDir,
  ...options
}: ServerOptions): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-bench-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeFolder)
  const postgres = serverUrl
    ? { url: serverUrl, stop: async () => {} }
    : await startEmbeddedPostgres({ dataDir: dataDir ?? folder, log: silentLog })
  const server = connectTo(postgres.url)
  options.progress('warming up the server')
  await warmUpServer(server)
  const cipher = createCipher([MASTER_KEY])
  const openDatabase = (name: string) => {
    const url = new URL(postgres.url)
    url.pathname = `/${name}`
    return createBenchDatabase(url.href, { cipher, folder, profileDir })
  }
  const createOpen = async (name: string) => {
    await dropDatabase(server, name) // an interrupted run on the same data left it
    await server.query({ text: `create database "${name}"` })
    await server.query({ text: `alter database "${name}" set maintenance_work_mem = '512MB'` })
    return openDatabase(name)
  }
  const createDatabase = async (name: string): Promise<BenchDatabase> => {
    const { close, ...database } = await createOpen(name)
    const drop = () => close().then(() => dropDatabase(server, name))
    return { ...database, drop }
  }
  async function createLoaded<Known>(name: string, load: (database: BenchDatabase) => Promise<Known>) {
    if (!dataDir) {
      const database = await createDatabase(name)
      return { database, known: await load(database) }
    }
    const kept = await openKept<Known>(server, name, openDatabase)
    if (kept) {
      options.progress(`  using the database ${name} of ${dataDir}`)
      return kept
    }
    const { close, ...opened } = await createOpen(name)
    const database = { ...opened, drop: close }
    const known = await load(database)
    await database.db.query({ text: 'create table bench_known as select $1::jsonb as known', values: [known] })
    return { database, known }
  }
  return {
    settings: await describeServer(server, folder),
    createEnvironment: async (name) => ({
      ...options,
      cipher,
      createDatabase,
      createLoaded,
      ...(await createDatabase(name)),
    }),
    async close() {
      await server.close()
      await postgres.stop()
      removeFolder()
    },
  }
}

type OpenDatabase = Omit<BenchDatabase, 'drop'> & { close(): Promise<void> }

async function dropDatabase(server: Db, name: string): Promise<void> {
  await server.query({ text: `drop database if exists "${name}" with (force)` })
}

/** Opens a database that was loaded completely, as its last table says; undefined if it does not exist. */
async function openKept<Known>(
  server: Db,
  name: string,
  open: (name: string) => Promise<OpenDatabase>,
): Promise<{ database: BenchDatabase; known: Known } | undefined> {
  const values = [name]
  const found = await server.query({ text: 'select from pg_database where datname = $1', values })
  if (found.length === 0) return undefined
  const { close, ...database } = await open(name)
  const [table] = await database.db.query<{ exists: boolean }>({
    text: `select to_regclass('bench_known') is not null as exists`,
  })
  if (!table!.exists) {
    await close()
    return undefined
  }
  const [row] = await database.db.query<{ known: Known }>({ text: 'select known from bench_known' })
  return { database: { ...database, drop: close }, known: row!.known }
}

/**
 * Lets the server create its WAL segments and touch its shared memory. A new server does both while it runs statements,
 * which costs a tenth of their time.
 */
async function warmUpServer(server: Db): Promise<void> {
  await server.query({
    text: `select count(pg_logical_emit_message(false, 'bench', repeat(md5(n::text), 32768))) from generate_series(1, $1) n`,
    values: [WARM_UP_WAL_MB],
  })
  await server.query({
    text: `create unlogged table warm_up as select repeat(md5(n::text), 32) as kilobyte
           from generate_series(1, (select pg_size_bytes(current_setting('shared_buffers')) / 1024)) n`,
  })
  await server.query({ text: 'drop table warm_up' })
  await server.query({ text: 'checkpoint' }) // makes the segments reusable
}

/** Roughly the WAL that the orders of a figure write. */
const WARM_UP_WAL_MB = 800

function connectTo(url: string) {
  return createDb({ url, poolSize: 4, applicationName: 'bench', statementTimeoutMs: STATEMENT_TIMEOUT_MS })
}

interface DatabaseOptions {
  cipher: Cipher
  folder: string
  profileDir: string | undefined
}

let started = 0

async function createBenchDatabase(
  databaseUrl: string,
  { cipher, folder, profileDir }: DatabaseOptions,
): Promise<OpenDatabase> {
  const env = {
    MASTER_KEY: MASTER_KEY.toString('base64'),
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'local'),
  }
  const start = (role: 'api' | 'worker' | 'all') =>
    startBenchGateway({ folder, name: `gateway-${++started}`, role, env, profileDir })
  const first = await start('api') // migrates the database and loads the catalogue
  await first.stop()
  const db = connectTo(databaseUrl)
  return {
    databaseUrl,
    db,
    startApi: () => start('api'),
    startWorker: () => start('worker'),
    startAll: () => start('all'),
    createTenants: (count) => createTenants({ db, ids: systemIds, cipher, config: { cellName: 'main' } }, count),
    close: () => db.close(),
  }
}

async function createTenants(deps: CreateTenantDeps, count: number): Promise<Tenant[]> {
  const tenants: Tenant[] = []
  for (let index = 0; index < count; index++) {
    const tenant = await createTenant(deps, { clientName: `Bench dealer ${index}`, currencyCode: 'USD' }, SYSTEM)
    await topUp(deps, { tenantId: tenant.tenantId, amount: OPENING_BALANCE, reference: 'bench' }, SYSTEM)
    tenants.push(tenant)
  }
  const values = [tenants.map((tenant) => tenant.tenantId), QPS_LIMIT]
  await deps.db.query({ text: 'update tenants set qps_limit = $2 where tenant_id = any($1::uuid[])', values })
  return tenants
}

async function describeServer(db: Db, folder: string): Promise<string[]> {
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
  for (const required of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const row = rows.find((setting) => setting.name === required)
    if (row?.setting !== 'on')
      throw new Error(`${required} is ${row?.setting}. Figures are meaningful only if it is on.`)
  }
  return [
    `node ${process.version} on ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`,
    ...rows.map((row) => `${row.name} = ${row.setting}`),
    `a flush of 8 KiB to disk takes ${flushTimeMs(folder).toFixed(2)} ms (median of 200)`,
  ]
}

function flushTimeMs(folder: string): number {
  const file = openSync(join(folder, 'flush'), 'w')
  const page = Buffer.alloc(8192, 1)
  const times: number[] = []
  for (let index = 0; index < 200; index++) {
    const start = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    times.push(performance.now() - start)
  }
  closeSync(file)
  return median(times)
}
