import type { Fault } from '@dealer-esim/contract'
import type { PackageInput } from '../packages/merge-packages.ts'

/** A package in a file, with its position. */
export interface ImportRow {
  /** CSV: the row number in a spreadsheet, where the header is row 1. JSON: the position in the array, from 1. */
  readonly row: number
  readonly input: PackageInput
  /** Unreadable cells; `field` is a column. */
  readonly faults: readonly Fault[]
  /** Returns the column (CSV) or member (JSON) that holds a member of the package. */
  columnOf(field: string): string
  /** Returns the text of a column's cell. Absent for JSON. */
  cellOf?(column: string): string | undefined
  /** The row as a whole cannot be read, so only `faults` are reported. */
  readonly isUnreadable?: boolean
}
