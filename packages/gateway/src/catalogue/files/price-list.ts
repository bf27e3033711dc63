import { csvText } from '@dealer-esim/lib/csv.ts'
import type { Buyer, QuotedPackage } from '../catalogue.ts'

type Value = (quoted: QuotedPackage, buyer: Buyer) => unknown

/** Some programs read columns by position, so new columns are appended. */
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

/** Columns that reveal other dealers' prices. */
const OPERATOR_COLUMNS: typeof COLUMNS = [
  ['status', ({ item }) => (item.onSale ? 'ON_SALE' : 'OFF_SALE')],
  ['source', ({ quote }) => quote.source],
  ['list_price', ({ item }, { currencyCode }) => listPriceOf(item, currencyCode)],
]

/** The number of rows that one statement writes. */
const ROWS_MAX = 500

/** Writes a buyer's prices as CSV with a header. All prices come from one snapshot, so they are consistent. */
export function* priceListCsv(
  prices: Iterable<QuotedPackage>,
  buyer: Buyer,
  { forOperator }: { forOperator: boolean },
): Generator<string> {
  const columns = forOperator ? [...COLUMNS, ...OPERATOR_COLUMNS] : COLUMNS
  yield csvText([columns.map(([header]) => header)])
  let rows: unknown[][] = []
  for (const quoted of prices) {
    rows.push(columns.map(([, value]) => value(quoted, buyer)))
    if (rows.length < ROWS_MAX) continue
    yield csvText(rows)
    rows = []
  }
  if (rows.length > 0) yield csvText(rows)
}

/** The price for buyers without a more specific one; null if there is no price in this currency. */
export function listPriceOf({ prices }: QuotedPackage['item'], currencyCode: string): bigint | null {
  return prices.find((price) => price.currencyCode === currencyCode && !price.removed)?.price ?? null
}
