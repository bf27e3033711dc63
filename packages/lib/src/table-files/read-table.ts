import { type CsvRecord, columnLetter, csvRecords, type Separator } from './csv-record.ts'
import { decodeText, type Encoding } from './decode-text.ts'
import { findOtherKind, HEAD_LENGTH, isWorkbook, SAVE_AS_CSV } from './file-kind.ts'
import { type ColumnMap, type KnownColumns, matchColumns } from './table-columns.ts'
import { type Source, UnreadableFile } from './unreadable-file.ts'
import { WORKBOOK_BYTES_MAX, workbookRecords } from './workbook.ts'

export interface TableOptions {
  readonly columns: KnownColumns
  /** A person's answers to the questions of UnreadableFile. */
  readonly answers?: TableAnswers
  /** Cells may be activation codes, which questions must not show. */
  readonly isSecret: boolean
  /** Maximum number of characters in a row. */
  readonly rowLengthMax: number
}

export interface TableAnswers {
  readonly encoding?: Encoding | undefined
  readonly columnMap?: ColumnMap | undefined
}

export interface Table {
  /** The file's columns by our names. */
  readonly columns: readonly string[]
  /** The file's headers that a person's map leaves out. */
  readonly ignored: readonly string[]
  /** Numbers may use a decimal comma, because the separator is not a comma. */
  readonly hasDecimalComma: boolean
  readonly rows: AsyncGenerator<TableRow>
}

export interface TableRow {
  /** The row number as a spreadsheet counts; the header is row 1. */
  readonly row: number
  /** The cells of `columns`. */
  readonly cells: readonly string[]
  /** The row must not be used. */
  readonly fault?: CellFault
}

export interface CellFault {
  /** One of `columns`, a letter of the spreadsheet for a column without a name, or empty: the row as a whole. */
  readonly column: string
  readonly value?: string
  readonly reason: string
}

/**
 * The one reader of every table that people give to the gateway: CSV separated by commas, semicolons or tabs, in UTF-8,
 * UTF-16 or an encoding that a person has chosen, or an Excel workbook (.xlsx), with headers in any case. It never guesses:
 * anything ambiguous is refused.
 * @throws UnreadableFile, also from `rows`
 */
export async function openTable(source: Source, options: TableOptions): Promise<Table> {
  const { columns: known, answers = {}, isSecret, rowLengthMax } = options
  const { records, hasDecimalComma } = await openRecords(source, answers.encoding, isSecret, rowLengthMax)
  const header = await nextRecord(records)
  if (header === undefined) throw new UnreadableFile(0, 'The file is empty: it must begin with a row of column names.')
  checkHeaderText(header)
  // An example for the question. A fault in this row belongs to the row.
  const { first, later } = await peek(records)
  const example = first?.cells.map((cell) => (isSecret ? shapeOf(cell) : cell))
  const { columns, places, ignored } = matchColumns(header.cells, example, known, answers.columnMap, header.row)
  const isRead = new Set(places)
  const unnamed = header.cells.flatMap((name, place) => (name.trim() === '' && !isRead.has(place) ? [place] : []))
  const layout = { columns, places, unnamed, width: header.cells.length }
  return { columns, ignored, hasDecimalComma, rows: tableRows(later(), layout) }
}

async function openRecords(source: Source, encoding: Encoding | undefined, isSecret: boolean, rowLengthMax: number) {
  const { head, file } = await readHead(source)
  if (isWorkbook(head)) {
    return { records: inTurn(await workbookRecords(await allBytes(file)), rowLengthMax), hasDecimalComma: false }
  }
  const advice = findOtherKind(head)
  if (advice !== undefined) throw new UnreadableFile(0, advice)
  const { separator, chunks } = await findSeparator(decodeText(file, encoding, isSecret))
  return { records: csvRecords(chunks, separator, rowLengthMax), hasDecimalComma: separator !== ',' }
}

async function* inTurn(records: readonly CsvRecord[], lengthMax: number): AsyncGenerator<CsvRecord> {
  for (const record of records) {
    const length = record.cells.reduce((sum, cell) => sum + cell.length, 0)
    if (length > lengthMax) throw new UnreadableFile(record.row, `The row has more than ${lengthMax} characters.`)
    yield record
  }
}

async function allBytes(file: Source): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of file) {
    chunks.push(Buffer.from(chunk))
    length += chunk.length
    if (length > WORKBOOK_BYTES_MAX) throw new UnreadableFile(0, `The workbook is too large: ${SAVE_AS_CSV}`)
  }
  return Buffer.concat(chunks)
}

interface Layout {
  readonly columns: readonly string[]
  readonly places: readonly number[]
  readonly unnamed: readonly number[]
  readonly width: number
}

async function* tableRows(records: AsyncGenerator<CsvRecord>, layout: Layout): AsyncGenerator<TableRow> {
  for await (const { row, cells } of records) {
    if (cells.every((cell) => cell.trim() === '')) continue
    const fault = findRowFault(cells, layout)
    yield { row, cells: layout.places.map((place) => cells[place] ?? ''), ...(fault && { fault }) }
  }
}

function findRowFault(cells: readonly string[], { columns, places, unnamed, width }: Layout): CellFault | undefined {
  const nameOf = (place: number) => columns[places.indexOf(place)] ?? columnLetter(place)
  if (cells.length < width || cells.slice(width).some((cell) => cell.trim() !== '')) {
    const reason = `The row has ${cells.length} cells, but the header line has ${width}: check for a missing quote or separator.`
    return { column: '', reason }
  }
  const stray = unnamed.find((place) => cells[place]!.trim() !== '')
  if (stray !== undefined) {
    const reason = 'This column has no name in the first row: name the column, or empty the cell.'
    return { column: columnLetter(stray), value: cells[stray]!, reason }
  }
  const damaged = cells.findIndex((cell) => DAMAGED.test(cell) && MISREAD.some((kind) => kind.is(cell)))
  if (damaged === -1) return undefined
  const { reason } = MISREAD.find((kind) => kind.is(cells[damaged]!))!
  return { column: nameOf(damaged), value: cells[damaged]!, reason }
}

/** A quick test for the cells that MISREAD decides on. */
const DAMAGED = /[\0\x80-\x9F\uFFFDÃâð]/

/** Text that another program has already damaged. */
const MISREAD: readonly { is(cell: string): boolean; reason: string }[] = [
  {
    is: (cell) => cell.includes('\uFFFD'),
    reason:
      'A letter was lost (�): another program saved the file in the wrong encoding. Enter the text again, or get the original file.',
  },
  {
    is: (cell) => /[\0\x80-\x9F]/.test(cell),
    reason: 'The text has a control character, so the file is in a different encoding: save it again as CSV UTF-8.',
  },
  {
    // UTF-8 that was read as Windows-1252 and saved as UTF-8 again: Ã© is é, â€™ is ’.
    is: (cell) => /Ã[\u00A0-\u00BF€‚ƒ„…†‡ˆ‰Š‹Œ‘’“”•–—˜™š›œžŸŽ]|â€[™œ˜¦“”¢]|ðŸ/.test(cell),
    reason:
      'Another program opened this text in the wrong encoding (Ã© instead of é). Get the original file and save it as CSV UTF-8.',
  },
]

function checkHeaderText(header: CsvRecord): void {
  const damaged = header.cells.find((cell) => /[\0\x80-\x9F\uFFFD]/.test(cell))
  if (damaged === undefined) return
  const reason = `The column name “${damaged.slice(0, 40)}” has damaged letters: save the file again as CSV UTF-8.`
  throw new UnreadableFile(header.row, reason)
}

/** Its letters and digits, without saying which: LPA:1$smdp.example.com$AB-12 is AAA:9$aaaa.aaaaaaa.aaa$AA-99. */
function shapeOf(cell: string): string {
  return cell
    .replaceAll(/[a-z]/g, 'a')
    .replaceAll(/[A-Z]/g, 'A')
    .replaceAll(/\d/g, '9')
    .replaceAll(/[^\0-\x7F]/g, '…')
}

async function nextRecord(records: AsyncGenerator<CsvRecord>): Promise<CsvRecord | undefined> {
  for (;;) {
    const { value, done } = await records.next()
    if (done) return undefined
    if (value.cells.some((cell) => cell.trim() !== '') && !isSeparatorLine(value)) return value
  }
}

/** Excel's own first line, `sep=;`, which states the separator. */
function isSeparatorLine({ row, cells }: CsvRecord): boolean {
  return row === 1 && /^sep=/i.test(cells[0]!) && cells.join('').length <= 'sep=,'.length
}

async function peek(records: AsyncGenerator<CsvRecord>) {
  let first: CsvRecord | undefined
  let failure: unknown
  try {
    first = await nextRecord(records)
  } catch (error) {
    failure = error
  }
  async function* later() {
    if (failure !== undefined) throw failure
    if (first !== undefined) yield first
    yield* records
  }
  return { first, later }
}

/** A header line is shorter. */
const HEADER_LENGTH_MAX = 65_536

/** The header line's separator: the one that occurs most often outside quotes. */
async function findSeparator(text: AsyncGenerator<string>) {
  let head = ''
  const lineOf = () => {
    const start = head.search(/\S|\t/)
    const end = start < 0 ? -1 : head.slice(start).search(/[\r\n]/)
    return end > 0 ? head.slice(start, start + end) : undefined
  }
  for (;;) {
    const { value, done } = await text.next()
    if (done) break
    head += value
    if (lineOf() !== undefined || head.length > HEADER_LENGTH_MAX) break
  }
  async function* chunks() {
    if (head !== '') yield head
    yield* text
  }
  return { separator: separatorOf(lineOf() ?? head), chunks: chunks() }
}

const SEPARATORS = [',', ';', '\t'] as const

function separatorOf(line: string): Separator {
  const named = SEPARATORS.find(
    (separator) => /^"?sep=/i.test(line) && line.replace(/"$/, '').endsWith(`=${separator}`),
  )
  if (named !== undefined) return named
  const plain = line.replaceAll(/"[^"]*"/g, '')
  const counts = SEPARATORS.map((separator) => plain.split(separator).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))]!
}

/** Reads enough of a file to recognise it. @returns `file`: all of it */
async function readHead(source: Source): Promise<{ head: Uint8Array; file: Source }> {
  const chunks = source[Symbol.asyncIterator]()
  const read: (Uint8Array | string)[] = []
  let length = 0
  while (length < HEAD_LENGTH) {
    const { value, done } = await chunks.next()
    if (done) break
    read.push(value)
    length += value.length
  }
  const head = Buffer.concat(read.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)))
  // A byte-order mark must not be split.
  const isText = read.every((chunk) => typeof chunk === 'string')
  async function* file() {
    if (isText) yield read.join('').replace(/^\uFEFF/, '')
    else yield head
    for (;;) {
      const { value, done } = await chunks.next()
      if (done) return
      yield value
    }
  }
  return { head, file: file() }
}
