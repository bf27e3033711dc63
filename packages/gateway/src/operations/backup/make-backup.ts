import { existsSync, statSync } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Cipher, DecryptionFailed } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { connectClient } from '@dealer-esim/lib/postgres/servers.ts'
import { applySettings, CONNECT_TIMEOUT_MS } from '@dealer-esim/lib/postgres/session-settings.ts'
import { RELEASE, releaseText } from '@dealer-esim/lib/process/release.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type pg from 'pg'
import { audit, type By } from '#platform/audit/audit.ts'
import { DEFAULT_CELL } from '#platform/config/variables.ts'
import { ENCRYPTED_COLUMNS } from '#platform/deployment/encrypted-columns.ts'
import { decryptLinkKey, findDeployment } from '#platform/deployment/ensure-deployment.ts'
import { BACKUP_LOCK } from '#platform/retention/retention-table.ts'
import { describeContents, quoted, readRows, type SchemaContents } from './backup-rows.ts'
import { checkSealed, readHeader, type SealedHeader, writeSealed } from './sealed-file.ts'

export interface BackupHeader extends SealedHeader, SchemaContents {
  /** The moment that the rows represent, RFC 3339. */
  startedAt: string
  /** The release that made it, such as 2, `0.1.0 (fe2c68f0)`. */
  release: number
  label: string
  /** The kind of deployment. */
  kind: string
  /** The database's own key: differs from the first one during a rotation. */
  databaseKeyFingerprint: string
  migrations: { version: number; name: string; checksum: string }[]
}

export interface BackupDeps {
  db: Db
  ids: Ids
  cipher: Cipher
  /** The keys of `cipher`. */
  masterKeys: readonly [Buffer, ...Buffer[]]
  databaseUrl: string
  schema: string
  cellName: string
}

export interface BackupRequest {
  /** A new file, or a folder in which the file is named after its time. */
  target: string
  isEncrypted: boolean
  /** In a folder: the number of backups to keep, including this one. undefined: all. */
  keep?: number | undefined
  /** Ids of the master keys that the command prints, for the audit log. */
  printedKeys: readonly string[]
  onTable?: (table: string, rows: number) => void
}

export interface MadeBackup {
  file: string
  bytes: number
  startedAt: Date
  rows: number
  /** Files of earlier backups that were deleted. */
  deleted: string[]
}

/**
 * Writes all rows as of one moment to a file, while gateways continue to sell. The file is complete, read back and on disk
 * before it gets its name. @throws Refusal
 */
export async function makeBackup(deps: BackupDeps, request: BackupRequest, by: By): Promise<MadeBackup> {
  const { db, masterKeys, databaseUrl, schema } = deps
  await requireKey(deps)
  const client = await connectSnapshot(databaseUrl, schema)
  try {
    const header = await describe(client, deps, request.isEncrypted)
    const startedAt = new Date(header.startedAt)
    const file = fileFor(request, deps.cellName, startedAt)
    let rows = 0
    const records = async function* () {
      yield* readRows(client, header.tables, (table, count) => {
        rows += count
        request.onTable?.(table, count)
      })
      await client.end() // ends its locks, which the second reading of the file does not need
    }
    const bytes = await writeFile(file, header, masterKeys[0], gzipped(records()))
    await db.tx(async (tx) => {
      tx.send({
        text: `insert into backups (backup_id, started_at, finished_at, file, bytes, encrypted, actor)
               values ($1, $2, clock_timestamp(), $3, $4, $5, $6)`,
        values: [deps.ids.uuid(), startedAt, file, bytes, request.isEncrypted, by.actor],
      })
      const after = { startedAt, bytes, encrypted: request.isEncrypted, printedKeys: request.printedKeys }
      audit(tx, deps.ids, { tenantId: null, ...by, action: 'backup.make', subject: file, after })
    })
    const deleted = request.keep === undefined ? [] : await deleteEarlier(dirname(file), deps.cellName, request.keep)
    return { file, bytes, startedAt, rows, deleted }
  } finally {
    await client.end()
  }
}

/**
 * Decrypts one value of each encrypted column, because a backup that no key opens is worthless. @throws Refusal or StartRefused if
 * the configured keys do not open everything
 */
async function requireKey({ db, cipher }: BackupDeps): Promise<void> {
  decryptLinkKey(cipher, (await findDeployment(db))!)
  for (const { table, column, owner } of ENCRYPTED_COLUMNS) {
    const [row] = await db.query<{ value: Buffer; owner: string }>({
      text: `select ${column} as value, ${owner} as owner from ${table} where ${column} is not null limit 1`,
    })
    try {
      if (row !== undefined) cipher.decrypt(row.value, row.owner)
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error
      throw new Refusal(
        409,
        'KEY_DOES_NOT_FIT',
        `MASTER_KEY does not open ${table}.${column}: ${error.message}. Give the keys that the gateways have; doctor compares them.`,
      )
    }
  }
}

const LOCK_TIMEOUT_MS = 30_000

/**
 * A connection in a transaction that sees the database as it is now, and holds back migrations that would change the tables. Its
 * session holds back work on partitions, which would otherwise wait for it with all others behind.
 */
async function connectSnapshot(databaseUrl: string, schema: string): Promise<pg.Client> {
  const client = await connectForRows(databaseUrl, schema)
  await client.query(`select pg_advisory_lock_shared(${advisoryKey(BACKUP_LOCK)})`)
  await client.query('begin transaction isolation level repeatable read read only')
  return client
}

/** A connection for long statements. */
export async function connectForRows(databaseUrl: string, schema: string): Promise<pg.Client> {
  const client = await connectClient(databaseUrl, {
    application_name: 'dealer-esim backup',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  })
  client.on('error', () => {}) // the statement reports it
  await applySettings(client, {
    search_path: schema,
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
    lock_timeout: String(LOCK_TIMEOUT_MS),
    datestyle: 'ISO',
    intervalstyle: 'postgres',
    bytea_output: 'hex',
    extra_float_digits: '1',
  })
  return client
}

async function describe(client: pg.Client, { ids, cipher, db }: BackupDeps, encrypted: boolean): Promise<BackupHeader> {
  const [{ now }] = (await client.query<{ now: Date }>('select now()')).rows as [{ now: Date }]
  const contents = await describeContents(client)
  await client.query(`lock table ${contents.tables.map(({ table }) => quoted(table)).join(', ')} in access share mode`)
  const migrations = await client.query('select version, name, checksum from schema_migrations order by version')
  const deployment = (await findDeployment(db))!
  return {
    salt: ids.bytes(32).toString('base64'),
    encrypted,
    masterKeyFingerprint: cipher.fingerprint,
    databaseKeyFingerprint: deployment.masterKeyFingerprint,
    startedAt: now.toISOString(),
    release: RELEASE,
    label: releaseText(),
    kind: deployment.kind,
    migrations: migrations.rows,
    ...contents,
  }
}

/**
 * How the files of a cell begin, e.g. dealer-esim-eu1-20261129T023000Z.backup: several cells may share a folder, and each deletes
 * its own old files only.
 */
const prefixOf = (cellName: string) => (cellName === DEFAULT_CELL ? 'dealer-esim-' : `dealer-esim-${cellName}-`)

/** @throws Refusal if the file exists, or its folder does not, or if a file is to keep others */
function fileFor({ target, keep }: BackupRequest, cellName: string, startedAt: Date): string {
  const path = resolve(target)
  const isFolder = existsSync(path) ? statSync(path).isDirectory() : target.endsWith('/')
  const name = `${prefixOf(cellName)}${startedAt.toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')}.backup`
  const file = isFolder ? join(path, name) : path
  if (keep !== undefined && !isFolder)
    throw new Refusal(
      422,
      'NO_FOLDER',
      `--keep needs a folder, and ${path} is not one. Name a folder, or leave --keep out.`,
    )
  if (!existsSync(dirname(file)))
    throw new Refusal(422, 'NO_FOLDER', `There is no folder ${dirname(file)}. Create it, or choose another one.`)
  if (existsSync(file)) throw new Refusal(409, 'FILE_EXISTS', `${file} already exists. Choose a new file, or a folder.`)
  return file
}

/** @returns its size in bytes */
async function writeFile(
  file: string,
  header: BackupHeader,
  masterKey: Buffer,
  parts: AsyncIterable<Buffer>,
): Promise<number> {
  const draft = `${file}.partial`
  try {
    await rm(draft, { force: true }) // of a backup that was interrupted
    const handle = await open(draft, 'wx', 0o600)
    const bytes = await writeSealed(handle, header, masterKey, parts).finally(() => handle.close())
    await checkSealed(draft, await readHeader(draft), masterKey)
    await rename(draft, file)
    const folder = await open(dirname(file))
    await folder.sync().finally(() => folder.close())
    return bytes
  } catch (error) {
    await rm(draft, { force: true })
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EACCES' || code === 'EROFS' || code === 'EDQUOT')
      throw new Refusal(422, 'CANNOT_WRITE', `The backup cannot be written to ${dirname(file)}: ${message}.`)
    throw error
  }
}

const PART_BYTES = 256 * 1024
/** Fast: better compression would take several times as long for a fifth less. */
const GZIP_LEVEL = 1

function gzipped(records: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: PART_BYTES })
  pipeline(Readable.from(records), gzip).catch(() => {}) // the iteration of gzip throws it
  return gzip
}

const TIME = /^\d{8}T\d{6}Z\.backup$/

/** Deletes the cell's oldest backups in a folder, by the time in their names. @returns their names */
async function deleteEarlier(folder: string, cellName: string, keep: number): Promise<string[]> {
  const prefix = prefixOf(cellName)
  const isOwn = (name: string) => name.startsWith(prefix) && TIME.test(name.slice(prefix.length))
  const names = (await readdir(folder)).filter(isOwn).sort()
  const old = names.slice(0, -keep)
  for (const name of old) await rm(join(folder, name), { force: true })
  return old.map((name) => basename(name))
}
