import { existsSync, realpathSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { clusterDirectory, connectionUrl, readPassword } from './cluster.ts'
import { DataDirInUse, findHolder } from './data-dir-lock.ts'
import { readPostmasterPid } from './postmaster.ts'
import { isPostgresIn } from './processes.ts'
import type { Logger } from './start-error.ts'
import { startEmbeddedPostgres } from './start-server.ts'

export interface BorrowedPostgres {
  url: string
  /** Stops the server if we started it; leaves a running gateway's server alone. */
  stop(): Promise<void>
}

const STARTING_GATEWAY_MS = 15_000

/** Provides a database for one command: the running gateway's, or a server that runs until the command stops it. */
export async function borrowPostgres(options: { dataDir: string; log: Logger }): Promise<BorrowedPostgres> {
  const deadline = Date.now() + STARTING_GATEWAY_MS
  for (;;) {
    const running = readRunningPostgres(options.dataDir)
    if (running) return { url: running.url, stop: async () => {} }
    try {
      return await startEmbeddedPostgres({ ...options, purpose: 'command' })
    } catch (error) {
      // A gateway that is starting, or restarting its server, holds the lock and will have a database soon.
      if (!(error instanceof DataDirInUse) || Date.now() > deadline) throw error
      await delay(50)
    }
  }
}

/** The database of the gateway that runs on this DATA_DIR; `undefined` if no gateway runs or its database is not ready. */
export function readRunningPostgres(dataDirPath: string): { url: string; gatewayPid: number } | undefined {
  if (!existsSync(dataDirPath)) return undefined
  const dataDir = realpathSync(dataDirPath)
  const directory = clusterDirectory(dataDir)
  const holder = findHolder(dataDir)
  const server = readPostmasterPid(directory)
  // A command's server stops when the command ends, so other processes must not use it.
  if (holder?.purpose !== 'gateway' || !server?.ready || !isPostgresIn(server.pid, directory)) return undefined
  return { url: connectionUrl(readPassword(dataDir), server.port), gatewayPid: holder.pid }
}
