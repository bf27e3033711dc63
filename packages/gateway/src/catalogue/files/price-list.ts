import { csvText } from '../../lib/csv.ts'
import type { Buyer, QuotedPackage, Snapshot } from '../catalogue.ts'

type Value = (quoted: QuotedPackage, buyer: Buyer) => unknown

/** Some programs read columns by position, so a new one is appended. */
const COLUMNS: readonly (readonly [header: string, value: Value])[] = [
  ['package_code', ({ item }) => item.packageCode],
  ['name', ({ item }) => item.name],
  ['type', ({ item }) => item.packageType],
  ['data_type', ({ item }) => item.dataType],
  ['volume_bytes', ({ item }) => (item.volume === null ? null : Number(item.volume))],
  ['duration_days', ({ item }) => item.duration],
  ['period_min', ({ item }) => item.periodNumMin],
  ['period_max', ({ item }) => item.periodNumMax],
  ['locations', ({ item }) => item.coverage.locationCodes.join(' ')],
  ['price', ({ quote }) => quote.price],
  ['retail_price', ({ quote }) => quote.retailPrice],
  ['currency_code', (_, { currencyCode }) => currencyCode],
]

/** Rows that are written at once. */
const ROWS_MAX = 500

/** Writes what a buyer can buy now, at its own prices, as CSV with a header. It reads one snapshot, so prices agree. */
export function* priceListCsv(catalogue: Snapshot, buyer: Buyer): Generator<string> {
  yield csvText([COLUMNS.map(([header]) => header)])
  let rows: unknown[][] = []
  for (const quoted of catalogue.quotes(buyer)) {
    if (!quoted.item.onSale) continue
    rows.push(COLUMNS.map(([, value]) => value(quoted, buyer)))
    if (rows.length < ROWS_MAX) continue
    yield csvText(rows)
    rows = []
  }
  if (rows.length > 0) yield csvText(rows)
}
