import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartRefused } from '../process/start-refused.ts'
import { type Account, canEnter } from './account.ts'
import type { Binaries } from './binaries.ts'
import { postgresqlConf, type Settings } from './settings.ts'

/** One cluster on disk: DATA_DIR/postgres, its password beside it. */
export interface Cluster {
  directory: string
  account: Account
  password: string
}

export const SUPERUSER = 'gateway'

export function clusterDirectory(dataDir: string): string {
  return join(dataDir, 'postgres')
}

/** The cluster of this DATA_DIR, made where there is none. Either it exists whole afterwards or not at all. */
export function openCluster(dataDir: string, account: Account, binaries: Binaries, durable: boolean): Cluster {
  const directory = clusterDirectory(dataDir)
  if (existsSync(directory)) {
    refuseOtherMajor(directory, binaries)
    return { directory, account, password: readPassword(dataDir) }
  }
  const password = randomBytes(24).toString('base64url')
  writePassword(dataDir, password)
  const draft = `${directory}.new`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  if (account) chownSync(draft, account.uid, account.gid)
  initialise(draft, account, binaries, password, durable)
  renameSync(draft, directory)
  return { directory, account, password }
}

/** Written anew at every start, so that the settings are those of this release and nobody's edits are half obeyed. */
export function writeSettings(cluster: Cluster, settings: Settings): void {
  const file = join(cluster.directory, 'postgresql.conf')
  writeFileSync(file, postgresqlConf(settings), { mode: 0o600 })
  if (cluster.account) chownSync(file, cluster.account.uid, cluster.account.gid)
}

export function connectionUrl(password: string, port: number): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`
}

export function readPassword(dataDir: string): string {
  const file = passwordFile(dataDir)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartRefused(`The password of the embedded PostgreSQL cannot be read: ${(error as Error).message}`)
  }
}

/**
 * How the server is told where its data lie. It stats the whole path, so under a directory that its account cannot
 * enter it gets the working directory that we, who can, start it in; Linux reaches that without walking the path.
 */
export function dataArgument(directory: string, account: Account): string {
  if (canEnter(account, directory)) return directory
  if (process.platform === 'linux') return '/proc/self/cwd'
  throw new StartRefused(
    `User ${account?.uid} cannot enter ${directory}. Choose a DATA_DIR that it can, or set DATABASE_URL.`,
  )
}

function initialise(directory: string, account: Account, binaries: Binaries, password: string, durable: boolean): void {
  // The password goes by a file in a directory of its own: the account can read it, the list of processes cannot.
  const exchange = mkdtempSync(join(tmpdir(), 'dealer-esim-'))
  const passwordCopy = join(exchange, 'password')
  try {
    writeFileSync(passwordCopy, password, { mode: 0o600 })
    if (account) for (const path of [passwordCopy, exchange]) chownSync(path, account.uid, account.gid)
    const run = spawnSync(
      binaries.initdb,
      [
        `--pgdata=${dataArgument(directory, account)}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${passwordCopy}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
        '--data-checksums',
        '--no-instructions',
        ...(durable ? [] : ['--no-sync']),
      ],
      { ...account, cwd: directory, env: { TZ: 'UTC' }, encoding: 'utf8' },
    )
    if (run.status !== 0) throw new StartRefused(`initdb failed: ${run.error?.message ?? run.stderr.trim()}`)
  } finally {
    rmSync(exchange, { recursive: true, force: true })
  }
}

function refuseOtherMajor(directory: string, binaries: Binaries): void {
  const has = readFileSync(join(directory, 'PG_VERSION'), 'utf8').trim()
  const wants = binaries.version.split('.')[0]
  if (has === wants) return
  throw new StartRefused(
    `${directory} was made by PostgreSQL ${has}, this release brings ${wants}. Dump it with the old release and load it into a new DATA_DIR.`,
  )
}

function passwordFile(dataDir: string): string {
  return join(dataDir, 'postgres.password')
}

function writePassword(dataDir: string, password: string): void {
  const file = passwordFile(dataDir)
  writeFileSync(file, `${password}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
}
