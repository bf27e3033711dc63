import { EMAIL_LENGTH_MAX, TRAVELLER_NAME_LENGTH_MAX } from '@dealer-esim/contract'
import { findOtherKind } from '@dealer-esim/lib/table-files/file-kind.ts'
import { openTable, type TableAnswers, type TableRow } from '@dealer-esim/lib/table-files/read-table.ts'
import { headerKey, type KnownColumns } from '@dealer-esim/lib/table-files/table-columns.ts'
import { type FileQuestion, UnreadableFile } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { isEmailAddress } from '#tenants/tenant-settings.ts'

/** One line of a list of travellers. */
export interface TravellerLine {
  /** As a spreadsheet counts. */
  row: number
  name: string | null
  email: string
  /** Why nothing can be sent; null: nothing is wrong. */
  fault: string | null
}

export interface TravellerList {
  lines: TravellerLine[]
  /** Why the list, or the rest of it, cannot be read, and what to do. */
  refusal: string | null
  /** With its answer the list can be read. */
  question: FileQuestion | null
}

/** A list is sent in one piece; more than this many may not be sent within a day anyway. */
export const LINES_MAX = 200
const ROW_LENGTH_MAX = 1_000

/**
 * Reads travellers from a file or a pasted text, as `Mei Tanaka, mei@example.com` in each line. A pasted text needs no row of
 * column names: it has none if its first line has an address.
 */
export async function readTravellers(file: Uint8Array, answers: TableAnswers = {}): Promise<TravellerList> {
  const lines: TravellerLine[] = []
  const text = withoutMark(file)
  const header = headerFor(text)
  try {
    const source = sourceOf(header === undefined ? [file] : [Buffer.from(header), text])
    const table = await openTable(source, { columns: COLUMNS, answers, isSecret: false, rowLengthMax: ROW_LENGTH_MAX })
    for await (const row of table.rows) {
      if (lines.length === LINES_MAX) {
        const refusal = `A list has at most ${LINES_MAX} travellers: send the others with another list.`
        return { lines, refusal, question: null }
      }
      lines.push(lineOf(table.columns, row, header === undefined ? 0 : 1))
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    if (header === undefined && hasTravellerFirst(text, error.question))
      return { lines, refusal: NO_HEADER, question: null }
    return { lines, refusal: error.message, question: error.question ?? null }
  }
  return { lines, refusal: null, question: null }
}

async function* sourceOf(chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

/** What people call these columns. */
const NAMES = new Map(
  Object.entries({ email: ['email', 'e-mail address', 'mail'], name: ['name', 'traveller', 'full name'] }).flatMap(
    ([column, headers]) => headers.map((header) => [headerKey(header), column] as const),
  ),
)

const COLUMNS: KnownColumns = {
  names: ['name', 'email'],
  find: (key) => NAMES.get(key),
  check: (columns) => (columns.includes('email') ? undefined : 'The header must have email, and may have name.'),
}

const NO_HEADER =
  'Add a first row with the column names: name, email. Without it, each row must be one name and one e-mail address.'

/** The start of a file that is long enough for its first line. */
const HEAD_LENGTH = 2_000

/** The row of column names for a list that begins with a traveller; undefined: it has its own, or cannot be read without. */
function headerFor(file: Uint8Array): string | undefined {
  const first = firstLine(file)
  if (!first.includes('@')) return undefined
  const separator = ['\t', ';', ','].find((one) => first.includes(one)) ?? ','
  const cells = first.split(separator)
  const columns = cells.map((cell) => (cell.includes('@') ? 'email' : 'name'))
  return new Set(columns).size === columns.length ? `${columns.join(separator)}\n` : undefined
}

/** True if the first row, which was read as column names, is a traveller: no answer to a question would give it an eSIM. */
function hasTravellerFirst(file: Uint8Array, question: FileQuestion | undefined): boolean {
  if (question?.kind === 'COLUMNS') return question.headers.some(({ header }) => header.includes('@'))
  return firstLine(file).includes('@')
}

/** Empty for what is not text in an encoding that extends ASCII, such as a workbook. */
function firstLine(file: Uint8Array): string {
  const isUtf16 = UTF_16_MARKS.some(([one, two]) => file[0] === one && file[1] === two)
  if (isUtf16 || findOtherKind(file) !== undefined) return ''
  const head = Buffer.from(file.subarray(0, HEAD_LENGTH)).toString()
  return head.split(/\r?\n/).find((line) => line.trim() !== '') ?? ''
}

const UTF_16_MARKS = [
  [0xff, 0xfe],
  [0xfe, 0xff],
] as const

function withoutMark(file: Uint8Array): Uint8Array {
  return file[0] === 0xef && file[1] === 0xbb && file[2] === 0xbf ? file.subarray(3) : file
}

function lineOf(columns: readonly string[], { row, cells, fault }: TableRow, headerRows: number): TravellerLine {
  const cellOf = (column: string) => (cells[columns.indexOf(column)] ?? '').trim().replaceAll(/\s+/g, ' ')
  const [name, email] = [cellOf('name'), cellOf('email')]
  return { row: row - headerRows, name: name || null, email, fault: fault?.reason ?? faultOf(name, email) }
}

function faultOf(name: string, email: string): string | null {
  if (email === '') return 'The e-mail address is missing.'
  if (email.length > EMAIL_LENGTH_MAX || !isEmailAddress(email)) return `“${email}” is not an e-mail address.`
  if (name.length > TRAVELLER_NAME_LENGTH_MAX) return `The name is longer than ${TRAVELLER_NAME_LENGTH_MAX} characters.`
  return null
}
