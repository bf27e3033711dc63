import type { Fault } from '@dealer-esim/contract'
import type { PackageInput } from '../packages/merge.ts'

/** A file as it is read: in pieces. */
export type Source = AsyncIterable<Uint8Array | string>

/** A package of a file, and where it stands there. */
export interface ImportRow {
  /** CSV: as a spreadsheet numbers it, the header line being 1. JSON: its place in the array, from 1. */
  readonly row: number
  readonly input: PackageInput
  /** What could not be read; `field` is a column already. */
  readonly faults: readonly Fault[]
  /** The column (CSV) or member (JSON) that a member of the package comes from. */
  columnOf(field: string): string
}

/** From here on the file cannot be understood. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile'
  /** 0: the file as a whole. */
  readonly row: number
  constructor(row: number, message: string) {
    super(message)
    this.row = row
  }
}
