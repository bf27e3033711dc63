import { existsSync, realpathSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../telemetry/log.ts'
import { clusterDirectory, connectionUrl, readPassword } from './cluster.ts'
import { DataDirInUse, holderOf } from './data-dir-lock.ts'
import { readPostmasterPid } from './postmaster.ts'
import { isPostgresIn } from './process-identity.ts'
import { startEmbeddedPostgres } from './start.ts'

/** The database of the gateway that runs on this DATA_DIR, or `undefined` where none runs or it is not ready. */
export function readRunningPostgres(dataDirPath: string): { url: string; gatewayPid: number } | undefined {
  if (!existsSync(dataDirPath)) return undefined
  const dataDir = realpathSync(dataDirPath)
  const holder = holderOf(dataDir)
  const server = readPostmasterPid(clusterDirectory(dataDir))
  // A command stops its server when it ends: nobody else may build on that.
  if (holder?.purpose !== 'gateway' || !server?.ready || !isPostgresIn(server.pid, clusterDirectory(dataDir)))
    return undefined
  return { url: connectionUrl(readPassword(dataDir), server.port), gatewayPid: holder.pid }
}

export interface BorrowedPostgres {
  url: string
  /** Stops the server where we started it; leaves a running gateway's alone. */
  stop(): Promise<void>
}

const STARTING_GATEWAY_MS = 15_000

/** For one command: the database of the gateway that runs here, or the server started for as long as the command takes. */
export async function borrowPostgres(options: { dataDir: string; log: Log }): Promise<BorrowedPostgres> {
  const deadline = Date.now() + STARTING_GATEWAY_MS
  for (;;) {
    const running = readRunningPostgres(options.dataDir)
    if (running) return { url: running.url, stop: async () => {} }
    try {
      return await startEmbeddedPostgres({ ...options, purpose: 'command' })
    } catch (error) {
      // A gateway that is just starting, or whose server is coming back, has the lock and will have a database soon.
      if (!(error instanceof DataDirInUse) || Date.now() > deadline) throw error
      await delay(50)
    }
  }
}
