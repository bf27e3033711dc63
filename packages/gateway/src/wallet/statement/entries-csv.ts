import { csvText } from '@dealer-esim/lib/csv.ts'
import type { TransferKind } from '../ledger/post.ts'
import type { StatementEntry } from './statement-entries.ts'
import type { MonthStatement } from './statement-month.ts'

type Value = (entry: StatementEntry, currencyCode: string) => unknown

/** Some programs read columns by position, so new ones are added at the end. */
const COLUMNS: readonly (readonly [header: string, value: Value])[] = [
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
  ['currency_code', (_, currencyCode) => currencyCode],
  ['order_entry_no', (entry) => entry.orderEntryNo && Number(entry.orderEntryNo)],
]

/** Writes the movements of a wallet as CSV, page by page, with a header. */
export async function* entriesCsv(
  pages: AsyncIterable<StatementEntry[]>,
  currencyCode: string,
): AsyncGenerator<string> {
  yield csvText([COLUMNS.map(([header]) => header)])
  for await (const entries of pages)
    yield csvText(entries.map((entry) => COLUMNS.map(([, value]) => value(entry, currencyCode))))
}

/** Names the file of a statement, such as `statement-acme-travel-2026-11.csv`. */
export function statementFileName(
  { month, ...tenant }: Pick<MonthStatement, 'tenantId' | 'clientName' | 'month'>,
  kind?: TransferKind,
): string {
  return csvFileName('statement', tenant, month, ...(kind ? [kind.toLowerCase()] : []))
}

/** A file name for a tenant: only characters that every file system allows. */
export function csvFileName(
  what: string,
  { tenantId, clientName }: { tenantId: string; clientName: string },
  ...more: string[]
): string {
  const plain = clientName.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const name = plain
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join('-')
    .slice(0, NAME_LENGTH_MAX)
  return `${[what, name || tenantId, ...more].join('-')}.csv`
}

/** Short enough for a file list to show the whole name. */
const NAME_LENGTH_MAX = 60
