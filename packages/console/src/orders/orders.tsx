import { ORDER_STATUSES } from '@dealer-esim/contract'
import type { OrderRow } from '@dealer-esim/gateway/console-api/routes/orders/orders.ts'
import { Group } from '@mantine/core'
import { useApi } from '../api/use-api.ts'
import { ExplorerButton } from '../explorer/explorer-button.tsx'
import { DealerFilter } from '../parts/dealer-filter.tsx'
import { FilterSelect, PeriodFilter, periodRange, SearchField, useFilters } from '../parts/filters.tsx'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Amount, Status, Timestamp } from '../parts/values.tsx'
import { isOperator, useSession } from '../session/session.ts'
import { t } from '../strings/strings.ts'

export function OrdersPage() {
  const me = useSession()
  const [filters, setFilters] = useFilters()
  const { q, status, tenantId, orderType, packageCode, country, supplier, cursor } = filters
  const query = { q, status, tenantId, orderType, packageCode, country, supplier, cursor, ...periodRange(filters) }
  const list = useApi<{ orders: OrderRow[]; nextCursor: string | null }>('/orders', query)
  const filtered = Object.keys(filters).length > 0
  return (
    <Page title={t.orders.title}>
      <Group>
        <SearchField label={t.orders.search} value={q ?? ''} onChange={(value) => setFilters({ q: value })} />
        <FilterSelect name="status" label={t.orders.status} values={ORDER_STATUSES} labels={t.statuses} />
        <DealerFilter />
        <PeriodFilter />
      </Group>
      <List<OrderRow>
        label={t.orders.title}
        rows={list.data?.orders}
        nextCursor={list.data?.nextCursor}
        loading={list.isFetching}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.orderNo}
        to={(row) => `/tenants/${row.tenantId}/orders/${row.orderNo}`}
        empty={
          filtered
            ? { title: t.orders.noMatch, text: t.orders.noMatchText }
            : { title: t.orders.noOrders, text: t.orders.noOrdersText, action: <ExplorerButton /> }
        }
        columns={[
          { accessor: 'transactionId', title: t.orders.transactionId, cellsClassName: 'break' },
          { accessor: 'clientName', title: t.common.dealer, hidden: !isOperator(me), cellsClassName: 'name' },
          { accessor: 'orderType', title: t.orders.type, render: (row) => t.orders.types[row.orderType] },
          { accessor: 'orderStatus', title: t.orders.status, render: (row) => <Status status={row.orderStatus} /> },
          { accessor: 'packages', title: t.orders.packages, render: (row) => row.packages.join(', ') },
          { accessor: 'esims', title: t.orders.esims, textAlign: 'right' },
          {
            accessor: 'amount',
            title: t.orders.amount,
            textAlign: 'right',
            render: (row) => <Amount value={row.amount} currency={row.currencyCode} />,
          },
          { accessor: 'createdAt', title: t.common.created, render: (row) => <Timestamp time={row.createdAt} /> },
        ]}
      />
    </Page>
  )
}
