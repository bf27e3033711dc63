import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { borrowPostgres, readRunningPostgres } from '@dealer-esim/embedded-postgres'
import { type Config, readConfig } from '../config/config.ts'
import { ensureDeployment } from '../deployment/ensure.ts'
import { nameWithKeys } from '../deployment/peers.ts'
import type { Topic } from '../deps.ts'
import { type Clock, createDatabaseClock, type DatabaseClock, sampleDatabaseClock, systemClock } from '../lib/clock.ts'
import { type Cipher, createCipher } from '../lib/crypto.ts'
import { createIds, type Ids } from '../lib/ids.ts'
import { ensureLocalMasterKey } from '../lib/master-key.ts'
import { createDb, type Db } from '../lib/postgres/db.ts'
import { migrate, requireMigrated } from '../lib/postgres/migrate.ts'
import { type Wakeups, wakeupStatement } from '../lib/postgres/wakeups.ts'
import { StartRefused } from '../lib/process/lifecycle.ts'
import type { Log } from '../lib/telemetry/log.ts'
import { silentLog } from '../lib/telemetry/log.ts'
import { maintainPartitions } from '../retention/loop.ts'

/** What admin commands work with: the gateway's own, as far as a command needs it and can have it at once. */
export interface AdminDeps {
  config: Config
  log: Log
  clock: Clock
  databaseClock: DatabaseClock
  ids: Ids
  db: Db
  cipher: Cipher
  linkKey: Buffer
  /** Tells the running nodes when the command ends. */
  wake: Pick<Wakeups<Topic>, 'wake' | 'on'>
}

/**
 * The gateway's configuration and its database: the running gateway's, else the embedded one, started for this command.
 * @throws StartRefused where a local gateway would be made that nobody asked for
 */
export async function openDatabase(): Promise<{ config: Config; url: string; stop(): Promise<void> }> {
  const config = readConfig(process.env, [])
  if (config.databaseUrl) return { config, url: config.databaseUrl, stop: async () => {} }
  const running = readRunningPostgres(config.dataDir)
  if (running) return { config, url: running.url, stop: async () => {} }
  refuseToInvent(config)
  const borrowed = await borrowPostgres({ dataDir: config.dataDir, log: silentLog })
  return { config, url: borrowed.url, stop: () => borrowed.stop() }
}

/** On a server a shell has none of the gateway's variables: a command there would make, and change, a gateway of its own. */
function refuseToInvent({ dataDir }: Config): void {
  if (process.env.DEPLOYMENT?.trim() || hasDatabase(dataDir)) return
  throw new StartRefused(
    `DEPLOYMENT is not set and there is no local gateway in ${dataDir}. On a server, give the command the variables of its gateway: sudo ops/dealer-esim-admin … (docs/running.md). On a machine of your own, start a gateway first: npm start.`,
  )
}

function hasDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, 'postgres'))
}

/**
 * @throws StartRefused when the database is of another release, deployment or master key. An embedded database that no
 * gateway runs is brought to this release; one that others use never is, but by `admin migrate`.
 */
export async function openDeps(): Promise<{ deps: AdminDeps; close(): Promise<void> }> {
  const database = await openDatabase()
  const { config, url } = database
  const cipher = createCipher(config.masterKeys ?? [ensureLocalMasterKey(config.dataDir)])
  const db = createDb({ url, poolSize: 4, applicationName: nameWithKeys('dealer-esim admin', cipher) })
  const wake = tellOnly(db)
  const close = async () => {
    await wake.tell().catch(() => {}) // lost: the nodes poll
    await db.close()
    await database.stop()
  }
  try {
    const ours = config.databaseUrl === undefined && !readRunningPostgres(config.dataDir)
    if (ours) await prepare(db, url)
    else await requireMigrated(db)
    const clock = systemClock
    const clocks = { clock, databaseClock: await clockOf(db, clock) }
    const ids = createIds(clocks.databaseClock.now)
    const linkKey = await ensureDeployment({ db, cipher, ids }, config.deployment)
    const deps = { config, log: silentLog, ...clocks, ids, db, cipher, linkKey, wake }
    return { deps, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Brings a database to this release, with the partitions that today's rows need. @returns the migrations that ran */
export async function prepare(db: Db, url: string): Promise<string[]> {
  const ran = await migrate({ databaseUrl: url, log: silentLog })
  await maintainPartitions(db)
  return ran
}

async function clockOf(db: Db, clock: Clock): Promise<DatabaseClock> {
  const known = createDatabaseClock(clock)
  await sampleDatabaseClock(db, clock, known)
  return known
}

function tellOnly(db: Db) {
  const topics = new Set<Topic>()
  return {
    wake: (topic: Topic) => void topics.add(topic),
    on: () => () => {}, // a command does not stay to hear
    async tell() {
      if (topics.size > 0) await db.query(wakeupStatement(`admin-${process.pid}`, topics))
    },
  }
}
