import { csvText } from '../../lib/csv.ts'
import type { TransferKind } from '../ledger/post.ts'
import type { StatementEntry } from './entries.ts'
import type { MonthStatement } from './month.ts'

type Value = (entry: StatementEntry, currencyCode: string) => unknown

/** Programs read them by place, too: what is new stands last. */
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
]

/** Movements of a wallet as CSV text, a page at a time, the header first. */
export async function* entriesCsv(
  pages: AsyncIterable<StatementEntry[]>,
  currencyCode: string,
): AsyncGenerator<string> {
  yield csvText([COLUMNS.map(([header]) => header)])
  for await (const entries of pages)
    yield csvText(entries.map((entry) => COLUMNS.map(([, value]) => value(entry, currencyCode))))
}

/** Whose statement of which month it is, in signs that every file system takes: `statement-acme-travel-2026-11.csv`. */
export function statementFileName(
  { tenantId, clientName, month }: Pick<MonthStatement, 'tenantId' | 'clientName' | 'month'>,
  kind?: TransferKind,
): string {
  const plain = clientName.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const name = plain
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join('-')
    .slice(0, NAME_LENGTH_MAX)
  return `${['statement', name || tenantId, month, ...(kind ? [kind.toLowerCase()] : [])].join('-')}.csv`
}

/** With the rest of the name, what a list of files still shows. */
const NAME_LENGTH_MAX = 60
