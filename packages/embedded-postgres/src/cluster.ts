import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Binaries } from './binaries.ts'
import { type Account, canEnter } from './server-account.ts'
import { postgresqlConf, type Settings } from './server-settings.ts'
import { StartError } from './start-error.ts'
import { binariesForUnnamedUser, isUnnamedUser, UNNAMED_USER } from './unnamed-user.ts'

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

/** Rewrites the settings at every start to match this release; manual edits are lost. */
export function writeSettings(cluster: Cluster, settings: Settings): void {
  const file = join(cluster.directory, 'postgresql.conf')
  writeFileSync(file, postgresqlConf(settings), { mode: 0o600 })
  if (cluster.account) chownSync(file, cluster.account.uid, cluster.account.gid)
}

/**
 * Sets everything that the driver would otherwise take from the environment, such as PGSSLMODE or PGOPTIONS, which may be
 * set for another database. It also takes an empty option from there, hence the space.
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
 * The server's -D argument. The server stats the whole path, which fails under a directory that its account cannot enter.
 * In that case it is given its working directory instead, which Linux resolves without walking the path.
 */
export function dataArgument(directory: string, account: Account): string {
  if (canEnter(account, directory)) return directory
  if (process.platform === 'linux') return '/proc/self/cwd'
  throw new StartError(
    `User ${account?.uid} cannot enter ${directory}. Choose a DATA_DIR that it can enter, or set DATABASE_URL.`,
  )
}

function initialise(directory: string, account: Account, binaries: Binaries, password: string, durable: boolean): void {
  const programs = `${directory}.programs`
  rmSync(programs, { recursive: true, force: true })
  const isUnnamed = account === undefined && isUnnamedUser()
  const { initdb } = isUnnamed ? binariesForUnnamedUser(binaries, programs) : binaries
  const passwordInput = openPassword(`${directory}.password`, password, account)
  try {
    const run = spawnSync(
      initdb,
      [
        `--pgdata=${dataArgument(directory, account)}`,
        `--username=${SUPERUSER}`,
        '--pwfile=/dev/stdin',
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
        '--data-checksums',
        '--no-instructions',
        ...(durable ? [] : ['--no-sync']),
      ],
      { ...account, cwd: directory, env: { TZ: 'UTC' }, encoding: 'utf8', stdio: [passwordInput, 'pipe', 'pipe'] },
    )
    if (run.status === 0) return
    const reason = run.error?.message ?? run.stderr.trim()
    throw new StartError(
      isUnnamed ? `The embedded PostgreSQL ${UNNAMED_USER}. (${reason})` : `initdb failed: ${reason}`,
    )
  } finally {
    closeSync(passwordInput)
    rmSync(programs, { recursive: true, force: true })
  }
}

/**
 * The password as an open file that no longer has a name: arguments are visible in the process list, the account may not
 * enter the folder, and there may be no folder for temporary files.
 */
function openPassword(file: string, password: string, account: Account): number {
  rmSync(file, { force: true })
  writeFileSync(file, password, { mode: 0o600, flag: 'wx' })
  if (account) chownSync(file, account.uid, account.gid)
  const descriptor = openSync(file, 'r')
  rmSync(file)
  return descriptor
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
