import { randomInt } from 'node:crypto'
import { mkdirSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../telemetry/log.ts'
import { serverAccount } from './account.ts'
import { type Binaries, serverBinaries } from './binaries.ts'
import { type Cluster, clusterDirectory, connectionUrl, openCluster, writeSettings } from './cluster.ts'
import { lockDataDir, type Purpose } from './data-dir-lock.ts'
import { clearOrphan, launch, PortTaken, type Postmaster } from './postmaster.ts'
import type { Settings } from './settings.ts'

export interface EmbeddedPostgresOptions {
  /** May be relative; made where it is missing. */
  dataDir: string
  log: Log
  /** Who holds the data directory: a gateway refuses a second one, a short command is waited for. Default `gateway`. */
  purpose?: Purpose
  /** Off only for tests, whose data nobody misses. */
  fsync?: boolean
  /** Default 100. */
  maxConnections?: number
}

export interface EmbeddedPostgres {
  /** Valid for as long as this runs, also after the server crashed and came back. */
  url: string
  port: number
  /** Of the server that runs now; `undefined` between a crash and its return. */
  readonly pid: number | undefined
  /** Ends sessions and server and frees the data directory. May be called twice. */
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL that npm brought, on the data of this DATA_DIR, and keeps it running: one that dies is started
 * again on the same port.
 * @throws DataDirInUse when another process has this DATA_DIR
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, purpose = 'gateway', fsync = true, maxConnections = 100 } = options
  const dataDir = makeDataDir(options.dataDir)
  const lock = await lockDataDir(dataDir, purpose)
  try {
    const account = serverAccount(clusterDirectory(dataDir))
    const binaries = serverBinaries(account, dataDir)
    const cluster = openCluster(dataDir, account, binaries, fsync)
    await clearOrphan(cluster.directory, log)
    const { port, postmaster } = await launchOnFreePort(binaries, cluster, { fsync, maxConnections }, log)
    const supervised = supervise(postmaster, binaries, cluster, log)
    return {
      url: connectionUrl(cluster.password, port),
      port,
      get pid() {
        return supervised.pid()
      },
      stop: () => supervised.stop().finally(() => lock.release()),
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Root lets others pass through, for the server's account has its data inside; every file in it is closed. */
function makeDataDir(path: string): string {
  const dataDir = resolve(path)
  mkdirSync(dataDir, { recursive: true, mode: process.getuid!() === 0 ? 0o711 : 0o700 })
  // The kernel tells where a process works by the real path: symbolic links on the way would hide an orphan from us.
  return realpathSync(dataDir)
}

/** Below the ports that systems hand out for outgoing connections, so that ours is still free after a crash. */
const LOWEST_PORT = 20_000
const HIGHEST_PORT = 32_000
const PORT_ATTEMPTS = 20

/** The server itself finds out whether a port is free: a probe beforehand would only be a guess. */
async function launchOnFreePort(binaries: Binaries, cluster: Cluster, settings: Omit<Settings, 'port'>, log: Log) {
  for (let attempt = 1; ; attempt += 1) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT)
    writeSettings(cluster, { port, ...settings })
    try {
      return { port, postmaster: await launch(binaries, cluster, log) }
    } catch (error) {
      if (!(error instanceof PortTaken) || attempt === PORT_ATTEMPTS) throw error
    }
  }
}

const SLOWEST_RESTART_MS = 5_000

function supervise(first: Postmaster, binaries: Binaries, cluster: Cluster, log: Log) {
  let current: Postmaster | undefined = first
  const stopping = new AbortController()
  const watching = watch()

  async function watch(): Promise<void> {
    while (current) {
      const how = await current.exited
      current = undefined
      if (stopping.signal.aborted) return
      log.error({ how }, 'the embedded PostgreSQL ended; starting it again')
      current = await comeBack()
      if (stopping.signal.aborted) await current?.stop()
    }
  }

  /** Tries until it runs: the gateway answers 000002 meanwhile, and a full disk may be emptied. */
  async function comeBack(): Promise<Postmaster | undefined> {
    for (let pauseMs = 0; !stopping.signal.aborted; pauseMs = Math.min(2 * pauseMs + 100, SLOWEST_RESTART_MS)) {
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return undefined
      try {
        await clearOrphan(cluster.directory, log)
        const postmaster = await launch(binaries, cluster, log)
        log.info({ pid: postmaster.pid }, 'the embedded PostgreSQL is back')
        return postmaster
      } catch (error) {
        log.error({ err: error }, 'the embedded PostgreSQL did not come back; trying again')
      }
    }
    return undefined
  }

  return {
    pid: () => current?.pid,
    async stop(): Promise<void> {
      stopping.abort()
      await current?.stop()
      await watching
    },
  }
}
