import type {
  DiscrepancyRow,
  PriceDifferenceRow,
  SupplierMonthRow,
} from '@dealer-esim/gateway/http/console/suppliers/supplier-reports.ts'
import { Anchor, NativeSelect, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { packagePath } from '#catalogue/catalogue-paths.ts'
import { formatCount } from '#parts/format.ts'
import { figureColumn, moneyColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Amount, Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { SUPPLIERS } from './supplier-paths.ts'

const BASE = '/supplier-reports'

/** Compares suppliers' sales with orders, and their charges with the costs in the catalogue. */
export function SupplierReportsPage() {
  const months = latestMonths()
  const [{ month = months[0]! }, setFilters] = useFilters()
  return (
    <Page
      title={t.supplierReports.title}
      description={t.supplierReports.text}
      back={{ to: SUPPLIERS, label: t.suppliers.title }}
      actions={
        <NativeSelect
          aria-label={t.supplierReports.month}
          value={month}
          onChange={(event) => setFilters({ month: event.currentTarget.value })}
          data={months}
        />
      }
    >
      <Months month={month} />
      <Discrepancies month={month} />
      <Prices />
    </Page>
  )
}

const MONTHS_SHOWN = 24

/** In UTC, newest first. */
function latestMonths(): string[] {
  const now = new Date()
  return Array.from({ length: MONTHS_SHOWN }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  )
}

function Months({ month }: { month: string }) {
  const { data, error, refetch } = useApi<{ months: SupplierMonthRow[] }>(`${BASE}/months`, { month })
  return (
    <Card title={formatMessage(t.supplierReports.monthsOf, { month })}>
      <Hint>{t.supplierReports.monthsText}</Hint>
      {/* Figures need their titles, so rows are not condensed on a phone. */}
      <List<SupplierMonthRow>
        label={t.supplierReports.months}
        rows={data?.months}
        csv={{ path: `${BASE}/months`, query: { month } }}
        query={{ error, refetch }}
        idOf={(row) => [row.supplier, row.currencyCode, row.costCurrency].join(' ')}
        empty={{ title: t.supplierReports.noOrders }}
        columns={[
          valueColumn('supplier', t.orders.supplier, (row) => row.supplier || t.supplierReports.notBought, {
            width: 140,
          }),
          ...(['delivered', 'cancelled', 'refused', 'underReview', 'orphans'] as const).map((accessor) => ({
            accessor,
            title: t.supplierReports[accessor],
            width: accessor === 'orphans' ? 155 : 105,
            textAlign: 'right' as const,
            render: (row: SupplierMonthRow) => formatCount(row[accessor]),
          })),
          moneyColumn('sales', t.supplierReports.sales),
          moneyColumn('refunds', t.supplierReports.refunds),
          figureColumn('cost', t.supplierReports.cost, (row) => <Cost row={row} />),
        ]}
      />
    </Card>
  )
}

/** The cost of delivered eSIMs in its own currency, which may differ from that of the sales. */
function Cost({ row: { delivered, cost, costCurrency, currencyCode } }: { row: SupplierMonthRow }) {
  if (cost === null && delivered > 0) return <>{t.supplierReports.unknown}</>
  return <Amount value={cost} currency={costCurrency ?? currencyCode} />
}

function Discrepancies({ month }: { month: string }) {
  const answer = useApi<{ discrepancies: DiscrepancyRow[]; omitted: number; isComplete: boolean }>(
    `${BASE}/discrepancies`,
    { month },
  )
  const { data, error, refetch } = answer
  return (
    <Card title={t.supplierReports.discrepancies}>
      <Hint>{t.supplierReports.discrepanciesText}</Hint>
      <List<DiscrepancyRow>
        label={t.supplierReports.discrepancies}
        rows={data?.discrepancies}
        csv={{ path: `${BASE}/discrepancies`, query: { month } }}
        query={{ error, refetch }}
        idOf={(row) => [row.kind, row.supplier, row.orderNo, row.itemNo, row.iccid, row.detail].join(' ')}
        empty={{ title: t.supplierReports.noDiscrepancies }}
        columns={[
          valueColumn('kind', t.supplierReports.kind, (row) => t.supplierReports.kinds[row.kind], { phone: 'main' }),
          { accessor: 'supplier', title: t.orders.supplier, phone: 'status', render: (row) => row.supplier || '–' },
          { accessor: 'orderNo', title: t.esims.order, phone: 'note', render: (row) => <OrderLink row={row} /> },
          { accessor: 'iccid', title: t.esims.iccid, cellsClassName: 'mono' },
          timeColumn('since', t.supplierReports.since),
          { accessor: 'detail', title: t.common.details, cellsClassName: 'break', render: detailOf },
        ]}
      />
      <Omitted count={data?.omitted} isComplete={data?.isComplete} />
    </Card>
  )
}

function OrderLink({ row }: { row: DiscrepancyRow }) {
  const { tenantId, orderNo, itemNo } = row
  if (orderNo === null) {
    // A condensed row on a phone has no details.
    return (
      <>
        <Text span size="sm" visibleFrom="sm">
          –
        </Text>
        <Text span size="sm" hiddenFrom="sm">
          {detailOf(row)}
        </Text>
      </>
    )
  }
  return (
    <Anchor component={Link} to={`/tenants/${tenantId}/orders/${orderNo}`} search={{} as never} size="sm">
      {`${orderNo}-${itemNo}`}
    </Anchor>
  )
}

function Prices() {
  const answer = useApi<{ prices: PriceDifferenceRow[]; omitted: number; isComplete: boolean }>(`${BASE}/prices`)
  const { data, error, refetch } = answer
  return (
    <Card title={t.suppliers.priceDifferences}>
      <Hint>{t.supplierReports.pricesText}</Hint>
      <List<PriceDifferenceRow>
        label={t.suppliers.priceDifferences}
        rows={data?.prices}
        csv={{ path: `${BASE}/prices` }}
        query={{ error, refetch }}
        idOf={(row) => [row.supplier, row.packageCode, row.productCode].join(' ')}
        to={(row) => packagePath(row.packageCode)}
        empty={{ title: t.supplierReports.noPrices }}
        columns={[
          { accessor: 'packageCode', title: t.esims.package, cellsClassName: 'mono', phone: 'main' },
          { accessor: 'supplier', title: t.orders.supplier, phone: 'status' },
          { accessor: 'productCode', title: t.supplierReports.product, cellsClassName: 'mono', phone: 'note' },
          moneyColumn('price', t.supplierReports.price, { phone: 'value' }),
          moneyColumn('cost', t.supplierReports.catalogueCost),
          timeColumn('seenAt', t.supplierReports.since),
        ]}
      />
      <Omitted count={data?.omitted} isComplete={data?.isComplete} />
    </Card>
  )
}

/** Details begin with the status of the item, or of the eSIM without an order. */
function detailOf({ detail }: DiscrepancyRow): string {
  const labels: Record<string, string> = { ...t.statuses, ...t.supplierReports.states }
  return detail?.replace(/^[A-Z_]+(?=:|$)/, (status) => labels[status] ?? status) ?? '–'
}

function Omitted({ count = 0, isComplete }: { count: number | undefined; isComplete: boolean | undefined }) {
  if (count === 0) return null
  return (
    <Hint>{formatMessage(isComplete ? t.supplierReports.omitted : t.supplierReports.omittedAtLeast, { count })}</Hint>
  )
}
