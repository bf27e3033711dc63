import { DERIVED_ID_PREFIX, MalformedMoney, orderIdOf, parseMoney } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { openTable, type TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { headerKey } from '@dealer-esim/lib/table-files/table-columns.ts'
import { type Source, UnreadableFile } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { storedTransactionId } from '#orders/transaction-id.ts'

/** An order by a dealer's own list. */
export interface DealerOrder {
  row: number
  transactionId: string
  storedId: string
  orderNo: string
  orderId: string | undefined
  amount: bigint
}

const ROW_LENGTH_MAX = 1_024
const ROWS_MAX = 100_000

/** Reads the table `transactionId,orderNo,amount`. @throws Refusal for a file with a fault */
export function readOrders(file: Source, answers: TableAnswers): Promise<DealerOrder[]> {
  return readRows(file, answers, ['transactionId', 'orderNo', 'amount'], orderOf)
}

/** Reads the column `transactionId` of a table. @throws Refusal for a file with a fault */
export async function readTransactionIds(file: Source, answers: TableAnswers): Promise<string[]> {
  const rows = await readRows(file, answers, ['transactionId'], (row, { transactionId }) => {
    requireId(row, transactionId)
    return { transactionId, storedId: storedIdOf(transactionId) }
  })
  return rows.map(({ transactionId }) => transactionId)
}

/** Reads rows that each have another transactionId. */
async function readRows<Column extends string, Row extends { transactionId: string; storedId: string }>(
  file: Source,
  answers: TableAnswers,
  names: readonly Column[],
  read: (row: number, cells: Record<Column, string>, hasDecimalComma: boolean) => Row,
): Promise<Row[]> {
  const byKey = new Map(names.map((name) => [headerKey(name), name]))
  const columns = {
    names,
    find: (key: string) => byKey.get(key),
    check: (found: readonly string[]) =>
      names.every((name) => found.includes(name)) ? undefined : `The header must have ${names.join(', ')}.`,
  }
  try {
    const table = await openTable(file, { columns, answers, isSecret: false, rowLengthMax: ROW_LENGTH_MAX })
    const rows: Row[] = []
    const seen = new Set<string>()
    for await (const { row, cells, fault } of table.rows) {
      if (fault) throw new UnreadableFile(row, fault.reason)
      if (rows.length === ROWS_MAX) throw new UnreadableFile(row, `The file has more than ${ROWS_MAX} rows: split it.`)
      const named = Object.fromEntries(names.map((name) => [name, cells[table.columns.indexOf(name)]!.trim()]))
      const one = read(row, named as Record<Column, string>, table.hasDecimalComma)
      if (seen.has(one.storedId)) throw new UnreadableFile(row, `${one.transactionId} is in the file twice.`)
      seen.add(one.storedId)
      rows.push(one)
    }
    return rows
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    throw new Refusal(422, 'LIST_UNREADABLE', `${error.row === 0 ? 'file' : `row ${error.row}`}: ${error.message}`)
  }
}

function requireId(row: number, transactionId: string): void {
  if (transactionId === '') throw new UnreadableFile(row, 'The transactionId is missing.')
}

function orderOf(
  row: number,
  { transactionId, orderNo, amount }: Record<'transactionId' | 'orderNo' | 'amount', string>,
  hasComma: boolean,
): DealerOrder {
  requireId(row, transactionId)
  const orderId = orderNo === '' ? undefined : orderIdOf(orderNo)
  if (orderId === undefined && orderNo !== '') {
    throw new UnreadableFile(row, `“${orderNo}” is no orderNo of this gateway. If the dealer has none, leave it empty.`)
  }
  try {
    const paid = parseMoney(hasComma ? amount.replace(',', '.') : amount)
    return { row, transactionId, storedId: storedIdOf(transactionId), orderNo, orderId, amount: paid }
  } catch (error) {
    if (error instanceof MalformedMoney) throw new UnreadableFile(row, error.message)
    throw error
  }
}

/** The id under which a dealer's transactionId is stored. One that was copied from the report, such as `rt-sha256:…`, is that id. */
export function storedIdOf(named: string): string {
  return named.startsWith(DERIVED_ID_PREFIX) ? named : storedTransactionId(named)
}
