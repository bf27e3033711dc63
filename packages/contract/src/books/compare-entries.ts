import { formatMoney, MalformedMoney, parseMoney } from '#money.ts'
import { type Finding, findingOf, MalformedOrders } from './findings.ts'
import type { LeafEntry } from './leaf.ts'

/** A row of the dealer's own list of orders. */
export interface OwnOrder {
  transactionId: string
  /** In 1/10 000. */
  amount: number
  /** Its line in the file. */
  line: number
}

/**
 * Reads a dealer's own list of orders: CSV with a header, the columns transactionId and amount in any place. An amount is an
 * integer in 1/10 000, as the API returns it, or decimal: `45000` and `4.50` are the same. Example:
 *
 *     transactionId,amount
 *     T-1,4.50
 *
 * @param file its name, for messages
 * @throws MalformedOrders
 */
export function parseOwnOrders(text: string, file: string): OwnOrder[] {
  const [header, ...rows] = recordsOf(text.replace(/^\ufeff/, ''), file)
  const [idAt, amountAt] = ['transactionId', 'amount'].map((column) => header?.cells.indexOf(column) ?? -1)
  if (idAt! < 0 || amountAt! < 0) throw new MalformedOrders('listColumns', { file })
  return rows.map(({ line, cells }) => {
    const [transactionId, amount] = [cells[idAt!], amountOf(cells[amountAt!] ?? '')]
    if (!transactionId || amount === undefined) throw new MalformedOrders('listLine', { line, file })
    return { transactionId, amount, line }
  })
}

interface CsvRecord {
  /** The line on which it begins. */
  line: number
  cells: string[]
}

/**
 * Splits CSV (RFC 4180) into records of trimmed cells; blank lines are left out. Quotes of a quoted cell are dropped, doubled ones too,
 * because neither a transactionId nor an amount contains one.
 */
function recordsOf(text: string, file: string): CsvRecord[] {
  const records: CsvRecord[] = []
  let record: CsvRecord = { line: 1, cells: [] }
  let [line, quoteLine, cell] = [1, 1, '']
  let state: 'START' | 'PLAIN' | 'OPEN' | 'CLOSED' | 'AFTER' = 'START'
  const unmatched = () => new MalformedOrders('listQuote', { line: quoteLine, file })
  for (const part of `${text}\n`.split(/([",\n])/)) {
    if (part === '"' && state !== 'PLAIN' && state !== 'AFTER') {
      if (state === 'START') quoteLine = line
      state = state === 'OPEN' ? 'CLOSED' : 'OPEN'
    } else if (state !== 'OPEN' && (part === ',' || part === '\n')) {
      record.cells.push(cell.trim())
      ;[cell, state] = ['', 'START']
      if (part === ',') continue
      if (record.cells.length > 1 || record.cells[0] !== '') records.push(record)
      record = { line: line + 1, cells: [] }
    } else {
      cell += part
      const isBlank = part.trim() === ''
      if (state === 'START' && !isBlank) state = 'PLAIN'
      if (state === 'CLOSED' && part !== '') state = 'AFTER'
      if (state === 'AFTER' && !isBlank) throw unmatched()
    }
    if (part === '\n') line++
  }
  if (state === 'OPEN') throw unmatched()
  return records
}

function amountOf(text: string): number | undefined {
  if (/^\d{1,16}$/.test(text)) return Number(text)
  try {
    return Number(parseMoney(text))
  } catch (error) {
    if (error instanceof MalformedMoney) return undefined
    throw error
  }
}

/** The finding about the earlier entry; one that is about no entry comes last. */
export function firstOf(left: Finding | undefined, right: Finding | undefined): Finding | undefined {
  if (left === undefined || right === undefined) return left ?? right
  const placeOf = ({ entryNo }: Finding) => (entryNo === null ? Number.POSITIVE_INFINITY : Number(entryNo))
  return placeOf(right) < placeOf(left) ? right : left
}

/**
 * The first entry whose number or balance does not follow from the one before.
 * @param skipped how many entries come before the first of `entries`
 * @param last the number of the last entry that is expected
 * @param balance before the first entry; undefined: not known
 */
export function checkChain(
  entries: readonly LeafEntry[],
  skipped: number,
  last: number,
  balance: number | undefined,
): Finding | undefined {
  let before = balance === undefined ? undefined : BigInt(balance)
  for (const [index, entry] of entries.entries()) {
    const entryNo = String(skipped + index + 1)
    if (entry.entryNo !== entryNo) return findingOf('skipped', { entryNo, next: entry.entryNo })
    const follows = before === undefined ? BigInt(entry.balanceAfter) : before + BigInt(entry.amount)
    if (BigInt(entry.balanceAfter) !== follows) {
      const balances = { balance: formatMoney(BigInt(entry.balanceAfter)), follows: formatMoney(follows) }
      return findingOf('wrongBalance', { entryNo, ...balances })
    }
    before = follows
  }
  if (entries.length === last - skipped) return undefined
  return findingOf('missing', { entryNo: String(skipped + entries.length + 1), count: last })
}

/**
 * Compares debits of orders and top-ups with the dealer's list: the first row that differs on either side.
 * @param isPartial true if earlier or later entries were left out: then an order of the list may be among them
 * @param later entries that no checkpoint covers yet: the list may have their orders, and need not
 */
export function compareOrders(
  orders: readonly OwnOrder[],
  entries: readonly LeafEntry[],
  isPartial: boolean,
  later: readonly LeafEntry[] = [],
): Finding | undefined {
  const debits = debitsOf(entries)
  const laterDebits = debitsOf(later)
  const lines = new Map<string, number>()
  for (const { transactionId, amount, line } of orders) {
    const first = lines.get(transactionId)
    if (first !== undefined) return findingOf('twiceInList', { line, transactionId, first })
    lines.set(transactionId, line)
    const entry = debits.get(transactionId) ?? laterDebits.get(transactionId)
    if (entry === undefined) {
      if (isPartial) continue
      return findingOf('notInLedger', { line, transactionId })
    }
    if (-entry.amount !== amount) {
      const amounts = { ours: formatMoney(BigInt(amount)), theirs: formatMoney(BigInt(-entry.amount)) }
      return findingOf('otherAmount', { entryNo: entry.entryNo, transactionId, line, ...amounts })
    }
    debits.delete(transactionId)
  }
  const [extra] = debits.values()
  if (extra === undefined) return undefined
  return findingOf('notInList', { entryNo: extra.entryNo, transactionId: extra.transactionId! })
}

/** The debits of orders and top-ups by their transactionId. */
function debitsOf(entries: readonly LeafEntry[]): Map<string, LeafEntry> {
  const debits = new Map<string, LeafEntry>()
  for (const entry of entries) {
    const isDebit = entry.kind === 'ORDER' || entry.kind === 'TOPUP'
    if (isDebit && entry.transactionId !== null) debits.set(entry.transactionId, entry)
  }
  return debits
}
