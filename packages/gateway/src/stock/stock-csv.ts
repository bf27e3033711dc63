import { isIccid, parseActivationCode, stripIccidPadding } from '@dealer-esim/contract'
import { parseDateOrTime } from '@dealer-esim/lib/date-or-time.ts'
import { openTable, type TableAnswers, type TableRow } from '@dealer-esim/lib/table-files/read-table.ts'
import { type FileQuestion, type Source, UnreadableFile } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import type { DeliveredEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { createDigitCheck } from './lost-digits.ts'
import { ITEM_NO, stockColumns } from './stock-columns.ts'

/** One row of a file with eSIMs. */
export interface CsvEsim {
  /** Numbered as in a spreadsheet; the header is row 1. */
  row: number
  /** From the column itemNo, if that is allowed. */
  itemNo?: number
  esim: DeliveredEsim & { ac: string }
}

export interface CsvFault {
  row: number
  reason: string
  column?: string
  /** The cell's content, unless it is a secret: an activation code, its parts, a PIN or PUK. */
  value?: string
}

/** The file is refused; every fault gives its row. */
export class CsvRefused extends Error {
  override readonly name = 'CsvRefused'
  /** The first fifty. */
  readonly faults: readonly CsvFault[]
  /** The total number of faults. */
  readonly count: number
  /** The file is readable once a person answers this question. */
  readonly question: FileQuestion | undefined

  constructor(
    faults: readonly CsvFault[],
    { count = faults.length, question }: { count?: number; question?: FileQuestion | undefined } = {},
  ) {
    const more = count > FAULTS_MAX ? [`… ${count} faults in total: these are the first ${FAULTS_MAX}.`] : []
    super([...faults.slice(0, FAULTS_MAX).map(faultText), ...more].join('\n'))
    this.faults = faults.slice(0, FAULTS_MAX)
    this.count = count
    this.question = question
  }
}

function faultText({ row, reason, column, value }: CsvFault): string {
  const where = [row === 0 ? 'file' : `row ${row}`, column].filter(Boolean).join(', ')
  return `${where}: ${reason}${value === undefined ? '' : ` Found: “${value}”.`}`
}

/** The number of faults reported together: enough to see the problem with a file. */
export const FAULTS_MAX = 50
const ROW_LENGTH_MAX = 4_096

export interface EsimFileOptions {
  /** Allows the column itemNo. */
  withItemNo?: boolean
  answers?: TableAnswers | undefined
  warn?(message: string): void
}

/**
 * Reads eSIMs from a table as it is streamed: `iccid,ac` or `iccid,smdpAddress,matchingId`, then any of the other columns
 * in stock-columns.ts. An invalid row yields its fault.
 * @throws CsvRefused for an invalid header, a file that is not a table, and ICCIDs whose last digits are lost
 */
export async function* parseEsims(
  file: Source,
  { withItemNo = false, answers = {}, warn }: EsimFileOptions = {},
): AsyncGenerator<CsvEsim | CsvFault> {
  const digits = createDigitCheck()
  const bundles = new Set<string>()
  try {
    const columns = stockColumns(withItemNo)
    const table = await openTable(file, { columns, answers, isSecret: true, rowLengthMax: ROW_LENGTH_MAX })
    if (table.ignored.length > 0) warn?.(`These columns were not read: ${table.ignored.join(', ')}.`)
    for await (const row of table.rows) {
      const read = esimOf(table.columns, row, bundles)
      if ('esim' in read) digits.add(read.row, read.esim.iccid)
      yield read
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    const { row, message: reason, column, value, question } = error
    // The column may contain secrets.
    const shown = value !== undefined && SHOWN.has(column) ? { value } : {}
    throw new CsvRefused([{ row, reason, ...(column && { column }), ...shown }], { question })
  }
  const lost = digits.findLost()
  if (lost.faults.length > 0) throw new CsvRefused(lost.faults, { count: lost.count })
  if (lost.warning !== undefined) warn?.(lost.warning)
}

/** Columns whose values may appear in messages. All other columns contain data that installs or unlocks an eSIM. */
const SHOWN = new Set(['iccid', 'imsi', 'msisdn', 'apn', 'expiresAt', 'itemNo', 'bundle'])
const SHOWN_LENGTH_MAX = 40
/** What a spreadsheet turns 8985200000000010126 into. */
const ROUNDED = /^\d([.,]\d+)?E\+?\d+$/i

function esimOf(columns: readonly string[], { row, cells, fault }: TableRow, bundles: Set<string>): CsvEsim | CsvFault {
  const record: Partial<Record<string, string>> = {}
  columns.forEach((name, index) => {
    record[name] = cells[index]!.trim() || undefined
  })
  const refuse = (column: string, reason: string): CsvFault => {
    const value = SHOWN.has(column) ? (record[column]?.slice(0, SHOWN_LENGTH_MAX) ?? '') : undefined
    return { row, reason, ...(column && { column }), ...(value !== undefined && { value }) }
  }
  if (fault) return refuse(fault.column, fault.reason)
  const typed = record.iccid ?? ''
  if (ROUNDED.test(typed)) {
    const advice = 'get the file again, and import it without opening it in a spreadsheet.'
    return refuse('iccid', `A spreadsheet has rounded this ICCID, so its last digits are lost: ${advice}`)
  }
  const iccid = stripIccidPadding(typed)
  if (!isIccid(iccid)) return refuse('iccid', 'This is not a valid ICCID: enter 18 to 20 digits.')
  const code = readCode(record)
  if ('reason' in code) return refuse(code.column, code.reason)
  for (const [name, pattern, reason] of PATTERNS) {
    if (record[name] !== undefined && !pattern.test(record[name])) return refuse(name, reason)
  }
  if (record.bundle !== undefined && bundles.add(record.bundle).size > 1) {
    const advice = 'an import contains one product: make a separate file for each.'
    return refuse(
      'bundle',
      `The file also has codes of another bundle, ${[...bundles][0]!.slice(0, SHOWN_LENGTH_MAX)}: ${advice}`,
    )
  }
  const esim: CsvEsim['esim'] = { iccid, ...code }
  for (const name of ['confirmationCode', 'pin', 'puk', 'imsi', 'msisdn', 'apn'] as const) {
    if (record[name] !== undefined) esim[name] = record[name]
  }
  if (record.expiresAt !== undefined) {
    // A date means its start: better too early than too late.
    const time = parseDateOrTime(record.expiresAt)
    if (!time) return refuse('expiresAt', 'Use an expiry such as 2026-11-20 or 2026-11-20T13:28:09Z.')
    esim.installBefore = time
  }
  if (record[ITEM_NO] === undefined) return { row, esim }
  if (!/^[1-9]\d{0,2}$/.test(record[ITEM_NO])) return refuse(ITEM_NO, 'itemNo must be the number of an item.')
  return { row, esim, itemNo: Number(record[ITEM_NO]) }
}

type Code = Pick<CsvEsim['esim'], 'ac' | 'smdpAddress' | 'matchingId'>

/** The activation code of a row, from one column or two. */
function readCode(record: Partial<Record<string, string>>): Code | { column: string; reason: string } {
  const { ac, matchingId = '', confirmationCode } = record
  // Some vendors also write the address as a URL.
  const address = record.smdpAddress?.replace(/^https:\/\//i, '').replace(/\/$/, '') ?? ''
  const column = ac === undefined ? 'matchingId' : 'ac'
  if (ac === undefined && HTML.test(address)) return { column: 'smdpAddress', reason: htmlReason(address) }
  if (HTML.test(ac ?? matchingId)) return { column, reason: htmlReason(ac ?? matchingId) }
  const text = ac ?? `1$${address}$${matchingId}`
  const code = parseActivationCode(text)
  if (!code.ok)
    return { column, reason: ac === undefined ? `SM-DP+ address and matching id: ${code.reason}` : code.reason }
  if (code.value.matchingId === '') return { column, reason: 'The matching id is empty: add it.' }
  if (code.value.confirmationCodeRequired && confirmationCode === undefined) {
    const advice = 'add the code, or ask the supplier for it.'
    return {
      column: 'confirmationCode',
      reason: `The activation code ends in $1, so the phone asks for a confirmation code: ${advice}`,
    }
  }
  const { smdpAddress } = code.value
  return { ac: text.replace(/^1\$/, 'LPA:1$'), smdpAddress, matchingId: code.value.matchingId }
}

/** Characters in HTML notation, such as &#45; for a hyphen. */
const HTML = /&(#\d{1,6}|#x[\da-f]{1,5}|[a-z]{2,8});/i

function htmlReason(text: string): string {
  return `It was copied from a web page’s source: ${HTML.exec(text)![0]} stands for a character. Get the code as text.`
}

const PATTERNS = [
  ['pin', /^\d{4,8}$/, 'A PIN must have 4 to 8 digits.'],
  ['puk', /^\d{8}$/, 'A PUK must have 8 digits.'],
  ['imsi', /^\d{6,15}$/, 'An IMSI must have 6 to 15 digits.'],
  ['msisdn', /^\+?\d{3,15}$/, 'A phone number must have 3 to 15 digits, and may begin with +.'],
  ['confirmationCode', /^\P{Cc}*$/u, 'confirmationCode must have no control characters.'],
  ['apn', /^\P{Cc}*$/u, 'apn must have no control characters.'],
] as const
