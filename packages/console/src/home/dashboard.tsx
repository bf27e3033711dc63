import type { Dashboard as DashboardFigures } from '@dealer-esim/gateway/http/console/home/dashboard.ts'
import type { EndpointView } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { SimpleGrid, Stack } from '@mantine/core'
import { lazy, Suspense, useCallback, useState } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import { TrialData } from '#operations/trial-data.tsx'
import { BuyButton } from '#orders/buying/buy-button.tsx'
import { EmptyState, LoadError, Loading } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { canOperate, isOperator, useSession, usesApi } from '#people/sign-in/session.ts'
import { PeriodChoice } from '#sales/period-choice.tsx'
import { SalesOverview } from '#sales/sales-overview.tsx'
import { chosenPeriod } from '#sales/sales-period.ts'
import { t } from '#strings/strings.ts'
import { localMs, timeZone } from '#strings/zone.ts'
import { ExplorerButton } from '#tenants/explorer/explorer-button.tsx'
import { AttentionCard } from './attention.tsx'
import { DeliveryTimeChart, EventsChart, OrdersChart, SpendChart } from './charts.tsx'
import { DealerCards } from './dealer-cards.tsx'
import { Balances, SupplierOutcomes } from './operator-cards.tsx'
import { SetupChecklist } from './setup/checklist.tsx'

// Separate chunks, because they are large and most people never see them.
const TestHome = lazy(() => import('./test-home.tsx'))
const FirstSale = lazy(() => import('./first-sale.tsx'))
const OperatorCard = lazy(() => import('#tenants/operator-contact.tsx'))

const REFRESH_MS = 60_000
/** The default period, in days. */
const PERIOD = '14'
/** The linked lists filter by days in the browser's time zone, so the charts count the same days. */

export function DashboardPage() {
  return isTestMode ? <TestHome /> : <Dashboard />
}

function Dashboard() {
  const me = useSession()
  const [filters] = useFilters()
  const period = chosenPeriod(filters, localMs(Date.now()), PERIOD)
  const { data, error, refetch } = useApi<DashboardFigures>(
    '/dashboard',
    { ...period, timeZone },
    { refreshMs: REFRESH_MS },
  )
  const isOfApi = me.tenant !== null && usesApi(me)
  const orders = useApi<{ orders: object[] }>('/orders', {}, { enabled: me.tenant !== null })
  // Read here, because a fault shown late would move the cards below it.
  const endpoint = useApi<EndpointView>(`/tenants/${me.tenant?.tenantId}/endpoint`, {}, { enabled: isOfApi })
  const isFirstSale = me.tenant !== null && orders.data?.orders.length === 0
  const isLocal = me.deployment === 'local'
  const [isSetupKnown, setSetupKnown] = useState(!canOperate(me))
  const [isTrialKnown, setTrialKnown] = useState(!canOperate(me) || !isLocal)
  // Everything appears together: a late part would move what is already visible.
  const isReady =
    isSetupKnown && isTrialKnown && (data !== undefined || error !== null) && !orders.isLoading && !endpoint.isLoading
  // Decided once: a list that moved would close what a person has open in it.
  const [hadOrders, setHadOrders] = useState<boolean>()
  if (data !== undefined && hadOrders === undefined) setHadOrders(data.orders.length > 0)
  const isSetupBelow = hadOrders === true && isReady
  const onSetupKnown = useCallback(() => setSetupKnown(true), [])
  const onTrialKnown = useCallback(() => setTrialKnown(true), [])
  const checklist = canOperate(me) && <SetupChecklist onKnown={onSetupKnown} />
  return (
    <Page
      title={t.dashboard.title}
      actions={
        !isFirstSale && (
          <>
            <PeriodChoice period={period} otherwise={PERIOD} />
            <BuyButton size="sm" />
          </>
        )
      }
    >
      {canOperate(me) && (
        <Stack gap="lg" {...(!isReady && { display: 'none' })} className="dashboard-top">
          {!isSetupBelow && checklist}
          {isLocal && <TrialData isOffered={data?.orders.length === 0} onKnown={onTrialKnown} />}
        </Stack>
      )}
      {error && !data && <LoadError error={error} retry={refetch} />}
      {!isReady && <Loading />}
      {isReady && isFirstSale && me.tenant && (
        <Suspense fallback={<Loading />}>
          <FirstSale tenantId={me.tenant.tenantId} />
        </Suspense>
      )}
      {data && isReady && !isFirstSale && (
        <>
          {me.tenant ? (
            <DealerCards tenantId={me.tenant.tenantId} data={data} />
          ) : (
            <AttentionCard attention={data.attention} />
          )}
          {!me.tenant && data.orders.length === 0 && (
            <Card>
              <EmptyState
                title={t.dashboard.noOrders}
                text={t.dashboard.noOrdersOperator}
                action={<ExplorerButton />}
              />
            </Card>
          )}
          {!me.tenant && <SalesOverview period={period} currencies={data.balances.map((row) => row.currencyCode)} />}
          {isSetupBelow && checklist}
          <SimpleGrid cols={{ base: 1, lg: 2 }} className="charts" style={{ alignItems: 'start' }}>
            {me.tenant &&
              currenciesOf(data).map((currency) => <SpendChart key={currency} data={data} currency={currency} />)}
            <OrdersChart data={data} />
            {usesApi(me) && <DeliveryTimeChart data={data} />}
            {usesApi(me) && <EventsChart data={data} />}
            {isOperator(me) && (
              <Stack>
                <Balances data={data} />
                <SupplierOutcomes data={data} />
              </Stack>
            )}
          </SimpleGrid>
          {me.tenant && (
            <Suspense>
              <OperatorCard />
            </Suspense>
          )}
        </>
      )}
    </Page>
  )
}

/** Also the currency of a wallet without spend in the period, so that its card does not disappear. */
function currenciesOf(data: DashboardFigures): string[] {
  return [...new Set([...data.sales, ...data.balances].map((row) => row.currencyCode))]
}
