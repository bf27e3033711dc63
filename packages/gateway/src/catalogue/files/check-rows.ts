import type { Fault } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { UnreadableFile } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { mergePackage } from '../packages/merge-packages.ts'
import {
  type DifferenceLine,
  differingMembers,
  listDifferences,
  type PackageChange,
  pickDifferences,
  warningsOf,
} from '../packages/package-difference.ts'
import type { PackageDocument } from '../packages/package-document.ts'
import { findRepeatedSuppliers, findSlugOwners } from '../packages/put-packages.ts'
import { findDocuments } from '../packages/read-packages.ts'
import type { ImportRow } from './package-rows.ts'

/** A fault in a row, with advice on how to correct it. */
export interface ImportError {
  /** 0: the file as a whole. */
  readonly row: number
  /** '': the row as a whole. */
  readonly column: string
  readonly packageCode: string | null
  /** The beginning of the faulty cell; null if the error does not concern a cell. */
  readonly value: string | null
  readonly reason: string
}

/** The change that an import makes to one package. */
export interface ImportChange {
  readonly packageCode: string
  readonly change: 'ADDED' | 'CHANGED'
  readonly before?: Partial<PackageDocument>
  readonly after: Partial<PackageDocument>
  /** The same for display, with warnings. */
  readonly lines: readonly DifferenceLine[]
}

/** The results of a check so far. */
export interface Findings {
  rows: number
  added: number
  changed: number
  unchanged: number
  /** How many packages have a change with warnings. */
  doubtful: number
  /** The number of rows with errors. `errors` contains only the first of them. */
  errorRows: number
  readonly errors: ImportError[]
  /** The first changes, and the first doubtful ones. */
  readonly changes: ImportChange[]
  /** All suppliers of the packages. */
  readonly suppliers: Set<string>
  readonly rowOfCode: Map<string, number>
  readonly rowOfSlug: Map<string, number>
}

const ERRORS_SHOWN = 1_000
const VALUE_LENGTH_MAX = 60
const CHANGES_SHOWN = 1_000

export function createFindings(): Findings {
  return {
    ...{ rows: 0, added: 0, changed: 0, unchanged: 0, doubtful: 0, errorRows: 0, errors: [], changes: [] },
    ...{ suppliers: new Set(), rowOfCode: new Map(), rowOfSlug: new Map() },
  }
}

/** Checks rows against the catalogue and the rows before them. @returns the packages to write */
export async function checkRows(tx: Tx, rows: readonly ImportRow[], findings: Findings): Promise<PackageDocument[]> {
  const existing = await findDocuments(
    tx,
    rows.map(codeOf).filter((code) => code !== null),
  )
  const checked = rows.map((row) => checkRow(row, existing, findings))
  const wanted = checked.flatMap(({ change }) => (change ? [change] : []))
  const owners = await findSlugOwners(tx, wanted)
  const repeated = await findRepeatedSuppliers(tx, wanted)
  const differing: PackageDocument[] = []
  for (const { row, change, faults } of checked) {
    findings.rows++
    const owner = change && owners.get(change.after.slug)
    if (owner !== undefined && owner !== change?.after.packageCode) {
      faults.push(fault('slug', `${change?.after.slug} is already the slug of ${owner}: choose another one.`))
    }
    const supplierFaults = (change && repeated.get(change)) ?? []
    faults.push(...supplierFaults.map((one) => ({ ...one, field: row.columnOf(one.field) })))
    if (faults.length > 0 || !change) addErrors(findings, row, faults)
    else if (countChange(findings, change)) differing.push(change.after)
  }
  return differing
}

/** Adds an error that concerns the file itself. */
export function addFileError(findings: Findings, { row, column, value, message }: UnreadableFile): void {
  findings.errorRows++
  const shown = value?.slice(0, VALUE_LENGTH_MAX) ?? null
  findings.errors.push({ row, column, packageCode: null, value: shown, reason: message })
}

interface CheckedRow {
  readonly row: ImportRow
  readonly change: PackageChange | undefined
  /** Faults whose `field` is a column. */
  readonly faults: Fault[]
}

function checkRow(row: ImportRow, existing: ReadonlyMap<string, PackageDocument>, findings: Findings): CheckedRow {
  const faults = [...row.faults]
  // Rows with errors count too, so that all unknown suppliers are reported together.
  for (const name of supplierNames(row)) findings.suppliers.add(name)
  const before = existing.get(codeOf(row) ?? '')
  const merged =
    row.isUnreadable || faults.some(({ field }) => field === '') ? { faults: [] } : mergePackage(before, row.input)
  if ('faults' in merged) {
    // An unreadable cell also counts as missing, but is reported only once.
    const known = new Set(faults.map(({ field }) => field))
    const others = merged.faults.map((one) => ({ ...one, field: row.columnOf(one.field) }))
    return { row, change: undefined, faults: [...faults, ...others.filter(({ field }) => !known.has(field))] }
  }
  const after = merged.document
  const takenCode = claimKey(findings.rowOfCode, after.packageCode, row.row)
  if (takenCode) faults.push(fault('packageCode', `${after.packageCode} already appears in row ${takenCode}.`))
  const takenSlug = claimKey(findings.rowOfSlug, after.slug, row.row)
  if (takenSlug && !takenCode) faults.push(fault('slug', `${after.slug} is already the slug in row ${takenSlug}.`))
  for (const { supplier } of after.suppliers) findings.suppliers.add(supplier)
  return { row, change: { before, after }, faults }
}

function supplierNames({ input: { suppliers } }: ImportRow): string[] {
  const named = Array.isArray(suppliers) ? (suppliers as { supplier?: unknown }[]) : []
  return named.flatMap((one) => (typeof one?.supplier === 'string' ? [one.supplier.slice(0, SUPPLIER_LENGTH_MAX)] : []))
}

/** Rows with longer names are faulty. */
const SUPPLIER_LENGTH_MAX = 64

function claimKey(rowOf: Map<string, number>, key: string, row: number): number | undefined {
  const taken = rowOf.get(key)
  if (taken === undefined) rowOf.set(key, row)
  return taken
}

function codeOf({ input }: ImportRow): string | null {
  return typeof input.packageCode === 'string' ? input.packageCode : null
}

function addErrors(findings: Findings, row: ImportRow, faults: readonly Fault[]): void {
  findings.errorRows++
  for (const { field, reason } of faults.slice(0, ERRORS_SHOWN - findings.errors.length)) {
    const packageCode = codeOf(row)?.slice(0, 64) ?? null
    const value = row.cellOf?.(field)?.slice(0, VALUE_LENGTH_MAX) ?? null
    findings.errors.push({ row: row.row, column: field, packageCode, value, reason })
  }
}

/** Counts a change. @returns whether the package differs */
function countChange(findings: Findings, change: PackageChange): boolean {
  if (differingMembers(change).length === 0) {
    findings.unchanged++
    return false
  }
  if (change.before) findings.changed++
  else findings.added++
  const lines = listDifferences(change)
  const isDoubtful = warningsOf(lines).length > 0
  if (isDoubtful) findings.doubtful++
  if (findings.changes.length < CHANGES_SHOWN || (isDoubtful && findings.doubtful <= CHANGES_SHOWN)) {
    const kind = change.before ? 'CHANGED' : 'ADDED'
    findings.changes.push({ packageCode: change.after.packageCode, change: kind, ...pickDifferences(change), lines })
  }
  return true
}

function fault(field: string, reason: string): Fault {
  return { code: '000108', field, reason }
}
