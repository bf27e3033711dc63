import type { SalesReport } from '@dealer-esim/gateway/http/console/sales.ts'
import { Anchor, Box } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { packagePath } from '#catalogue/catalogue-paths.ts'
import { formatCount, formatDay } from '#parts/format.ts'
import { figureColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { supplierPage } from '#suppliers/supplier-paths.ts'
import { countryLabel } from './country.ts'
import { Change, Margin, Sum } from './margin.tsx'
import { type Period, timesOf } from './sales-period.ts'

type Row = SalesReport['rows'][number]
export type Breakdown = 'day' | 'dealer' | 'package' | 'country' | 'supplier'

/** By breakdown: the filter that selects a row's orders and its other breakdowns. */
const FILTERS = { dealer: 'tenantId', package: 'packageCode', country: 'country', supplier: 'supplier' } as const

interface SalesTableProps {
  by: Breakdown
  rows: Row[]
  period: Period
  /** Filters that the page shares with the list of orders. */
  search: Record<string, string>
  loading: boolean
}

/** Figures by day, dealer, package, country or supplier. Every number links to the orders behind it. */
export function SalesTable({ by, rows, period, search, loading }: SalesTableProps) {
  const linked = (row: Row, content: ReactNode) => {
    const filter = ordersOf(by, row, period, search)
    return filter === undefined ? (
      content
    ) : (
      <Anchor component={Link} to="/orders" search={filter as never} size="sm" c="inherit" underline="hover">
        {content}
      </Anchor>
    )
  }
  return (
    <List<Row>
      label={t.sales.by[by]}
      rows={by === 'day' ? [...rows].reverse() : rows}
      loading={loading}
      idOf={(row) => `${row.key} ${row.currencyCode}`}
      empty={{ title: t.sales.none, text: t.sales.noneText }}
      columns={[
        {
          accessor: 'name',
          title: t.sales.by[by],
          render: (row) => nameOf(by, row),
          cellsClassName: 'name',
          phone: 'main',
          ...(by === 'day' && { width: 140 }),
        },
        figureColumn('items', t.sales.sold, (row) => linked(row, formatCount(row.items))),
        figureColumn('revenue', t.sales.revenue, (row) => linked(row, sumOf(row, 'revenue')), {
          ...{ currency: currencyOf, phone: 'value' },
        }),
        figureColumn('change', t.sales.change, (row) => <Change now={row.revenue} before={row.previous.revenue} />, {
          hidden: rows.every(({ previous }) => previous.revenue <= 0),
          phone: 'status',
        }),
        figureColumn('refunds', t.sales.refunds, (row) => linked(row, sumOf(row, 'refunds')), { currency: currencyOf }),
        figureColumn(
          'cost',
          t.sales.cost,
          (row) => linked(row, row.margin === null ? t.sales.unknown : sumOf(row, 'cost')),
          { currency: currencyOf },
        ),
        figureColumn(
          'margin',
          t.sales.margin,
          (row) => (
            <>
              <Box component="span" hiddenFrom="sm">
                {formatMessage(t.sales.soldAndMargin, { items: formatCount(row.items) })}{' '}
              </Box>
              {linked(row, <Margin {...row} currency={row.currencyCode} isCell />)}
            </>
          ),
          { currency: currencyOf, phone: 'note' },
        ),
      ]}
    />
  )
}

const currencyOf = ({ currencyCode }: Row) => currencyCode
const sumOf = (row: Row, name: 'revenue' | 'refunds' | 'cost') => <Sum value={row[name]} currency={row.currencyCode} />

/** The filters for a row's orders; undefined for anything undelivered, and for a package that no longer exists. */
function ordersOf(by: Breakdown, row: Row, period: Period, search: Record<string, string>) {
  if (by === 'day') return { ...search, ...timesOf({ from: row.key, to: row.key }) }
  if (row.key === '') return undefined
  return { ...search, ...timesOf(period), [FILTERS[by]]: row.key }
}

function nameOf(by: Breakdown, row: Row): ReactNode {
  if (by === 'day') return formatDay(row.key)
  if (by === 'country') return countryLabel(row.key, row.name)
  if (by === 'supplier' && row.key === '') return t.sales.notDelivered
  if (by === 'package' && row.key === '') return row.name
  const to = by === 'dealer' ? `/tenants/${row.key}` : by === 'supplier' ? supplierPage(row.key) : packagePath(row.key)
  return (
    <Anchor component={Link} to={to} search={{} as never} size="sm">
      {row.name}
    </Anchor>
  )
}
