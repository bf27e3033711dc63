import type { Readable } from 'node:stream'
import { isIccid, parseActivationCode, stripIccidPadding } from '@dealer-esim/contract'
import { findFormatFault } from '@dealer-esim/lib/csv.ts'
import { parseDateOrTime } from '@dealer-esim/lib/date-or-time.ts'
import type { DeliveredEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { type Info, parse } from 'csv-parse'

/** One row of a file of eSIMs, and the line that it starts on. */
export interface CsvEsim {
  line: number
  /** From the column itemNo, if it is allowed. */
  itemNo?: number
  esim: DeliveredEsim & { ac: string }
}

export interface CsvFault {
  line: number
  reason: string
  column?: string
  /** The cell, unless it is a secret: an activation code, its parts, a PIN or PUK. */
  value?: string
}

/** The file is refused; every fault names its line. */
export class CsvRefused extends Error {
  override readonly name = 'CsvRefused'
  readonly faults: readonly CsvFault[]
  constructor(faults: readonly CsvFault[]) {
    super(faults.map(faultText).join('\n'))
    this.faults = faults
  }
}

function faultText({ line, reason, value }: CsvFault): string {
  return `line ${line}: ${reason}${value === undefined ? '' : `, not “${value}”`}`
}

/** Faults that are reported together: enough to see what is wrong with a file. */
export const FAULTS_MAX = 50

const OPTIONAL = ['confirmationCode', 'pin', 'puk', 'imsi', 'msisdn', 'apn', 'expiresAt'] as const
const ROW_LENGTH_MAX = 4_096

/**
 * Reads eSIMs from CSV as it streams in. Header: `iccid,ac` or `iccid,smdpAddress,matchingId`, then any of
 * confirmationCode, pin, puk, imsi, msisdn, apn, expiresAt (and itemNo, if `withItemNo`). An invalid row is yielded as
 * its fault.
 * @throws CsvRefused for an invalid header, and for a file that is not CSV
 */
export async function* parseEsims(file: Readable, withItemNo = false): AsyncGenerator<CsvEsim | CsvFault> {
  const parser = file.pipe(
    parse({
      bom: true,
      info: true,
      skip_empty_lines: true,
      trim: true,
      relax_column_count: true,
      max_record_size: ROW_LENGTH_MAX,
    }),
  )
  file.on('error', (error) => parser.destroy(error))
  let header: string[] | undefined
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      if (header === undefined) {
        header = checkHeader(record, withItemNo)
        continue
      }
      yield rowOf(header, record, info.lines)
    }
  } catch (error) {
    if (error instanceof CsvRefused) throw error
    const { lines = 1, message } = error as Error & { lines?: number }
    throw new CsvRefused([{ line: lines, reason: message }])
  }
  if (header === undefined) throw new CsvRefused([{ line: 1, reason: 'the file is empty' }])
}

function checkHeader(names: string[], withItemNo: boolean): string[] {
  const refuse = (reason: string) => new CsvRefused([{ line: 1, reason }])
  const form = findFormatFault(names)
  if (form !== undefined) throw refuse(form)
  const known = ['iccid', 'ac', 'smdpAddress', 'matchingId', ...OPTIONAL, ...(withItemNo ? ['itemNo'] : [])]
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw refuse(`unknown column ${unknown.join(', ')}; available: ${known.join(', ')}`)
  if (new Set(names).size !== names.length) throw refuse('a column is named twice')
  const has = (name: string) => names.includes(name)
  const whole = has('ac') && !has('smdpAddress') && !has('matchingId')
  const parts = !has('ac') && has('smdpAddress') && has('matchingId')
  if (!has('iccid') || !(whole || parts)) {
    throw refuse('the header must be iccid,ac or iccid,smdpAddress,matchingId, then the other columns')
  }
  return names
}

/** Columns whose values messages may show. All other columns hold data that installs or unlocks an eSIM. */
const SHOWN = new Set(['iccid', 'imsi', 'msisdn', 'apn', 'expiresAt', 'itemNo'])
const SHOWN_LENGTH_MAX = 40

function rowOf(header: string[], record: string[], line: number): CsvEsim | CsvFault {
  if (record.length !== header.length) return { line, reason: `${record.length} columns instead of ${header.length}` }
  const row = Object.fromEntries(header.map((name, index) => [name, record[index] || undefined]))
  const refuse = (column: string, reason: string): CsvFault => {
    const value = SHOWN.has(column) ? (row[column]?.slice(0, SHOWN_LENGTH_MAX) ?? '') : undefined
    return { line, reason, column, ...(value !== undefined && { value }) }
  }
  const iccid = stripIccidPadding(row.iccid ?? '')
  if (!isIccid(iccid)) return refuse('iccid', 'iccid must have 18 to 20 digits')
  const text = row.ac ?? `1$${row.smdpAddress ?? ''}$${row.matchingId ?? ''}`
  const code = parseActivationCode(text)
  const codeColumn = row.ac === undefined ? 'matchingId' : 'ac'
  if (!code.ok)
    return refuse(codeColumn, `${row.ac === undefined ? 'smdpAddress and matchingId' : 'ac'}: ${code.reason}`)
  if (code.value.matchingId === '') return refuse(codeColumn, 'the matching id is empty')
  for (const [name, pattern, reason] of PATTERNS) {
    if (row[name] !== undefined && !pattern.test(row[name])) return refuse(name, `${name} must ${reason}`)
  }
  const esim: CsvEsim['esim'] = {
    iccid,
    ac: text.replace(/^1\$/, 'LPA:1$'),
    smdpAddress: code.value.smdpAddress,
    matchingId: code.value.matchingId,
  }
  for (const name of ['confirmationCode', 'pin', 'puk', 'imsi', 'msisdn', 'apn'] as const) {
    if (row[name] !== undefined) esim[name] = row[name]
  }
  if (row.expiresAt !== undefined) {
    // A date means its start: better too early than too late.
    const time = parseDateOrTime(row.expiresAt)
    if (!time) return refuse('expiresAt', 'expiresAt must be like 2026-11-20 or 2026-11-20T13:28:09Z')
    esim.installBefore = time
  }
  if (row.itemNo === undefined) return { line, esim }
  if (!/^[1-9]\d{0,2}$/.test(row.itemNo)) return refuse('itemNo', 'itemNo must be the number of an item')
  return { line, esim, itemNo: Number(row.itemNo) }
}

const PATTERNS = [
  ['pin', /^\d{4,8}$/, 'have 4 to 8 digits'],
  ['puk', /^\d{8}$/, 'have 8 digits'],
  ['imsi', /^\d{6,15}$/, 'have 6 to 15 digits'],
  ['msisdn', /^\+?\d{3,15}$/, 'have 3 to 15 digits'],
  ['confirmationCode', /^\P{Cc}*$/u, 'have no control characters'],
  ['apn', /^\P{Cc}*$/u, 'have no control characters'],
] as const
