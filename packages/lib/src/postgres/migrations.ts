import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { releaseText } from '#process/release.ts'
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
  /** True: a distributed schema is refused unless the tests ran on the server's release. */
  isProduction?: boolean
  log: Log
  /** The folder of the numbered files. */
  directory: string
}

/** The database and this release do not fit together. The message says what to do. */
export class MigrationRefused extends StartRefused {
  override readonly name = 'MigrationRefused'
}

/**
 * Migrates the database to this release: runs the files that it does not have yet, in order, each in one transaction with the
 * record that it ran. Several nodes may start at the same time: one works, and the others wait until it is done.
 * @returns the names of the files that ran now
 * @throws StartRefused if the database cannot be used; MigrationRefused if it belongs to another release, or if a file that
 * ran there has changed since
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { databaseUrl, schema = DEFAULT_SCHEMA, isProduction = false, log, directory } = options
  const files = readMigrations(directory)
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
    const pending = compare(files, await recorded(client))
    for (const file of pending) {
      const startedAt = performance.now()
      await run(client, { ...file, sql: adapt(file.sql) })
      log.info({ migration: file.name, durationMs: Math.round(performance.now() - startedAt) }, 'migrated')
    }
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
 * @returns the names of the files that are still to run. @throws MigrationRefused if the database belongs to another release
 */
export async function pendingMigrations(db: Pick<Db, 'query'>, directory: string): Promise<string[]> {
  const ran = await db.query<Migration>({ text: RECORDED }).catch((error) => {
    if (sqlState(error) === UNDEFINED_TABLE) return []
    throw error
  })
  return compare(readMigrations(directory), ran).map((file) => file.name)
}

const UNDEFINED_TABLE = '42P01'
const RECORDED = 'select version, name, checksum from schema_migrations order by version'

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

interface Migration {
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

async function recorded(client: pg.Client): Promise<Migration[]> {
  return (await client.query<Migration>(RECORDED)).rows
}

/**
 * Returns the files that are still to run. The files that ran must be the first of ours, byte for byte.
 *
 * Until 0.1.0 is tagged the files are a baseline: a schema change edits the file of its area, and a database that was created
 * from an earlier baseline is refused. From the tag on a schema change adds a file, and the message about a changed file must
 * then ask to undo the change.
 */
function compare(files: MigrationFile[], ran: Migration[]): MigrationFile[] {
  for (const [index, migration] of ran.entries()) {
    const file = files[index]
    if (!file) {
      throw new MigrationRefused(
        `This database is newer than this release: it has ${migration.name}, which ${releaseText()} lacks. Start the newer release again, or restore the backup that was made before the upgrade (docs/running.md).`,
      )
    }
    if (isSame(file, migration)) continue
    if (files.some((other) => isSame(other, migration))) {
      throw new MigrationRefused(
        `Migration ${file.name} comes before ${migration.name}, which ran on this database already. Give it a later number.`,
      )
    }
    throw new MigrationRefused(
      'This database was created by an earlier development version. Delete its data directory or create a new database.',
    )
  }
  return files.slice(ran.length)
}

function isSame(one: Migration, other: Migration): boolean {
  return one.version === other.version && one.checksum === other.checksum
}

/**
 * Runs a file and records it, in one transaction. Sends one statement at a time, because a distributed schema refuses
 * several in one message.
 */
async function run(client: pg.Client, file: MigrationFile): Promise<void> {
  try {
    await client.query('begin')
    for (const statement of splitStatements(file.sql)) await client.query(statement)
    await client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
      file.version,
      file.name,
      file.checksum,
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw new Error(`Migration ${file.name} failed: ${(error as Error).message}`, { cause: error })
  }
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
