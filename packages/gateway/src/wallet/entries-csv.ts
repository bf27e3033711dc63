import { formatMoney } from '@dealer-esim/contract'
import { stringify } from 'csv-stringify/sync'
import type { StatementEntry } from './entries.ts'

const COLUMNS: readonly (readonly [header: string, value: (entry: StatementEntry) => unknown])[] = [
  ['version', (entry) => Number(entry.walletVersion)],
  ['time', (entry) => entry.createdAt],
  ['kind', (entry) => entry.kind],
  ['amount', (entry) => entry.amount],
  ['balance_after', (entry) => entry.balanceAfter],
  ['order_no', (entry) => entry.orderNo],
  ['transaction_id', (entry) => entry.transactionId],
  ['item_no', (entry) => entry.itemNo],
  ['reference', (entry) => entry.reference],
  ['reason', (entry) => entry.reason],
  ['actor', (entry) => entry.actor],
]

/**
 * Movements as CSV text, a page at a time, the header first. Amounts are decimals and stay numbers in a spreadsheet;
 * text that a spreadsheet would take for a formula is escaped by an apostrophe.
 */
export async function* entriesCsv(pages: AsyncIterable<StatementEntry[]>): AsyncGenerator<string> {
  yield text([COLUMNS.map(([header]) => header)])
  for await (const entries of pages) yield text(entries.map((entry) => COLUMNS.map(([, value]) => value(entry))))
}

function text(rows: unknown[][]): string {
  return stringify(rows, {
    escape_formulas: true, // text only: what comes as a number or bigint keeps its minus sign
    cast: { bigint: (amount) => formatMoney(amount), date: (time) => time.toISOString() },
  })
}
