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
import type { Binaries } from './binaries.ts'
import { type Account, canEnter } from './server-account.ts'
import { postgresqlConf, type Settings } from './server-settings.ts'
import { StartError } from './start-error.ts'

/** One cluster on disk: DATA_DIR/postgres, with its password in DATA_DIR/postgres.password. */
export interface Cluster {
  directory: string
  account: Account
  password: string
}

export const SUPERUSER = 'gateway'

export function clusterDirectory(dataDir: string): string {
  return join(dataDir, 'postgres')
}

/** The cluster of this DATA_DIR, created if it does not exist. Creation is atomic: a crash leaves no partial cluster. */
export function ensureCluster(dataDir: string, account: Account, binaries: Binaries, durable: boolean): Cluster {
  const directory = clusterDirectory(dataDir)
  if (existsSync(directory)) {
    checkMajorVersion(directory, binaries)
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

/** Rewrites the settings at every start, so that they are those of this release; manual edits are lost. */
export function writeSettings(cluster: Cluster, settings: Settings): void {
  const file = join(cluster.directory, 'postgresql.conf')
  writeFileSync(file, postgresqlConf(settings), { mode: 0o600 })
  if (cluster.account) chownSync(file, cluster.account.uid, cluster.account.gid)
}

/**
 * Names whatever the driver would otherwise take from the environment, such as PGSSLMODE or PGOPTIONS, which a machine may
 * have for another database. It takes an empty option from there too: hence the space.
 */
const PARAMETERS = 'sslmode=disable&sslnegotiation=postgres&client_encoding=UTF8&replication=false&options=%20'

export function connectionUrl(password: string, port: number): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres?${PARAMETERS}`
}

export function readPassword(dataDir: string): string {
  const file = passwordFile(dataDir)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartError(`Cannot read the password of the embedded PostgreSQL: ${(error as Error).message}`)
  }
}

/**
 * The server's -D argument. The server stats the whole path, which fails under a directory that its account cannot
 * enter. There it gets its working directory instead, which Linux resolves without walking the path.
 */
export function dataArgument(directory: string, account: Account): string {
  if (canEnter(account, directory)) return directory
  if (process.platform === 'linux') return '/proc/self/cwd'
  throw new StartError(
    `User ${account?.uid} cannot enter ${directory}. Choose a DATA_DIR that it can enter, or set DATABASE_URL.`,
  )
}

function initialise(directory: string, account: Account, binaries: Binaries, password: string, durable: boolean): void {
  // Pass the password in a file that only the account can read: arguments are visible in the process list.
  const passwordFolder = mkdtempSync(join(tmpdir(), 'dealer-esim-'))
  const passwordCopy = join(passwordFolder, 'password')
  try {
    writeFileSync(passwordCopy, password, { mode: 0o600 })
    if (account) for (const path of [passwordCopy, passwordFolder]) chownSync(path, account.uid, account.gid)
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
    if (run.status !== 0) throw new StartError(`initdb failed: ${run.error?.message ?? run.stderr.trim()}`)
  } finally {
    rmSync(passwordFolder, { recursive: true, force: true })
  }
}

function checkMajorVersion(directory: string, binaries: Binaries): void {
  const found = readFileSync(join(directory, 'PG_VERSION'), 'utf8').trim()
  const expected = binaries.version.split('.')[0]
  if (found === expected) return
  throw new StartError(
    `${directory} was created by PostgreSQL ${found}, but this release includes PostgreSQL ${expected}. Dump the data with the old release and load it into a new DATA_DIR.`,
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
