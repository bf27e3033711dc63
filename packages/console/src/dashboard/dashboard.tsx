import type { Dashboard } from '@dealer-esim/gateway/console-api/routes/overview/dashboard.ts'
import { NativeSelect, SimpleGrid, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useApi } from '../api/use-api.ts'
import { ExplorerButton } from '../explorer/explorer-button.tsx'
import { useFilters } from '../parts/filters.tsx'
import { formatMoney } from '../parts/format.ts'
import { EmptyState, LoadError, Loading } from '../parts/load-states.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Amount, Facts } from '../parts/values.tsx'
import { canOperate, isOperator, useSession } from '../session/session.ts'
import { plural, t } from '../strings/strings.ts'
import { AttentionCard } from './attention.tsx'
import { DeliveryTimeChart, EventsChart, OrdersChart, SalesChart, SupplierOutcomes } from './charts.tsx'
import { DealerCards, LatestOrders } from './dealer-cards.tsx'

// A separate chunk: most people never see it.
const SetupChecklist = lazy(async () => ({ default: (await import('../setup/checklist.tsx')).SetupChecklist }))

const TrialData = lazy(async () => ({ default: (await import('../setup/trial-data.tsx')).TrialData }))

const REFRESH_MS = 60_000
/** The linked lists filter by days in the browser's time zone, so the charts count the same days. */
const { timeZone } = Intl.DateTimeFormat().resolvedOptions()

export function DashboardPage() {
  const me = useSession()
  const [filters, setFilters] = useFilters()
  const days = filters.days ?? '14'
  const { data, error, refetch } = useApi<Dashboard>('/dashboard', { days, timeZone }, { refreshMs: REFRESH_MS })
  return (
    <Page
      title={t.dashboard.title}
      actions={
        <NativeSelect
          aria-label={t.dashboard.period}
          value={days}
          onChange={(event) => setFilters({ days: event.currentTarget.value })}
          data={Object.entries(t.dashboard.periods).map(([value, label]) => ({ value, label }))}
        />
      }
    >
      {canOperate(me) && (
        <Suspense>
          <SetupChecklist />
          {me.deployment === 'local' && <TrialData isOffered={data?.orders.length === 0} />}
        </Suspense>
      )}
      {error && !data && <LoadError error={error} retry={refetch} />}
      {!data && !error && <Loading />}
      {data && (
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
          <SimpleGrid cols={{ base: 1, lg: 2 }}>
            {me.tenant && <SpendAndOrders data={data} />}
            {!me.tenant && <OrdersChart data={data} />}
            {!me.tenant &&
              currenciesOf(data).map((currency) => (
                <SalesChart key={currency} data={data} currency={currency} name={t.dashboard.sales} />
              ))}
            <DeliveryTimeChart data={data} />
            <EventsChart data={data} />
            {!me.tenant && <Balances data={data} />}
            {isOperator(me) && <SupplierOutcomes data={data} />}
          </SimpleGrid>
        </>
      )}
    </Page>
  )
}

function SpendAndOrders({ data }: { data: Dashboard }) {
  return (
    <>
      {currenciesOf(data).map((currency) => (
        <SalesChart key={currency} data={data} currency={currency} name={t.dashboard.spend} />
      ))}
      <LatestOrders />
      <OrdersChart data={data} />
    </>
  )
}

function currenciesOf(data: Dashboard): string[] {
  return [...new Set(data.sales.map((row) => row.currencyCode))]
}

function Balances({ data }: { data: Dashboard }) {
  const me = useSession()
  return (
    <Card title={t.dashboard.balances}>
      {data.balances.length === 0 && <Text size="sm">{t.dashboard.noData}</Text>}
      <Facts
        cols={2}
        items={data.balances.map((row) => [
          isOperator(me) ? `${row.currencyCode}, ${plural(t.dashboard.dealers, row.tenants)}` : row.currencyCode,
          <Text key={row.currencyCode} fw={650} fz="xl" title={formatMoney(row.balance, row.currencyCode)}>
            <Amount value={row.balance} currency={row.currencyCode} />
          </Text>,
        ])}
      />
    </Card>
  )
}
