import { csvText } from '../lib/csv.ts'
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

/** Movements as CSV text, a page at a time, the header first. */
export async function* entriesCsv(pages: AsyncIterable<StatementEntry[]>): AsyncGenerator<string> {
  yield csvText([COLUMNS.map(([header]) => header)])
  for await (const entries of pages) yield csvText(entries.map((entry) => COLUMNS.map(([, value]) => value(entry))))
}
