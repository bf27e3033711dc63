import Type, { type Static } from 'typebox'
import {
  type Discrepancy,
  listDiscrepancies,
  listSupplierMonths,
} from '../../../fulfilment/reconciliation/supplier-report.ts'
import { listPriceDifferences } from '../../../suppliers/prices.ts'
import { csvRoute, inOnePart } from '../../kernel/csv-route.ts'
import { OPERATORS, type Route, route } from '../../kernel/route.ts'
import { CLOSED, money, nullable, time } from '../../kernel/schemas.ts'

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
  kind: Type.Enum(['ORDER_WITHOUT_ESIM', 'ESIM_WITHOUT_ORDER']),
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
/** On a page; the file has all of them. */
const SHOWN_MAX = 200

/** The reports of the command `supplier report`. */
export const supplierReportRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/supplier-reports/months',
    access: OPERATORS,
    summary: 'What each supplier delivered and refused in a month, with sales and cost. Reads every order of the month',
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
    summary: 'The same as CSV',
    query: ofMonth,
    file: 'supplier-months',
    parts: ({ deps }, { query }) => inOnePart(listSupplierMonths(deps.db, periodOf(query))),
    columns: {
      month: (row) => row.month,
      supplier: (row) => row.supplier,
      currency: (row) => row.currencyCode,
      delivered: (row) => row.delivered,
      cancelled: (row) => row.cancelled,
      refused: (row) => row.refused,
      underReview: (row) => row.underReview,
      orphans: (row) => row.orphans,
      sales: (row) => row.sales,
      refunds: (row) => row.refunds,
      cost: (row) => row.cost,
      costCurrency: (row) => row.costCurrency,
      charged: (row) => row.charged,
      chargedCost: (row) => row.chargedCost,
    },
  }),
  route({
    method: 'GET',
    path: '/supplier-reports/discrepancies',
    access: OPERATORS,
    summary: 'Orders of a month without eSIMs and eSIMs without orders, newest first. Reads every order of the month',
    query: ofMonth,
    answer: Type.Object({
      discrepancies: Type.Array(discrepancy, { description: `The first ${SHOWN_MAX}` }),
      omitted: count(),
    }),
    async handle({ deps }, { query }) {
      const rows = await listDiscrepancies(deps.db, periodOf(query))
      return { discrepancies: rows.slice(0, SHOWN_MAX), omitted: Math.max(0, rows.length - SHOWN_MAX) }
    },
  }),
  csvRoute({
    path: '/supplier-reports/discrepancies.csv',
    access: OPERATORS,
    summary: 'The same as CSV, without a limit on the page',
    query: ofMonth,
    file: 'supplier-discrepancies',
    parts: ({ deps }, { query }) => inOnePart<Discrepancy>(listDiscrepancies(deps.db, periodOf(query))),
    columns: {
      kind: (row) => row.kind,
      supplier: (row) => row.supplier,
      orderNo: (row) => row.orderNo,
      itemNo: (row) => row.itemNo,
      iccid: (row) => row.iccid,
      since: (row) => row.since,
      detail: (row) => row.detail,
      dealerId: (row) => row.tenantId,
    },
  }),
  route({
    method: 'GET',
    path: '/supplier-reports/prices',
    access: OPERATORS,
    summary: 'Packages on sale whose supplier charges another price than their cost in the catalogue',
    answer: Type.Object({
      prices: Type.Array(priceDifference, { description: `The first ${SHOWN_MAX}` }),
      omitted: count(),
    }),
    async handle({ deps }) {
      const rows = await listPriceDifferences(deps.db)
      return { prices: rows.slice(0, SHOWN_MAX), omitted: Math.max(0, rows.length - SHOWN_MAX) }
    },
  }),
  csvRoute({
    path: '/supplier-reports/prices.csv',
    access: OPERATORS,
    summary: 'The same as CSV, without a limit on the page',
    file: 'supplier-prices',
    parts: ({ deps }) => inOnePart(listPriceDifferences(deps.db)),
    columns: {
      supplier: (row) => row.supplier,
      package: (row) => row.packageCode,
      product: (row) => row.productCode,
      price: (row) => row.price,
      cost: (row) => row.cost,
      currency: (row) => row.currencyCode,
      since: (row) => row.seenAt,
    },
  }),
]

function periodOf({ month }: Static<typeof ofMonth>): { from: Date; to: Date } {
  const from = new Date(`${month}-01T00:00:00Z`)
  return { from, to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1)) }
}
