import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import { listMigrations, migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { RELEASE, releaseText } from '@dealer-esim/lib/process/release.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type pg from 'pg'
import { migrationsFolder } from '#platform/package-root.ts'
import { RECORD_LEDGER_RESTORE } from '#wallet/books/record-restore.ts'
import { SIGN_OUT } from '../recovery/begin-recovery.ts'
import { quoted, writeRows } from './backup-rows.ts'
import { type BackupHeader, connectForRows } from './make-backup.ts'
import { altered, checkSealed, readHeader, readSealed } from './sealed-file.ts'

type Keys = readonly [Buffer, ...Buffer[]]

export interface RestoreRequest {
  file: string
  masterKeys: Keys
  databaseUrl: string
  schema: string
  /** The kind of deployment that will use the database. */
  kind: string
  log: Log
  ids: Ids
  onTable?: (table: string, rows: number) => void
}

export interface RestoredBackup {
  header: BackupHeader
  /** null: an earlier restore of the same file has restored them. */
  rows: number | null
}

/**
 * Reads a whole backup without touching a database. @throws Refusal if it was cut or altered, if no configured key fits, or if
 * this release cannot restore it
 */
export async function checkBackup(file: string, masterKeys: Keys): Promise<BackupHeader> {
  const header = await readHeader<BackupHeader>(file)
  requireKnownSchema(file, header)
  await checkSealed(file, header, findKey(file, header, masterKeys))
  return header
}

/** @throws Refusal that names the key that is needed and those that are configured */
function findKey(file: string, header: BackupHeader, masterKeys: Keys): Buffer {
  const named = masterKeys.map((key) => ({ key, fingerprint: createCipher([key]).fingerprint }))
  const known = new Set(named.map(({ fingerprint }) => fingerprint))
  const needed = [...new Set([header.masterKeyFingerprint, header.databaseKeyFingerprint])]
  const missing = needed.filter((fingerprint) => !known.has(fingerprint))
  if (missing.length > 0) {
    throw new Refusal(
      422,
      'KEY_DOES_NOT_FIT',
      `${file} needs the master key with the fingerprint ${missing.join(' and the one with ')}; MASTER_KEY has ${[...known].join(', ')}. Take the key out of the safe, or choose a backup of this key. Nothing was changed.`,
    )
  }
  return named.find(({ fingerprint }) => fingerprint === header.masterKeyFingerprint)!.key
}

/** @throws Refusal if the backup has migrations that this release lacks */
function requireKnownSchema(file: string, { migrations, release, label }: BackupHeader): void {
  const ours = listMigrations(migrationsFolder())
  const unknown = migrations.find(({ version, checksum }, index) => {
    const own = ours[index]
    return own?.version !== version || own.checksum !== checksum
  })
  if (unknown === undefined) return
  throw new Refusal(
    422,
    'OTHER_RELEASE',
    `${file} was made by release ${release}, ${label}, whose migration ${unknown.name} release ${RELEASE}, ${releaseText()}, does not have. Restore it with the release that made it. Nothing was changed.`,
  )
}

/**
 * Restores a backup into a database that no gateway has used. All rows are restored in one transaction, so that a restore that is
 * interrupted can be repeated. Leaves the gateway in recovery (operations/recovery), because the database does not know what was sold after the backup.
 * @throws Refusal before anything is touched
 */
export async function restoreBackup(request: RestoreRequest): Promise<RestoredBackup> {
  const { file, databaseUrl, schema, log, kind } = request
  const header = await checkBackup(file, request.masterKeys)
  if (header.kind !== kind) {
    throw new Refusal(
      422,
      'OTHER_DEPLOYMENT',
      `${file} is from a ${header.kind} deployment, but DEPLOYMENT is ${kind}. Set DEPLOYMENT=${header.kind}. Nothing was changed.`,
    )
  }
  const client = await connectForRows(databaseUrl, schema)
  const isRestored = await findRestored(client, schema, header).finally(() => client.end())
  const directory = migrationsFolder()
  const options = { databaseUrl, schema, log, directory, isProduction: kind === 'production' }
  if (!isRestored) await migrate({ ...options, until: header.migrations.at(-1)!.version })
  const restored = isRestored ? { header, rows: null } : await restoreRows(request, header)
  await migrate(options)
  return restored
}

/**
 * @returns true if an earlier restore of the same backup has committed its rows, but was perhaps interrupted before it had
 * migrated the database
 * @throws Refusal if a gateway has used the database otherwise
 */
async function findRestored(client: pg.Client, schema: string, { startedAt }: BackupHeader): Promise<boolean> {
  const { rows } = await client
    .query('select from restores where backup_started_at = $1', [startedAt])
    .catch(ifUndefinedTable)
  if (rows.length > 0) return true
  await requireUnused(client, schema)
  return false
}

/** A query of a table that does not exist yet finds no rows. @throws the error itself if it has a different cause */
function ifUndefinedTable(error: unknown): { rows: object[] } {
  if (sqlState(error) === UNDEFINED_TABLE) return { rows: [] }
  throw error
}

const UNDEFINED_TABLE = '42P01'

/** @throws Refusal if a gateway has used the database, or has left test twins of dealers that the backup may not have */
async function requireUnused(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query('select from deployment').catch(ifUndefinedTable)
  if (rows.length === 0) return requireNoTwins(client, schema)
  throw new Refusal(
    409,
    'DATABASE_IN_USE',
    `The schema ${schema} of this database belongs to a gateway, whose data a restore would replace. Create an empty database, set DATABASE_URL to it, and restore there. Nothing was changed.`,
  )
}

/** A backup has no test twins, and those of another time would have other dealers. */
async function requireNoTwins(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query(`select to_regnamespace(quote_ident($1 || '_twins'))::text as name`, [schema])
  if (rows[0].name === null) return
  throw new Refusal(
    409,
    'TWINS_LEFT',
    `This database still has the test twins of another gateway, in the schema ${rows[0].name}. Drop that schema, or restore into an empty database. Nothing was changed.`,
  )
}

async function restoreRows(request: RestoreRequest, header: BackupHeader): Promise<RestoredBackup> {
  const { file, databaseUrl, schema, masterKeys, ids } = request
  const client = await connectForRows(databaseUrl, schema)
  try {
    let rows = 0
    await client.query('begin')
    await client.query('lock table deployment in access exclusive mode') // a gateway that starts now waits, and sees the rows
    await requireUnused(client, schema)
    // Some migrations insert rows, which the backup has too.
    await client.query(`truncate ${header.tables.map(({ table }) => quoted(table)).join(', ')}`)
    await createPartitions(client, header)
    let isProven = false
    const parts = async function* () {
      yield* readSealed(file, header, findKey(file, header, masterKeys))
      isProven = true
    }
    await writeRows(client, unzipped(parts()), (table, count) => {
      rows += count
      request.onTable?.(table, count)
    })
    if (!isProven) throw altered(file) // the file may have changed since it was checked
    for (const { name, lastValue, isCalled } of header.sequences) {
      await client.query('select setval($1::regclass, $2, $3)', [quoted(name), lastValue, isCalled])
    }
    const restoreId = ids.uuid()
    await client.query(BEGIN_RECOVERY, [restoreId, header.startedAt])
    // A backup of an earlier release has no trees: no dealer holds a checkpoint of it.
    if (header.tables.some(({ table }) => table === 'ledger_restores'))
      await client.query(RECORD_LEDGER_RESTORE, [restoreId])
    await client.query(SIGN_OUT.join('; '))
    await client.query('commit')
    await client.query('analyze')
    return { header, rows }
  } finally {
    await client.end()
  }
}

/**
 * In the schema of the backup: later migrations make each restore a recovery (0034), and give `paused_suppliers`, which nothing
 * reads, a default (0038).
 */
const BEGIN_RECOVERY = `
  insert into restores (restore_id, backup_started_at, restored_at, paused_suppliers) values ($1, $2, now(), '{}')`

async function createPartitions(client: pg.Client, { partitions }: BackupHeader): Promise<void> {
  for (const { name, parent, bound, options } of partitions) {
    const settings = options.length === 0 ? '' : ` with (${options.join(', ')})`
    await client.query(`create table if not exists ${quoted(name)} partition of ${quoted(parent)} ${bound}${settings}`)
  }
}

function unzipped(parts: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const unzip = createGunzip({ chunkSize: 256 * 1024 })
  pipeline(Readable.from(parts), unzip).catch(() => {}) // the iteration throws it
  return unzip
}
