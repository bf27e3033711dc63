import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import type { OrderDetail, OrderItem } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Anchor, Group } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi, useReloadAfter } from '#api/use-api.ts'
import { PackageName, PackageNames } from '#catalogue/package-name.tsx'
import { valueColumn } from '#parts/list-columns.tsx'
import { LoadError, Loading } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Amount, Copyable, Facts, Status, TechnicalDetails, Timestamp, TimeZone } from '#parts/values.tsx'
import { canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
import { Margin } from '#sales/margin.tsx'
import { interpolate, t } from '#strings/strings.ts'
import { DealerName } from '#tenants/dealer-name.tsx'
import { OrderNotes } from '#tenants/notes.tsx'
import { OrderActions } from './order-actions.tsx'
import { orderNumber } from './order-number.tsx'
import { Timeline } from './order-timeline.tsx'
import { OrderWaiting } from './order-waiting.tsx'

const IN_PROGRESS = new Set(['PAID', 'ALLOCATING'])
const REFRESH_MS = 3_000

export function OrderPage() {
  const me = useSession()
  const { tenantId, orderNo } = useParams({ strict: false }) as { tenantId: string; orderNo: string }
  const path = `/tenants/${tenantId}/orders/${orderNo}`
  const first = useApi<OrderDetail>(path)
  const isInProgress = IN_PROGRESS.has(first.data?.orderStatus ?? '')
  const {
    data: order,
    error,
    refetch,
  } = useApi<OrderDetail>(path, {}, { refreshMs: isInProgress ? REFRESH_MS : undefined })
  useReloadAfter(order?.orderStatus)
  if (error && !order) return <LoadError error={error} retry={refetch} />
  if (!order) return <Loading />
  const { currencyCode: currency } = order
  const isTopUp = order.orderType === 'TOPUP'
  return (
    <Page
      title={interpolate(t.orders.titleOf, { number: orderNumber(order) })}
      back={{ to: '/orders', label: t.orders.title }}
      description={
        <Group gap="xs" mt={4}>
          <PackageNames {...order} />
          <Status status={order.orderStatus} />
          {isOperator(me) && <DealerName name={order.clientName} />}
        </Group>
      }
      actions={canOperate(me) && <OrderActions order={order} />}
    >
      <OrderWaiting order={order} />
      <Card>
        <Facts
          items={[
            [t.orders.type, t.orders.types[order.orderType]],
            [t.common.created, <Timestamp key="c" time={order.createdAt} />],
            [t.orders.amount, <Amount key="a" value={order.amount} currency={currency} />],
            [t.orders.refunded, <Amount key="r" value={order.refundedAmount} currency={currency} />],
            [t.wallet.balanceAfter, <Amount key="b" value={order.balanceAfter} currency={currency} />],
            ...marginFacts(order),
            [t.orders.remark, order.remark],
            ...(order.unsignedFrom === null
              ? []
              : [[t.orders.unsignedFrom, order.unsignedFrom] as [string, ReactNode]]),
            ...(order.toppedUpProfileId === null
              ? []
              : [
                  [
                    t.orders.toppedUp,
                    <Anchor
                      key="e"
                      component={Link}
                      to={`/tenants/${tenantId}/profiles/${order.toppedUpProfileId}`}
                      search={{} as never}
                      size="sm"
                    >
                      {t.orders.toppedUpEsim}
                    </Anchor>,
                  ] as [string, ReactNode],
                ]),
          ]}
        />
        <TechnicalDetails
          items={[
            [t.orders.orderNo, order.orderNo],
            [t.orders.transactionId, order.transactionId],
            [t.esims.esimTranNo, order.toppedUpProfileId],
          ]}
        />
      </Card>
      <Card title={isTopUp ? t.orders.types.TOPUP : t.orders.items}>
        <Items order={order} />
      </Card>
      {!isTopUp && <DeliveredEsims order={order} />}
      <Card title={t.orders.timeline} actions={<TimeZone />}>
        <Timeline order={order} />
      </Card>
      {isOperator(me) && <OrderNotes tenantId={tenantId} orderNo={order.orderNo} />}
    </Page>
  )
}

/** For operators: what the order cost and earned. */
function marginFacts({ margin, currencyCode }: OrderDetail): [string, ReactNode][] {
  if (margin === null) return []
  const isUnknown = margin.margin === null
  return [
    [t.sales.cost, isUnknown ? t.sales.unknown : <Amount key="c" value={margin.cost} currency={currencyCode} />],
    [t.sales.margin, <Margin key="m" {...margin} currency={currencyCode} />],
  ]
}

function DeliveredEsims({ order }: { order: OrderDetail }) {
  return (
    <Card title={t.orders.deliveredEsims}>
      <List<ProfileRow>
        label={t.orders.deliveredEsims}
        rows={order.profiles}
        loading={false}
        idOf={(row) => row.profileId}
        to={(row) => `/tenants/${order.tenantId}/profiles/${row.profileId}`}
        empty={{ title: t.orders.noEsims, text: t.orders.noEsimsText }}
        columns={[
          {
            accessor: 'packageName',
            title: t.orders.package,
            render: (row) => <PackageName name={row.packageName} location={row.location} />,
          },
          valueColumn('esimStatus', t.esims.esimStatus, (row) => <Status status={row.esimStatus} />),
          valueColumn('smdpStatus', t.esims.smdpStatus, (row) => <Status status={row.smdpStatus} />),
          { accessor: 'iccid', title: t.esims.iccid, cellsClassName: 'mono' },
        ]}
      />
    </Card>
  )
}

function Items({ order }: { order: OrderDetail }) {
  const me = useSession()
  return (
    <List<OrderItem>
      label={t.orders.items}
      rows={order.items}
      loading={false}
      idOf={(row) => String(row.itemNo)}
      empty={{ title: t.orders.items }}
      columns={[
        { accessor: 'itemNo', title: t.orders.item },
        {
          accessor: 'packageName',
          title: t.orders.package,
          render: (row) => <PackageName name={row.packageName} location={row.location} />,
        },
        { accessor: 'itemStatus', title: t.orders.status, render: (row) => <Status status={row.itemStatus} /> },
        {
          accessor: 'price',
          title: t.orders.price,
          textAlign: 'right',
          render: (row) => <Amount value={row.price} currency={order.currencyCode} />,
        },
        { accessor: 'supplier', title: t.orders.supplier, hidden: !isOperator(me) },
        {
          accessor: 'supplierKey',
          title: t.orders.supplierReference,
          hidden: !isOperator(me),
          render: ({ supplierKey }) =>
            supplierKey && <Copyable value={supplierKey} label={t.orders.supplierReference} />,
        },
        {
          accessor: 'cost',
          title: t.orders.cost,
          textAlign: 'right',
          hidden: !isOperator(me),
          render: ({ cost, costCurrency, charged, chargedCurrency }) => {
            const currency = charged === null ? costCurrency : chargedCurrency
            return <Amount value={charged ?? cost} currency={currency ?? order.currencyCode} />
          },
        },
        { accessor: 'failureReason', title: t.orders.failureReason },
      ]}
    />
  )
}
