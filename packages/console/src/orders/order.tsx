import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import type { OrderDetail, OrderItem } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Box, Button, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { useApi, useReloadAfter } from '#api/use-api.ts'
import { PackageFlag, PackageName } from '#catalogue/package-name.tsx'
import { packagesTitleText } from '#catalogue/package-title.ts'
import { MoreMenu, Record } from '#design/record.tsx'
import { chooseTargets } from '#esims/send-pairs.ts'
import { SentMark, TravellerName } from '#esims/use-sends.tsx'
import { asSentence } from '#parts/format.ts'
import { figureColumn, statusColumn, valueColumn } from '#parts/list-columns.tsx'
import { LoadState } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Amount, Facts, Hint, Status, TechnicalDetails, TextLink, Timestamp } from '#parts/values.tsx'
import { canSend, isOperator, useSession } from '#people/sign-in/session.ts'
import { Margin } from '#sales/margin.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { DealerName } from '#tenants/dealer-name.tsx'
import { useOrderActions } from './order-actions.tsx'
import { orderNumber } from './order-number.tsx'
import { OrderState } from './order-state.tsx'
import { OrderStream } from './order-timeline.tsx'

// Loaded when it is opened: most visits to the page send nothing.
const SendMany = lazy(() => import('#esims/send-many.tsx'))

const IN_PROGRESS = new Set(['PAID', 'ALLOCATING'])
const REFRESH_MS = 3_000

export function OrderPage() {
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
  const { decide, more, dialog } = useOrderActions(order)
  if (!order) return <LoadState error={error} retry={refetch} />
  const isTopUp = order.orderType === 'TOPUP'
  return (
    <Page
      title={packagesTitleText(order.packages)}
      back={{ to: '/orders', label: t.orders.title }}
      picture={<PackageFlag name={order.packages[0] ?? ''} location={order.location} />}
      mark={
        <>
          <Text c="dimmed" data-number>
            {orderNumber(order)}
          </Text>
          <Status status={order.orderStatus} />
        </>
      }
      actions={<MoreMenu actions={more} />}
    >
      <OrderState order={order} decide={decide} />
      <Record rail={<Rail order={order} />} last={<OrderStream order={order} />}>
        <Card title={isTopUp ? t.orders.types.TOPUP : t.orders.items}>
          <Items order={order} />
        </Card>
        {!isTopUp && order.profiles.length > 0 && <DeliveredEsims order={order} />}
      </Record>
      {dialog}
    </Page>
  )
}

function Rail({ order }: { order: OrderDetail }) {
  const me = useSession()
  const { tenantId, currencyCode: currency } = order
  return (
    <>
      {isOperator(me) && (
        <Card title={t.common.dealer}>
          <TextLink to={`/tenants/${tenantId}`}>
            <DealerName name={order.clientName} />
          </TextLink>
        </Card>
      )}
      <Card title={t.orders.money}>
        <Facts
          cols={1}
          items={[
            [t.orders.amount, <Amount key="a" value={order.amount} currency={currency} />],
            [t.orders.refunded, <Amount key="r" value={order.refundedAmount} currency={currency} />],
            [t.wallet.balanceAfter, <Amount key="b" value={order.balanceAfter} currency={currency} />],
            ...marginFacts(order),
          ]}
        />
      </Card>
      <Card title={t.orders.details}>
        <Facts
          cols={1}
          items={given([
            [t.orders.type, t.orders.types[order.orderType]],
            [t.common.created, <Timestamp key="c" time={order.createdAt} />],
            [t.orders.remark, order.remark],
            [t.orders.unsignedFrom, order.unsignedFrom],
            [
              t.orders.toppedUp,
              order.toppedUpProfileId && (
                <TextLink key="e" to={`/tenants/${tenantId}/profiles/${order.toppedUpProfileId}`}>
                  {t.orders.toppedUpEsim}
                </TextLink>
              ),
            ],
          ])}
        />
        <TechnicalDetails
          items={[
            [t.orders.orderNo, order.orderNo],
            [t.orders.transactionId, order.transactionId],
            [t.esims.esimTranNo, order.toppedUpProfileId],
            ...supplierReferences(order),
          ]}
        />
      </Card>
    </>
  )
}

/** For operators. */
function supplierReferences({ items }: OrderDetail): [string, string | null][] {
  return items.map(({ itemNo, supplierKey }) => [
    `${t.orders.supplierReference} · ${formatMessage(t.orders.esimNumber, { item: itemNo })}`,
    supplierKey,
  ])
}

/** Facts that have a value. */
function given(facts: [string, ReactNode][]): [string, ReactNode][] {
  return facts.filter(([, value]) => value !== null && value !== '')
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
  const me = useSession()
  const [isSending, setIsSending] = useState(false)
  const canSendMany = canSend(me) && chooseTargets(order.profiles).targets.length > 1
  return (
    <Card
      title={t.orders.deliveredEsims}
      {...(canSendMany && {
        actions: (
          <Button size="xs" variant="default" onClick={() => setIsSending(true)}>
            {t.esims.many.title}
          </Button>
        ),
      })}
    >
      {isSending && (
        <Suspense>
          <SendMany esims={order.profiles} onClose={() => setIsSending(false)} />
        </Suspense>
      )}
      <List<ProfileRow>
        label={t.orders.deliveredEsims}
        rows={order.profiles}
        idOf={(row) => row.profileId}
        to={(row) => `/tenants/${order.tenantId}/profiles/${row.profileId}`}
        empty={{ title: t.orders.noEsims, text: t.orders.noEsimsText }}
        columns={[
          {
            accessor: 'packageName',
            title: t.orders.package,
            wraps: true,
            width: 230,
            render: (row) => <PackageName name={row.packageName} location={row.location} />,
          },
          statusColumn('esimStatus', t.esims.esimStatus, { width: 120 }),
          valueColumn('traveller', t.esims.traveller, (row) => <TravellerName profile={row} />, { width: 110 }),
          valueColumn('sendStatus', t.esims.sent, (row) => <SentMark profile={row} />, { width: 100 }),
          { accessor: 'iccid', title: t.esims.iccid, cellsClassName: 'mono shows-end', width: 100 },
        ]}
      />
    </Card>
  )
}

function Items({ order }: { order: OrderDetail }) {
  const me = useSession()
  const [reason = null, ...others] = new Set(order.items.flatMap(({ failureReason }) => failureReason ?? []))
  const isShared = others.length === 0
  // Not again on a phone, where the state is above.
  const isInState = ['FAILED', 'PARTIALLY_DELIVERED'].includes(order.orderStatus)
  return (
    <>
      <List<OrderItem>
        label={t.orders.items}
        rows={order.items}
        idOf={(row) => String(row.itemNo)}
        empty={{ title: t.orders.items }}
        columns={[
          { accessor: 'itemNo', title: t.orders.item, width: 65 },
          {
            accessor: 'packageName',
            title: t.orders.package,
            wraps: true,
            width: 330,
            phone: 'main',
            render: ({ packageName, location, failureReason }) => (
              <div>
                <PackageName name={packageName} location={location} />
                {failureReason && !isShared && <Hint size="xs">{asSentence(failureReason)}</Hint>}
              </div>
            ),
          },
          statusColumn('itemStatus', t.orders.status, { phone: 'status' }),
          figureColumn('price', t.orders.price, (row) => <Amount value={row.price} currency={order.currencyCode} />, {
            width: 108,
            phone: 'value',
            currency: () => order.currencyCode,
          }),
          { accessor: 'supplier', title: t.orders.supplier, hidden: !isOperator(me), width: 110 },
          {
            accessor: 'cost',
            title: t.orders.cost,
            textAlign: 'right',
            hidden: !isOperator(me),
            render: ({ cost, costCurrency, charged, chargedCurrency }) => {
              const currency = charged === null ? costCurrency : chargedCurrency
              return (
                <>
                  <Amount value={charged ?? cost} currency={currency ?? order.currencyCode} />
                  {charged === null && cost !== null && <Hint size="xs">{t.orders.costInCatalogue}</Hint>}
                </>
              )
            },
          },
        ]}
      />
      {reason !== null && isShared && (
        <Box {...(isInState && { visibleFrom: 'sm' })}>
          <Hint size="xs">{asSentence(reason)}</Hint>
        </Box>
      )}
    </>
  )
}
