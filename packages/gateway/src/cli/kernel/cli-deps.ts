import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { borrowPostgres, readRunningPostgres } from '@dealer-esim/embedded-postgres'
import {
  type Clock,
  createDatabaseClock,
  type DatabaseClock,
  sampleDatabaseClock,
  systemClock,
} from '@dealer-esim/lib/clock.ts'
import { type Cipher, createCipher } from '@dealer-esim/lib/crypto.ts'
import { createIds, type Ids } from '@dealer-esim/lib/ids.ts'
import { ensureLocalMasterKey } from '@dealer-esim/lib/local-master-key.ts'
import { createDb, type Db, joinTransaction } from '@dealer-esim/lib/postgres/db.ts'
import { migrate, requireMigrated } from '@dealer-esim/lib/postgres/migrations.ts'
import { type Wakeups, wakeupStatement } from '@dealer-esim/lib/postgres/wakeups.ts'
import { StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import type { Topic } from '#deps.ts'
import { type Config, readConfig } from '#platform/config/config.ts'
import { ensureDeployment } from '#platform/deployment/ensure-deployment.ts'
import { nameWithKeys } from '#platform/deployment/peers.ts'
import { hasTwinsSchema, migrateSchemas, twinConfigOf } from '#platform/deployment/twins-schema.ts'
import { migrationsFolder } from '#platform/package-root.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'

/** The dependencies of admin commands: those of the gateway's that a command needs and can create quickly. */
export interface AdminDeps {
  config: Config
  /** The database in use, which may be an embedded one. */
  databaseUrl: string
  /** The keys of `cipher`. */
  masterKeys: readonly [Buffer, ...Buffer[]]
  log: Log
  clock: Clock
  databaseClock: DatabaseClock
  ids: Ids
  db: Db
  cipher: Cipher
  linkKey: Buffer
  /** Collects wakeups and sends them to the running nodes when the command ends. */
  wake: Pick<Wakeups<Topic>, 'wake' | 'on'>
  /** Sends the collected wakeups without waiting for a commit, for a command that waits for the nodes. */
  wakeNow(): Promise<void>
}

/** Makes several changes in one transaction: all of them or none. */
export function inTransaction<Result>(deps: AdminDeps, work: (deps: AdminDeps) => Promise<Result>): Promise<Result> {
  return deps.db.tx((tx) => work({ ...deps, db: joinTransaction(deps.db, tx) }))
}

interface BorrowedDatabase {
  config: Config
  url: string
  /** Stops the database if it was started for this command. */
  stop(): Promise<void>
}

/**
 * The gateway's configuration and its database. An embedded database that is not running is started for this command.
 * @throws StartRefused if there is no local gateway, so a new one would have to be created
 */
export async function borrowDatabase(): Promise<BorrowedDatabase> {
  const config = readConfig(process.env, [])
  if (config.databaseUrl) return { config, url: config.databaseUrl, stop: async () => {} }
  const running = readRunningPostgres(config.dataDir)
  if (running) return { config, url: running.url, stop: async () => {} }
  refuseNewDatabase(config)
  const borrowed = await borrowPostgres({ dataDir: config.dataDir, log: silentLog })
  return { config, url: borrowed.url, stop: () => borrowed.stop() }
}

/**
 * A shell on a server lacks the gateway's variables. A command there would create a new local gateway and change that one
 * instead.
 */
function refuseNewDatabase({ dataDir }: Config): void {
  if (process.env.DEPLOYMENT?.trim() || hasDatabase(dataDir)) return
  throw new StartRefused(
    `DEPLOYMENT is not set and there is no local gateway in ${dataDir}. On a server, run the command with the variables of its gateway: sudo ops/dealer-esim-admin … (docs/running.md). On your own machine, start a gateway first: npm start.`,
  )
}

function hasDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, 'postgres'))
}

interface OpenDeps {
  deps: AdminDeps
  close(): Promise<void>
}

/**
 * Migrates an embedded database that no gateway is using. Only `admin migrate` migrates other databases.
 * @throws StartRefused if the database belongs to a different release, deployment or master key
 */
export async function createAdminDeps(): Promise<OpenDeps> {
  const database = await borrowDatabase()
  try {
    const { deps, close } = await openDatabase(database)
    return { deps, close: () => close().finally(() => database.stop()) }
  } catch (error) {
    await database.stop() // a server left running would keep this process alive
    throw error
  }
}

/**
 * Runs `work` with the dependencies of the test twins. Without `create`, `work` gets undefined while there is no schema of them.
 * @throws StartRefused if the schema may not be created
 */
export async function withTwins<Result>(
  { config, databaseUrl: url, db }: Pick<AdminDeps, 'config' | 'databaseUrl' | 'db'>,
  options: { create: boolean },
  work: (twins: AdminDeps | undefined) => Promise<Result>,
): Promise<Result> {
  if (!options.create && !(await hasTwinsSchema(db, config.databaseSchema))) return work(undefined)
  const twinConfig = twinConfigOf(config)
  const { databaseSchema: schema, deployment } = twinConfig
  const isProduction = deployment === 'production'
  await migrate({ databaseUrl: url, schema, isProduction, log: silentLog, directory: migrationsFolder() })
  const { deps, close } = await openDatabase({ config: twinConfig, url })
  try {
    await maintainPartitions(deps.db)
    return await work(deps)
  } finally {
    await close()
  }
}

async function openDatabase(database: Omit<BorrowedDatabase, 'stop'>): Promise<OpenDeps> {
  const { config, url } = database
  const { databaseSchema: schema } = config
  const masterKeys = config.masterKeys ?? ([ensureLocalMasterKey(config.dataDir)] as const)
  const cipher = createCipher(masterKeys)
  const db = createDb({
    url,
    schema,
    poolSize: 4,
    applicationName: nameWithKeys('admin', cipher, schema),
  })
  const wakeups = collectWakeups(db, schema)
  const close = async () => {
    await wakeups.send().catch(() => {}) // nodes also poll
    await db.close()
  }
  try {
    const isOurs = config.databaseUrl === undefined && !readRunningPostgres(config.dataDir)
    if (isOurs) await prepareDatabase(db, database)
    else await requireMigrated(db, migrationsFolder())
    const clock = systemClock
    const clocks = { clock, databaseClock: await createSampledClock(db, clock) }
    const ids = createIds(clocks.databaseClock.now)
    const linkKey = await ensureDeployment({ db, cipher, ids }, config.deployment)
    const deps = { config, databaseUrl: url, masterKeys, log: silentLog, ...clocks, ids, db, cipher, linkKey }
    return { deps: { ...deps, wake: wakeups, wakeNow: wakeups.send }, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Migrates a database and creates the partitions that are needed now. @returns the migrations that ran */
export async function prepareDatabase(db: Db, { url, config }: { url: string; config: Config }): Promise<string[]> {
  const { databaseSchema: schema, deployment } = config
  const isProduction = deployment === 'production'
  const ran = await migrateSchemas({ databaseUrl: url, schema, isProduction, log: silentLog })
  await maintainPartitions(db)
  return ran
}

async function createSampledClock(db: Db, clock: Clock): Promise<DatabaseClock> {
  const databaseClock = createDatabaseClock(clock)
  await sampleDatabaseClock(db, clock, databaseClock)
  return databaseClock
}

function collectWakeups(db: Db, schema: string) {
  const topics = new Set<Topic>()
  return {
    wake: (topic: Topic) => void topics.add(topic),
    on: () => () => {}, // a command does not wait for wakeups
    async send() {
      if (topics.size === 0) return
      await db.query(wakeupStatement(`admin-${process.pid}`, topics, schema))
      topics.clear()
    },
  }
}
