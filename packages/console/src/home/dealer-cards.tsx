import type { Dashboard } from '@dealer-esim/gateway/http/console/home/dashboard.ts'
import type { OrderRow } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import type { WalletView } from '@dealer-esim/gateway/http/console/wallet/wallet.ts'
import type { EndpointView } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { Alert, Anchor, Button, SimpleGrid, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { PackageFlag } from '#catalogue/package-name.tsx'
import { packagesTitleText } from '#catalogue/package-title.ts'
import { BuyButton } from '#orders/buying/buy-button.tsx'
import { orderNumber } from '#orders/order-number.tsx'
import { formatPercent } from '#parts/format.ts'
import { EmptyState } from '#parts/load-states.tsx'
import { Card } from '#parts/page.tsx'
import { Amount, Facts, Hint, Status, Timestamp } from '#parts/values.tsx'
import { isOperator, useSession, usesApi } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { endpointState } from '#webhooks/endpoint-state.ts'
import { type Forecast, forecastDays } from './days-left.ts'

/** A dealer's balance and orders may change while somebody is looking at the page. */
const REFRESH_MS = 15_000

/**
 * The cards that matter most to a dealer: the balance and how long it lasts, the latest orders, and, unless it sells only in the
 * portal, why its events do not arrive.
 */
export function DealerCards({ tenantId, data }: { tenantId: string; data: Dashboard }) {
  const me = useSession()
  return (
    <>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <BalanceCard tenantId={tenantId} data={data} />
        <LatestOrders max={3} />
      </SimpleGrid>
      {usesApi(me) && <EndpointHealth tenantId={tenantId} data={data} onlyFaults />}
    </>
  )
}

/** A dealer's money, and how long it lasts. */
export function BalanceCard({ tenantId, data }: { tenantId: string; data: Dashboard }) {
  const { data: wallet } = useApi<WalletView>(`/tenants/${tenantId}/wallet`, {}, { refreshMs: REFRESH_MS })
  if (!wallet) return <Card title={t.wallet.balance}>{t.common.loading}</Card>
  const { balance, creditLimit, currencyCode: currency, lowBalanceThreshold } = wallet
  const available = balance + creditLimit
  const isLow = lowBalanceThreshold !== null && balance < lowBalanceThreshold
  return (
    <Card
      title={t.wallet.balance}
      actions={
        <Button component={Link} to={`/tenants/${tenantId}/wallet`} variant="default" size="xs">
          {t.dashboard.openWallet}
        </Button>
      }
    >
      <Text fz="2rem" fw={650} lh={1.1} data-balance={balance}>
        <Amount value={balance} currency={currency} />
      </Text>
      <ForecastText forecast={forecastDays(available, spendPerDay(data, currency))} period={data.days.length} />
      {isLow && (
        <Alert color="orange" py="xs">
          {t.dashboard.balanceLow}
        </Alert>
      )}
      <Facts
        cols={2}
        items={[
          [t.wallet.available, <Amount key="a" value={available} currency={currency} />],
          [t.wallet.spentToday, <Amount key="s" value={wallet.spentToday} currency={currency} />],
        ]}
      />
    </Card>
  )
}

function ForecastText({ forecast, period }: { forecast: Forecast | undefined; period: number }) {
  if (forecast === undefined) return <Hint>{formatMessage(t.dashboard.noSpend, { count: period })}</Hint>
  return (
    <Text size="sm" data-days-left={forecast.days}>
      {formatMessage(t.dashboard.daysLeft, { count: forecast.days })}{' '}
      <Text span c="dimmed">
        {formatMessage(t.dashboard.daysLeftBasis, { count: forecast.basis })}
      </Text>
    </Text>
  )
}

/** Days without a sale count too. */
function spendPerDay(data: Dashboard, currency: string): number[] {
  const rows = data.sales.filter((row) => row.currencyCode === currency)
  const of = new Map(rows.map((row) => [row.day, row.amount]))
  return data.days.map((day) => of.get(day) ?? 0)
}

/**
 * The state of a dealer's endpoint, and the share of its events that arrived.
 * @param onlyFaults nothing is shown while all events arrive
 */
export function EndpointHealth(props: { tenantId: string; data: Dashboard; onlyFaults?: boolean }) {
  const { tenantId, data, onlyFaults = false } = props
  const { data: endpoint } = useApi<EndpointView>(`/tenants/${tenantId}/endpoint`)
  if (!endpoint) return onlyFaults ? null : <Card title={t.dashboard.endpoint}>{t.common.loading}</Card>
  const { color, text } = endpointState(endpoint)
  const sum = (member: 'delivered' | 'dead' | 'pending') => data.webhooks.reduce((all, row) => all + row[member], 0)
  const delivered = sum('delivered')
  const sent = delivered + sum('dead') + sum('pending')
  const dead = data.attention.deadEvents
  if (onlyFaults && color === 'teal' && dead === 0) return null
  return (
    <Card
      title={t.dashboard.endpoint}
      actions={
        <Button component={Link} to={`/tenants/${tenantId}/settings`} variant="default" size="xs">
          {t.settings.title}
        </Button>
      }
    >
      <Alert color={color} py="xs">
        {text}
      </Alert>
      {sent > 0 && (
        <Text size="sm">
          {formatMessage(t.dashboard.eventsDelivered, { percent: formatPercent(delivered / sent) })}
        </Text>
      )}
      {dead > 0 && (
        <Anchor component={Link} to="/webhooks" search={{ tenantId, state: 'DEAD' } as never} size="sm">
          {formatMessage(t.dashboard.attentionKinds.deadEvents, { count: dead })}
        </Anchor>
      )}
    </Card>
  )
}

/** The latest orders, each linked to its page. */
export function LatestOrders({ tenantId, max = 5 }: { tenantId?: string; max?: number }) {
  const { data } = useApi<{ orders: OrderRow[] }>('/orders', { tenantId }, { refreshMs: REFRESH_MS })
  const orders = data?.orders.slice(0, max)
  const noOrders = isOperator(useSession()) ? t.dashboard.noOrdersOfDealer : t.dashboard.noOrdersDealer
  return (
    <Card
      title={t.dashboard.latestOrders}
      actions={
        <Anchor component={Link} to="/orders" search={(tenantId ? { tenantId } : {}) as never} size="sm">
          {t.dashboard.allOrders}
        </Anchor>
      }
    >
      {orders?.length === 0 && <EmptyState title={t.dashboard.noOrders} text={noOrders} action={<BuyButton />} />}
      {orders?.map((order) => (
        <div key={order.orderNo} className="latest-order" data-latest-order={order.orderNo}>
          <Anchor
            component={Link}
            to={`/tenants/${order.tenantId}/orders/${order.orderNo}`}
            search={{} as never}
            {...{ size: 'sm', fw: 600, c: 'inherit', truncate: true }}
          >
            <PackageFlag name={order.packages[0] ?? ''} location={order.location} />
            {packagesTitleText(order.packages)}
          </Anchor>
          <Status status={order.orderStatus} />
          <Text size="sm" ta="right">
            <Amount value={order.amount} currency={order.currencyCode} />
          </Text>
          <Hint size="xs">
            {orderNumber(order)} · <Timestamp time={order.createdAt} format="relative" />
          </Hint>
        </div>
      ))}
    </Card>
  )
}
