import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startEmbeddedPostgres } from '@dealer-esim/embedded-postgres'
import { serverBinaries } from '@dealer-esim/embedded-postgres/binaries.ts'
import { clusterDirectory, dataArgument } from '@dealer-esim/embedded-postgres/cluster.ts'
import { signalOnExit } from '@dealer-esim/embedded-postgres/processes.ts'
import { serverAccount } from '@dealer-esim/embedded-postgres/server-account.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import pg from 'pg'
import { waitUntil } from '../shop.ts'
import { removeFolder } from '../temporary-folders.ts'

/** The clock of processes started with its environment. Their monotonic clock is not affected. */
export interface FakeTime {
  env: Record<string, string>
  /** How far ahead the clock is from now on; if negative, behind. */
  setOffset(offsetMs: number): void
}

export interface FakeTimeServer extends FakeTime {
  url: string
  /** Lines in the server's log about crashes of its processes: a crash explains missing data in a test. */
  listCrashes(): string[]
  stop(): Promise<void>
}

/** Where Debian's faketime package puts its library; undefined if it is not installed. */
export function findFakeTimeLibrary(): string | undefined {
  try {
    const arch = execFileSync('uname', ['-m'], { encoding: 'utf8' }).trim()
    const file = `/usr/lib/${arch}-linux-gnu/faketime/libfaketimeMT.so.1`
    return existsSync(file) ? file : undefined
  } catch {
    return undefined
  }
}

function createFakeTime(library: string, folder: string): FakeTime {
  const file = join(folder, 'offset')
  const setOffset = (offsetMs: number) => {
    writeFileSync(`${file}.new`, `${offsetMs < 0 ? '' : '+'}${offsetMs / 1000}\n`, { mode: 0o644 })
    renameSync(`${file}.new`, file)
  }
  setOffset(0)
  const env = { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', DONT_FAKE_MONOTONIC: '1' }
  return { env, setOffset }
}

/** A clock for gateway processes. */
export function fakeNodeTime(library: string): FakeTime & { remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-time-'))
  return { ...createFakeTime(library, folder), remove: () => removeFolder(folder) }
}

/** A separate PostgreSQL server with a clock that the test sets. */
export async function startFakeTimeServer(library: string): Promise<FakeTimeServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-faketime-'))
  chmodSync(dataDir, 0o711)
  const time = createFakeTime(library, dataDir)
  const first = await startEmbeddedPostgres({ dataDir, log: silentLog, fsync: false, maxConnections: 200 })
  const { url } = first
  await first.stop()
  const directory = clusterDirectory(dataDir)
  const account = serverAccount(directory)
  // Without fsync the embedded server also commits asynchronously, so a crash of one of its processes loses orders.
  const args = ['-D', dataArgument(directory, account), '-c', 'synchronous_commit=on']
  const child = spawn(serverBinaries(account, dataDir).postgres, args, {
    ...account,
    cwd: directory,
    env: { TZ: 'UTC', ...time.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const crashes: string[] = []
  createInterface(child.stderr).on('line', (line) => {
    if (/PANIC|terminated by signal|redo starts/.test(line)) crashes.push(line)
  })
  const exited = new Promise((resolve) => child.once('close', resolve))
  const watchdog = signalOnExit(child.pid!, 'INT', account)
  await waitUntil(
    async () => {
      const client = new pg.Client({ connectionString: url })
      return client.connect().then(
        () => client.end().then(() => true),
        () => false,
      )
    },
    30_000,
    100,
  )
  return {
    ...time,
    url,
    listCrashes: () => crashes,
    async stop() {
      child.kill('SIGINT')
      await exited
      watchdog.cancel()
      removeFolder(dataDir)
    },
  }
}
