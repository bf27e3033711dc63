import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { serverBinaries } from './binaries.ts'
import { type Cluster, clusterDirectory, connectionUrl, ensureCluster, writeSettings } from './cluster.ts'
import { ensureDataDir, explainFileFault } from './data-dir.ts'
import { lockDataDir, type Purpose } from './data-dir-lock.ts'
import { launch, PortTaken, type Postmaster, serverLog, stopOrphan } from './postmaster.ts'
import { serverAccount } from './server-account.ts'
import type { Settings } from './server-settings.ts'
import { type Logger, StartError } from './start-error.ts'

export interface EmbeddedPostgresOptions {
  /** May be relative; created if missing. */
  dataDir: string
  log: Logger
  /** A second start fails while a gateway holds the data directory, and waits while a command does. Default `gateway`. */
  purpose?: Purpose
  /** Off only in tests, whose data need not survive a power cut. */
  fsync?: boolean
  /** Default 100. */
  maxConnections?: number
  /** The server's error lines that the caller causes and handles; they are logged only for debugging. */
  expectedErrors?: RegExp
}

export interface EmbeddedPostgres {
  /** Stays valid until `stop`, even after the server crashed and was restarted. */
  url: string
  port: number
  /** The server's current pid; `undefined` between a crash and the restart. */
  readonly pid: number | undefined
  /** Ends sessions and server and releases the data directory. May be called twice. */
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL server that npm installed, with the data in this DATA_DIR. Restarts it on the same port if it dies.
 * @throws StartError if the user can fix the failure; DataDirInUse if another process uses this DATA_DIR
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  return start(options).catch((error) => {
    const fault = explainFileFault(error, options.dataDir)
    throw fault === undefined ? error : new StartError(fault)
  })
}

async function start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, purpose = 'gateway', fsync = true, maxConnections = 100 } = options
  const dataDir = ensureDataDir(options.dataDir)
  const lock = await lockDataDir(dataDir, purpose)
  try {
    const account = serverAccount(clusterDirectory(dataDir))
    const binaries = serverBinaries(account, dataDir)
    const cluster = ensureCluster(dataDir, account, binaries, fsync)
    await stopOrphan(cluster.directory, log)
    const logLine = serverLog(log, options.expectedErrors)
    const launchServer = () => launch(binaries, cluster, logLine)
    const { port, postmaster } = await startOnFreePort(launchServer, cluster, { fsync, maxConnections })
    const restart = async () => {
      await stopOrphan(cluster.directory, log)
      return launchServer()
    }
    const supervised = supervise(postmaster, restart, log)
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

/** Below the ports that systems use for outgoing connections, so that ours is still free after a crash. */
const LOWEST_PORT = 20_000
const HIGHEST_PORT = 32_000
const PORT_ATTEMPTS = 20

/** Lets the server find out whether a port is free, because a check beforehand would be a race. */
async function startOnFreePort(start: () => Promise<Postmaster>, cluster: Cluster, settings: Omit<Settings, 'port'>) {
  for (let attempt = 1; ; attempt += 1) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT)
    writeSettings(cluster, { port, ...settings })
    try {
      return { port, postmaster: await start() }
    } catch (error) {
      if (!(error instanceof PortTaken) || attempt === PORT_ATTEMPTS) throw error
    }
  }
}

const RESTART_PAUSE_MAX_MS = 5_000

/** Restarts the server whenever it ends, until `stop`. */
function supervise(first: Postmaster, restart: () => Promise<Postmaster>, log: Logger) {
  let current: Postmaster | undefined = first
  const stopping = new AbortController()
  const watching = watch()

  async function watch(): Promise<void> {
    while (current) {
      const exit = await current.exited
      current = undefined
      if (stopping.signal.aborted) return
      log.error({ exit }, 'the embedded PostgreSQL ended; restarting it')
      current = await retryRestart()
      if (stopping.signal.aborted) await current?.stop()
    }
  }

  /** Retries until the server runs, because the cause may go away, such as a full disk. */
  async function retryRestart(): Promise<Postmaster | undefined> {
    for (let pauseMs = 0; !stopping.signal.aborted; pauseMs = Math.min(2 * pauseMs + 100, RESTART_PAUSE_MAX_MS)) {
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return undefined
      try {
        const postmaster = await restart()
        log.info({ pid: postmaster.pid }, 'the embedded PostgreSQL was restarted')
        return postmaster
      } catch (error) {
        log.error({ err: error }, 'the embedded PostgreSQL could not be restarted; retrying')
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
