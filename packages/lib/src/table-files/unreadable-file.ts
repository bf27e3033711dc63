/** The chunks of a file. Chunks of text count as already decoded. */
export type Source = AsyncIterable<Uint8Array | string>

/** Nothing in the file was used. The message says what to do. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile'
  /** The file is unreadable from this row on; 0: entirely. */
  readonly row: number
  /** The column of the faulty cell, or its letter in a spreadsheet, such as C. */
  readonly column: string
  /** The faulty cell. May be a secret. */
  readonly value: string | undefined
  /** Present if the file can be read once a person has answered. */
  readonly question: FileQuestion | undefined

  constructor(
    row: number,
    message: string,
    more: { column?: string; value?: string | undefined; question?: FileQuestion } = {},
  ) {
    super(message)
    this.row = row
    this.column = more.column ?? ''
    this.value = more.value
    this.question = more.question
  }
}

/** A question that only a person can answer about the file. */
export type FileQuestion = EncodingQuestion | ColumnsQuestion

/** Which encoding shows these rows correctly? Names read in the wrong one are damaged permanently. */
export interface EncodingQuestion {
  readonly kind: 'ENCODING'
  /** The encodings that fit the bytes, the most common first, each with up to five rows as they would read. */
  readonly choices: readonly { readonly encoding: string; readonly rows: readonly string[] }[]
}

/** Which column of the file is which of ours? */
export interface ColumnsQuestion {
  readonly kind: 'COLUMNS'
  /** The file's columns, with our corresponding columns if known, and an example cell. */
  readonly headers: readonly { readonly header: string; readonly column: string | null; readonly example: string }[]
  /** Our columns to choose from. */
  readonly columns: readonly string[]
}
