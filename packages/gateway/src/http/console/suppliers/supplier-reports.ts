import Type, { type Static } from 'typebox'
import {
  DISCREPANCY_COLUMNS,
  listSupplierMonths,
  SUPPLIER_MONTH_COLUMNS,
  streamDiscrepancies,
} from '#fulfilment/reconciliation/reconciliation-report.ts'
import { PRICE_DIFFERENCE_COLUMNS, streamPriceDifferences } from '#suppliers/supplier-prices.ts'
import { csvRoute, inOnePart } from '../kernel/csv-route.ts'
import { OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED, money, nullable, time } from '../kernel/route-schemas.ts'

const count = () => Type.Integer({ minimum: 0 })

const supplierMonth = Type.Object({
  supplier: Type.String({ description: 'Empty: not bought from one' }),
  currencyCode: Type.String(),
  delivered: count(),
  cancelled: count(),
  refused: count(),
  underReview: count(),
  orphans: count(),
  sales: money(),
  refunds: money(),
  cost: nullable(money()),
  costCurrency: nullable(Type.String()),
  charged: Type.Integer({ description: 'Delivered eSIMs whose charge the supplier states' }),
  chargedCost: Type.Integer({ description: 'The sum of these charges, a part of the cost' }),
})
export type SupplierMonthRow = Static<typeof supplierMonth>

const discrepancy = Type.Object({
  kind: Type.Enum(['ORDER_WITHOUT_ESIM', 'ESIM_WITHOUT_ORDER', 'UNREADABLE_ENTRY']),
  supplier: Type.String(),
  tenantId: nullable(Type.String()),
  orderNo: nullable(Type.String()),
  itemNo: nullable(Type.Integer()),
  iccid: nullable(Type.String()),
  since: time(),
  detail: nullable(Type.String()),
})
export type DiscrepancyRow = Static<typeof discrepancy>

const priceDifference = Type.Object({
  supplier: Type.String(),
  packageCode: Type.String(),
  productCode: Type.String(),
  price: money(),
  cost: money(),
  currencyCode: Type.String(),
  seenAt: time(),
})
export type PriceDifferenceRow = Static<typeof priceDifference>

const ofMonth = Type.Object(
  { month: Type.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])$', description: 'In UTC, by the time of the order' }) },
  CLOSED,
)
/** The number of rows on a page. The file contains all of them. */
const SHOWN_MAX = 200
/** How many rows are counted for a page. More are not even counted. */
const READ_MAX = 10_000
const omitted = {
  omitted: count(),
  isComplete: Type.Boolean({ description: 'false: at least so many are omitted' }),
}
/** The reports of the command `supplier report`. */
export const supplierReportRoutes: Route[] = [
  route('GET /supplier-reports/months', {
    access: OPERATORS,
    summary:
      'What each supplier delivered and refused in a month, with sales and cost. Deliveries, refusals and cancellations are counted a few seconds later',
    query: ofMonth,
    answer: Type.Object({ months: Type.Array(supplierMonth) }),
    async handle({ deps }, { query }) {
      const rows = await listSupplierMonths(deps.db, periodOf(query))
      return { months: rows.map(({ month: _, ...row }) => row) }
    },
  }),
  csvRoute({
    path: '/supplier-reports/months.csv',
    access: OPERATORS,
    summary: "A month's supplier figures as CSV",
    query: ofMonth,
    file: 'supplier-months',
    parts: ({ deps }, { query }) => inOnePart(listSupplierMonths(deps.db, periodOf(query))),
    columns: SUPPLIER_MONTH_COLUMNS,
  }),
  route('GET /supplier-reports/discrepancies', {
    access: OPERATORS,
    summary: 'Orders without eSIMs and eSIMs without orders in a month, newest first',
    query: ofMonth,
    answer: Type.Object({
      discrepancies: Type.Array(discrepancy, { description: `The first ${SHOWN_MAX}` }),
      ...omitted,
    }),
    async handle({ deps }, { query }) {
      const { rows, ...omitted } = await firstOf(streamDiscrepancies(deps.db, periodOf(query)))
      return { discrepancies: rows, ...omitted }
    },
  }),
  csvRoute({
    path: '/supplier-reports/discrepancies.csv',
    access: OPERATORS,
    summary: "A month's discrepancies as CSV",
    query: ofMonth,
    file: 'supplier-discrepancies',
    parts: ({ deps }, { query }) => streamDiscrepancies(deps.db, periodOf(query)),
    columns: DISCREPANCY_COLUMNS,
  }),
  route('GET /supplier-reports/prices', {
    access: OPERATORS,
    summary: 'Packages on sale whose supplier charges a price other than their cost in the catalogue',
    answer: Type.Object({
      prices: Type.Array(priceDifference, { description: `The first ${SHOWN_MAX}` }),
      ...omitted,
    }),
    async handle({ deps }) {
      const { rows, ...omitted } = await firstOf(streamPriceDifferences(deps.db))
      return { prices: rows, ...omitted }
    },
  }),
  csvRoute({
    path: '/supplier-reports/prices.csv',
    access: OPERATORS,
    summary: 'Price differences as CSV',
    file: 'supplier-prices',
    parts: ({ deps }) => streamPriceDifferences(deps.db),
    columns: PRICE_DIFFERENCE_COLUMNS,
  }),
]

async function firstOf<Row>(parts: AsyncIterable<readonly Row[]>) {
  const rows: Row[] = []
  let read = 0
  let isComplete = true
  for await (const part of parts) {
    rows.push(...part.slice(0, SHOWN_MAX - rows.length))
    read += part.length
    isComplete = read <= READ_MAX
    if (!isComplete) break
  }
  return { rows, omitted: read - rows.length, isComplete }
}

function periodOf({ month }: Static<typeof ofMonth>): { from: Date; to: Date } {
  const from = new Date(`${month}-01T00:00:00Z`)
  return { from, to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1)) }
}
