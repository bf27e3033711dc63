import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { type FileQuestion, type Source, UnreadableFile } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { beginChange } from '../catalogue-version.ts'
import type { PackageDocument } from '../packages/package-document.ts'
import { applyChanges, type ChangeDeps } from '../packages/put-packages.ts'
import { findDocuments, listUnknownSuppliers } from '../packages/read-packages.ts'
import {
  addFileError,
  checkRows,
  createFindings,
  type Findings,
  type ImportChange,
  type ImportError,
} from './check-rows.ts'
import { csvRows } from './csv-rows.ts'
import type { FileFormat } from './export-packages.ts'
import { jsonRows } from './json-rows.ts'
import type { ImportRow } from './package-rows.ts'

export interface ImportOptions {
  readonly format: FileFormat
  readonly source: Source
  /** A person's answers to the questions in a report. */
  readonly answers?: TableAnswers | undefined
  /** Checks everything and changes nothing. */
  readonly dryRun: boolean
  /** Called every few hundred rows. */
  readonly onProgress?: (progress: ImportProgress) => void
}

export interface ImportProgress {
  readonly step: 'CHECKING' | 'WRITING'
  /** Rows done so far in this step. */
  readonly rows: number
}

export interface ImportReport {
  /** false if nothing was changed, because of errors or a dry run. */
  readonly imported: boolean
  readonly rows: number
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  /** Packages with a price that falls by more than half, is removed, or is below cost. */
  readonly doubtful: number
  readonly errorRows: number
  /** The first thousand errors. */
  readonly errors: readonly ImportError[]
  /** The first thousand changes, and the first thousand doubtful ones. */
  readonly changes: readonly ImportChange[]
  /** Present if the file can be read once a person has answered. */
  readonly question?: FileQuestion
  /** Columns of the file that are not read, because the person's map leaves them out. */
  readonly ignoredColumns: readonly string[]
  /** All suppliers of the packages. */
  readonly suppliers: readonly string[]
  /** Nonexistent suppliers: packages may be imported before their supplier is added. */
  readonly unknownSuppliers: readonly string[]
}

/** The number of rows read, checked and written together. */
const BATCH_ROWS = 250

/**
 * Adds and changes the packages of a file (see merge.ts), all or nothing. Memory use does not depend on the size of the
 * file. Rows are checked without a lock and staged in a temporary table. Only writing takes the catalogue's lock, and it
 * fails if the catalogue has changed since the check.
 */
export async function importPackages(deps: ChangeDeps, options: ImportOptions, by: By): Promise<ImportReport> {
  return deps.db.tx(async (tx) => {
    const version = await currentVersion(tx)
    tx.send({ text: 'create temporary table staged (position integer primary key, document json) on commit drop' })
    const findings = createFindings()
    const { question, ignoredColumns } = await stage(tx, options, findings)
    const imported = !options.dryRun && findings.errorRows === 0
    if (imported) await write(tx, deps, options, findings, version, by)
    const { rowOfCode: _, rowOfSlug: __, ...report } = findings
    const suppliers = [...findings.suppliers].sort()
    const unknownSuppliers = await listUnknownSuppliers(tx, suppliers)
    return { imported, ...report, ...(question && { question }), ignoredColumns, suppliers, unknownSuppliers }
  })
}

async function currentVersion(tx: Tx): Promise<bigint> {
  const [row] = await tx.query<{ version: bigint }>({ text: 'select version from catalogue_version' })
  return row!.version
}

async function stage(tx: Tx, options: ImportOptions, findings: Findings) {
  let ignoredColumns: readonly string[] = []
  const onIgnored = (headers: readonly string[]) => {
    ignoredColumns = headers
  }
  const { source, answers } = options
  const rows = options.format === 'csv' ? csvRows(source, { answers, onIgnored }) : jsonRows(source)
  try {
    for await (const batch of inBatches(rows)) {
      const documents = await checkRows(tx, batch, findings)
      // After an error nothing is written; the rest is still checked for more errors.
      if (findings.errorRows === 0 && !options.dryRun && documents.length > 0) await stageBatch(tx, documents, findings)
      options.onProgress?.({ step: 'CHECKING', rows: findings.rows })
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    addFileError(findings, error)
    return { question: error.question, ignoredColumns }
  }
  return { question: undefined, ignoredColumns }
}

async function stageBatch(tx: Tx, documents: readonly PackageDocument[], findings: Findings): Promise<void> {
  const end = findings.added + findings.changed
  await tx.query({
    text: `insert into staged select $1 + ordinality, value from json_array_elements($2) with ordinality`,
    values: [end - documents.length, JSON.stringify(documents)],
  })
}

async function write(
  tx: Tx,
  deps: ChangeDeps,
  options: ImportOptions,
  findings: Findings,
  version: bigint,
  by: By,
): Promise<void> {
  const { added, changed } = findings
  if (added + changed === 0) return
  const { stamp, checkTime, baseVersion } = await beginChange(tx)
  if (baseVersion !== version) {
    throw new Refusal(409, 'CATALOGUE_CHANGED', CHANGED_MEANWHILE)
  }
  for (let done = 0; done < added + changed; done += BATCH_ROWS) {
    const rows = await tx.query<{ document: PackageDocument }>(sql`
      select document from staged where position > ${done} order by position limit ${BATCH_ROWS}`)
    const documents = rows.map((row) => row.document)
    const existing = await findDocuments(
      tx,
      documents.map((document) => document.packageCode),
    )
    const changes = documents.map((after) => ({ before: existing.get(after.packageCode), after }))
    await applyChanges(tx, deps, stamp, changes, by)
    options.onProgress?.({ step: 'WRITING', rows: done + rows.length })
  }
  audit(tx, deps.ids, { tenantId: null, ...by, action: 'package.import', after: { added, changed } })
  checkTime()
}

const CHANGED_MEANWHILE = 'The catalogue was changed while the file was checked, so nothing was imported. Try again.'

async function* inBatches(rows: AsyncIterable<ImportRow>): AsyncGenerator<ImportRow[]> {
  let batch: ImportRow[] = []
  try {
    for await (const row of rows) {
      batch.push(row)
      if (batch.length < BATCH_ROWS) continue
      yield batch
      batch = []
    }
  } catch (error) {
    // Rows before the unreadable part of the file are still checked.
    if (batch.length > 0) yield batch
    throw error
  }
  if (batch.length > 0) yield batch
}
