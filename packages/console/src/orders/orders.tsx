import type { OrderRow } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { useState } from 'react'
import { PackageNames } from '#catalogue/package-name.tsx'
import { periodRange } from '#lists/list-period.ts'
import type { ListView } from '#lists/list-views.tsx'
import { isFiltered, useList } from '#lists/use-list.ts'
import { SearchBox } from '#parts/filters.tsx'
import { moneyColumn, statusColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { DealerName } from '#tenants/dealer-name.tsx'
import { ExplorerButton } from '#tenants/explorer/explorer-button.tsx'
import { BuyButton } from './buying/buy-button.tsx'
import { OrderBulk } from './order-bulk.tsx'
import { useOrderFilters } from './order-filters.tsx'
import { orderNumber } from './order-number.tsx'

/** What people look for most. */
const VIEWS: ListView[] = [
  { label: t.orders.views.review, search: { status: 'UNDER_REVIEW' } },
  { label: t.orders.views.underWay, search: { status: 'ALLOCATING' } },
  { label: t.orders.views.failed, search: { status: 'FAILED' } },
  { label: t.orders.views.topUps, search: { orderType: 'TOPUP' } },
]

export function OrdersPage() {
  const me = useSession()
  const [filters] = useFilters()
  const choices = useOrderFilters()
  const { q, status, waiting, orderType, tenantId, packageCode, supplier } = filters
  const list = useList<OrderRow>('/orders', 'orders', {
    ...{ q, status, waiting, orderType, tenantId, packageCode, supplier },
    country: countryCode(filters.country),
    amountFrom: amountOf(filters.amountFrom),
    amountTo: amountOf(filters.amountTo),
    ...periodRange(filters),
  })
  const [selected, setSelected] = useState<string[]>([])
  const chosen = (list.rows ?? []).filter((row) => selected.includes(row.orderNo))
  const noOrders = isOperator(me)
    ? { title: t.orders.noOrders, text: t.orders.noOrdersText, action: <ExplorerButton /> }
    : { title: t.orders.noOrders, text: t.dashboard.noOrdersDealer, action: <BuyButton /> }
  return (
    <Page title={t.orders.title}>
      <List<OrderRow>
        label={t.orders.title}
        list={list}
        name="orders"
        search={<SearchBox name="q" label={t.orders.search} />}
        filters={choices}
        views={VIEWS}
        {...(canOperate(me) && { selected, onSelect: setSelected })}
        {...(chosen.length > 0 && { bulk: <OrderBulk orders={chosen} onClear={() => setSelected([])} /> })}
        idOf={(row) => row.orderNo}
        to={(row) => `/tenants/${row.tenantId}/orders/${row.orderNo}`}
        empty={isFiltered(filters) ? { title: t.orders.noMatch, text: t.orders.noMatchText } : noOrders}
        columns={[
          { accessor: 'orderNo', title: t.orders.number, phone: 'main', width: 80, render: orderNumber },
          {
            accessor: 'transactionId',
            width: 130,
            title: t.orders.transactionId,
            cellsClassName: 'break',
            optional: true,
          },
          valueColumn('clientName', t.common.dealer, (row) => <DealerName name={row.clientName} />, {
            width: 150,
            hidden: !isOperator(me),
            cellsClassName: 'name',
            phone: 'note',
          }),
          valueColumn('orderType', t.orders.type, (row) => t.orders.types[row.orderType], { optional: true }),
          statusColumn('orderStatus', t.orders.status, { phone: 'status' }),
          {
            accessor: 'packages',
            title: t.orders.package,
            width: 275,
            // On a phone, below the number: the dealer for operators, the purchase for the dealer.
            ...(!isOperator(me) && { phone: 'note' }),
            render: (row) => <PackageNames {...row} />,
          },
          { accessor: 'esims', title: t.orders.esims, textAlign: 'right', width: 60 },
          moneyColumn('amount', t.orders.amount, { phone: 'value', width: 110 }),
          timeColumn('createdAt', t.common.created),
          moneyColumn('refundedAmount', t.orders.refunded, { optional: true }),
          timeColumn('updatedAt', t.common.updated, { optional: true }),
        ]}
      />
    </Page>
  )
}

/** The country of a filter. undefined if it is not a country code: the list then contains orders for all countries. */
function countryCode(text: string | undefined): string | undefined {
  const code = text?.toUpperCase()
  return code && /^([A-Z]{2}|!RG|!GL)$/.test(code) ? code : undefined
}

/** The amount in a filter, in 1/10 000 of any currency; undefined if it is not an amount. */
function amountOf(text: string | undefined): number | undefined {
  const amount = Math.round(Number(text) * 10_000)
  return text && Number.isSafeInteger(amount) ? amount : undefined
}
