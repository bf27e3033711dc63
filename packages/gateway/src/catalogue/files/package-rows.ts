import type { Fault } from '@dealer-esim/contract'
import type { PackageInput } from '../packages/merge-packages.ts'

/** The chunks of a file. */
export type Source = AsyncIterable<Uint8Array | string>

/** A package in a file, with its position. */
export interface ImportRow {
  /** CSV: the row number of a spreadsheet, where the header line is 1. JSON: the position in the array, from 1. */
  readonly row: number
  readonly input: PackageInput
  /** Unreadable cells; `field` is a column. */
  readonly faults: readonly Fault[]
  /** Returns the column (CSV) or member (JSON) that holds a member of the package. */
  columnOf(field: string): string
  /** Returns the text of a column's cell. Absent for JSON. */
  cellOf?(column: string): string | undefined
}

/** The file is unreadable from this row on. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile'
  /** 0: the file as a whole. */
  readonly row: number
  constructor(row: number, message: string) {
    super(message)
    this.row = row
  }
}
