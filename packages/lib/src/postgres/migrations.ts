import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { RELEASE, releaseText } from '#process/release.ts'
import { StartRefused } from '#process/start-stop.ts'
import type { Log } from '#telemetry/log.ts'
import type { Db } from './db.ts'
import { adaptMigrations, createSchema } from './distributed-schema.ts'
import { explainNoConnection, sqlState } from './errors.ts'
import { DEFAULT_SCHEMA, SCHEMA_ACCESS, type SchemaAccess, whySchemaUnfit } from './schema.ts'
import { connectClient } from './servers.ts'
import { applySettings, CONNECT_TIMEOUT_MS, findPoolerFault } from './session-settings.ts'

export interface MigrateOptions {
  databaseUrl: string
  /** Created if it is missing. */
  schema?: string
  /** True if a distributed schema is refused unless the tests ran on the server's release. */
  isProduction?: boolean
  log: Log
  /** The folder of the numbered files. */
  directory: string
  /** Files with higher numbers are left out. Default: none is. */
  until?: number
  /** Default: this release. Tests migrate as another release. */
  release?: Release
}

/** A release as the database records it, such as 3, `0.3.0 (fe2c68f0)`. */
export interface Release {
  release: number
  label: string
}

const THIS_RELEASE: Release = { release: RELEASE, label: releaseText() }

/** The database and this release do not match. The message says what to do. */
export class MigrationRefused extends StartRefused {
  override readonly name = 'MigrationRefused'
}

/**
 * Migrates the database to this release: runs the files that it does not have yet, in order, each in one transaction with
 * the record that it ran. Several nodes may start simultaneously: one migrates, and the others wait for it. @returns the
 * names of the files that ran now
 * @throws StartRefused if the database cannot be used; MigrationRefused if it belongs to a different release, or if a file
 * that ran there has changed since
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { databaseUrl, schema = DEFAULT_SCHEMA, isProduction = false, log, directory, release = THIS_RELEASE } = options
  const files = readMigrations(directory).filter(
    ({ version }) => version <= (options.until ?? Number.POSITIVE_INFINITY),
  )
  const poolerFault = await findPoolerFault(databaseUrl).catch((cause) => {
    throw new StartRefused(explainNoConnection(cause), { cause })
  })
  if (poolerFault !== undefined) throw new StartRefused(poolerFault)
  const client = await connectClient(databaseUrl, {
    application_name: 'dealer-esim migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  }).catch((cause) => {
    throw new StartRefused(explainNoConnection(cause), { cause })
  })
  client.on('error', (error) => log.warn({ err: error }, 'the connection that migrates was lost'))
  try {
    await checkServer(client)
    await applySettings(client, { search_path: schema })
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [`${schema} migrations`])
    await ensureSchema(client, schema, { isProduction })
    const adapt = await adaptMigrations(client, schema, { isProduction, log })
    await client.query(MIGRATIONS_TABLE)
    await client.query(RELEASES_TABLE)
    const query = async <Row extends object>(text: string) => (await client.query<Row>(text)).rows
    const { pending } = compare(files, await readState(query), release)
    for (const file of pending) {
      const startedAt = performance.now()
      await run(client, { ...file, sql: adapt(file.sql) }, release, log)
      log.info({ migration: file.name, durationMs: Math.round(performance.now() - startedAt) }, 'migrated')
    }
    await recordRelease(client, release)
    return pending.map((file) => file.name)
  } finally {
    await client.end() // ends the advisory lock with the session
  }
}

/**
 * Checks that a database belongs to this release, for programs that use it without migrating it.
 * @throws MigrationRefused if it does not
 */
export async function requireMigrated(db: Pick<Db, 'query'>, directory: string): Promise<void> {
  const [missing] = await pendingMigrations(db, directory)
  if (!missing) return
  throw new MigrationRefused(
    `This database lacks ${missing}. Start the gateway of this release, or run: npm run -s admin -- migrate`,
  )
}

/**
 * @returns the names of the files that are still to run. @throws MigrationRefused if the database belongs to a different
 * release
 */
export async function pendingMigrations(db: Pick<Db, 'query'>, directory: string): Promise<string[]> {
  return (await compareSchema(db, directory)).pending
}

export interface SchemaComparison {
  /** The names of the files that are still to run. */
  pending: string[]
  /** The next release, if it has migrated the database, and the files of it that we lack. */
  next?: Release & { files: string[] }
}

/** @throws MigrationRefused if the database belongs to neither this release nor the next one */
export async function compareSchema(db: Pick<Db, 'query'>, directory: string): Promise<SchemaComparison> {
  const state = await readState((text) => db.query({ text }))
  const { pending, additional } = compare(readMigrations(directory), state, THIS_RELEASE)
  return {
    pending: pending.map((file) => file.name),
    ...(state.newest !== undefined &&
      state.newest.release > RELEASE && { next: { ...state.newest, files: additional.map((file) => file.name) } }),
  }
}

const UNDEFINED_TABLE = '42P01'
const RECORDED = 'select version, name, checksum from schema_migrations order by version'
const RECORDED_RELEASE = 'select release, label from schema_releases order by release desc limit 1'
const LAST_BACKUP = `
  select file, to_char(started_at at time zone 'utc', 'YYYY-MM-DD HH24:MI "UTC"') as time from backups
  order by finished_at desc limit 1`
const RECORD_RELEASE = 'insert into schema_releases (release, label) values ($1, $2) on conflict do nothing'

const OLDEST_SERVER = 150_000

export interface DatabaseServer {
  version: string
  /** `150004` is 15.4. */
  number: number
  encoding: string
}

export const SERVER = `
  select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
         current_setting('server_encoding') as encoding`

/** @returns a sentence if the gateway cannot work on such a server */
export function whyServerUnfit({ number, version, encoding }: DatabaseServer): string | undefined {
  if (number < OLDEST_SERVER) return `PostgreSQL 15 or newer is needed; this server is ${version}.`
  if (encoding !== 'UTF8') return `The database is encoded in ${encoding}; create it with encoding UTF8.`
  return undefined
}

const MIGRATIONS_TABLE = `
  create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`

/** Every release that has migrated the database or found it migrated. Before release 1 there was no such table. */
const RELEASES_TABLE = `
  create table if not exists schema_releases (
    release integer primary key,
    label text not null,
    first_at timestamptz not null default now()
  )`

/** The migrations of a folder, in their order. */
export function listMigrations(directory: string): Migration[] {
  return readMigrations(directory).map(({ version, name, checksum }) => ({ version, name, checksum }))
}

export interface Migration {
  version: number
  name: string
  checksum: string
}

interface MigrationFile extends Migration {
  sql: string
}

function readMigrations(directory: string): MigrationFile[] {
  const names = readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  let last = 0
  return names.map((name) => {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1])
    // Gaps are allowed, because work in progress reserves numbers.
    if (!(version > last))
      throw new Error(`Migrations are named 0001_what.sql and each has its own number; see ${name}.`)
    last = version
    // A checkout with different line endings is still the same migration.
    const sql = readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n')
    return { version, name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
  })
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<DatabaseServer>(SERVER)
  const refusal = whyServerUnfit(rows[0]!)
  if (refusal !== undefined) throw new MigrationRefused(refusal)
}

/**
 * Creates the schema if it is missing. Refuses before anything is created, because PostgreSQL's own error does not say what
 * to do.
 */
async function ensureSchema(
  client: pg.Client,
  schema: string,
  { isProduction }: { isProduction: boolean },
): Promise<void> {
  const { rows } = await client.query<{ user: string; exists: boolean; may_create: boolean }>(SCHEMA_ACCESS, [schema])
  const { may_create: mayCreate, ...rest } = rows[0]!
  const refusal = whySchemaUnfit(schema, { ...rest, mayCreate } satisfies SchemaAccess)
  if (refusal !== undefined) throw new StartRefused(refusal)
  if (rest.exists) return
  await createSchema(client, schema, { isProduction })
}

/** What the database records. */
interface SchemaState {
  ran: Migration[]
  /** undefined: a database from before release 1. */
  newest: Release | undefined
  lastBackup: LastBackup | undefined
}

interface LastBackup {
  file: string
  time: string
}

async function readState(query: <Row extends object>(text: string) => Promise<Row[]>): Promise<SchemaState> {
  const rows = <Row extends object>(text: string) =>
    query<Row>(text).catch((error) => {
      if (sqlState(error) === UNDEFINED_TABLE) return []
      throw error
    })
  const ran = await rows<Migration>(RECORDED)
  const [newest] = await rows<Release>(RECORDED_RELEASE)
  // A new database has no backups, and its server's log no errors.
  const lastBackup = ran.length === 0 ? undefined : (await rows<LastBackup>(LAST_BACKUP))[0]
  return { ran, newest, lastBackup }
}

/**
 * Finds the files that are still to run, and those that only the next release has. The files that ran must be ours, byte for
 * byte and in our order; more of them are accepted from the next release, whose migrations only add (docs/upgrading.md).
 */
function compare(files: MigrationFile[], { ran, newest, lastBackup }: SchemaState, ours: Release) {
  if (newest !== undefined && newest.release > ours.release + 1) {
    throw new MigrationRefused(tooNewText(newest, ours, lastBackup))
  }
  const isNext = newest?.release === ours.release + 1
  for (const [index, migration] of ran.entries()) {
    const file = files[index]
    if (!file) {
      if (isNext) break
      throw new MigrationRefused(newerText(migration.name, ours))
    }
    if (isSame(file, migration)) continue
    if (files.some((other) => isSame(other, migration))) {
      throw new MigrationRefused(
        `Migration ${file.name} comes before ${migration.name}, which has already run on this database. Give it a later number.`,
      )
    }
    throw new MigrationRefused(
      file.version === migration.version
        ? `Migration ${file.name} is not the one that ran on this database. Released migrations never change: undo the change to the file, and append a migration instead. ${DEVELOPMENT_DATABASE}`
        : `This database ran ${migration.name}, which ${ours.label} does not have. ${DEVELOPMENT_DATABASE}`,
    )
  }
  return { pending: files.slice(ran.length), additional: ran.slice(files.length) }
}

const DEVELOPMENT_DATABASE =
  'If a development version created the database, delete its data directory or create a new database.'

function tooNewText(newest: Release, ours: Release, lastBackup: LastBackup | undefined): string {
  const last =
    lastBackup === undefined
      ? 'The database names no backup.'
      : `The last one that the database names is ${lastBackup.file} of ${lastBackup.time}.`
  return `This database was upgraded to release ${newest.release}, ${newest.label}; this is release ${ours.release}, ${ours.label}. A release runs on its own schema and on that of the next release. Start release ${newest.release - 1} or ${newest.release}, or restore a backup that was made before the upgrade (docs/upgrading.md). ${last}`
}

/** @param name of a migration that this release lacks */
export function newerText(name: string, { label }: Pick<Release, 'label'> = THIS_RELEASE): string {
  return `This database is newer than this release: it has ${name}, which ${label} lacks. Start the newer release again, or restore the backup that was made before the upgrade (docs/upgrading.md).`
}

function isSame(one: Migration, other: Migration): boolean {
  return one.version === other.version && one.checksum === other.checksum
}

/** Others that use a table wait behind a migration that waits for it, so it gives up after this time, and tries again. */
const LOCK_WAIT_MS = 1_000
const LOCK_ATTEMPTS_MAX = 120
const LOCK_NOT_AVAILABLE = '55P03'

async function run(client: pg.Client, file: MigrationFile, release: Release, log: Log): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(client, file, release)
    } catch (error) {
      await client.query('rollback').catch(() => {})
      const isLocked = sqlState(error) === LOCK_NOT_AVAILABLE
      if (isLocked && attempt < LOCK_ATTEMPTS_MAX) {
        log.warn({ migration: file.name, attempt }, 'a migration waits for transactions that use its table')
        await delay(LOCK_WAIT_MS)
        continue
      }
      const advice = isLocked
        ? '. A transaction has used its table for minutes: end it (pg_stat_activity, xact_start), and start again'
        : ''
      throw new Error(`Migration ${file.name} failed: ${(error as Error).message}${advice}`, { cause: error })
    }
  }
}

/**
 * Runs a file and records it, in one transaction, with the release: the release before must not find a file that no release
 * explains, even if this process ends after the first file. Sends one statement at a time, because a distributed schema
 * refuses several in one message.
 */
async function runOnce(client: pg.Client, file: MigrationFile, release: Release): Promise<void> {
  await client.query('begin')
  await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`)
  await recordRelease(client, release)
  for (const statement of splitStatements(file.sql)) await client.query(statement)
  await client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
    file.version,
    file.name,
    file.checksum,
  ])
  await client.query('commit')
}

async function recordRelease(client: pg.Client, { release, label }: Release): Promise<void> {
  await client.query(RECORD_RELEASE, [release, label])
}

/**
 * A comment, a string, a quoted name, a dollar-quoted body, or the semicolon that ends a statement. Not supported:
 * nested comments, backslashes in strings, and function bodies written as `begin atomic`.
 */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'[^']*'|"[^"]*"|\$([a-z_]\w*)?\$[\s\S]*?\$\1\$|;/gi

function splitStatements(sql: string): string[] {
  const statements: string[] = []
  let statement = ''
  let end = 0
  for (const { 0: token, index } of `${sql};`.matchAll(TOKEN)) {
    statement += sql.slice(end, index)
    end = index + token.length
    if (token === ';') {
      if (statement.trim() !== '') statements.push(statement.trim())
      statement = ''
    } else if (!token.startsWith('--') && !token.startsWith('/*')) statement += token
  }
  return statements
}
