import type { Dashboard } from '@dealer-esim/gateway/http/console/home/dashboard.ts'
import type { SalesReport } from '@dealer-esim/gateway/http/console/sales.ts'
import type { TenantActivity, TenantDetail } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Anchor, Button, Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '#api/use-api.ts'
import { Record } from '#design/record.tsx'
import { BalanceCard, EndpointHealth, LatestOrders } from '#home/dealer-cards.tsx'
import { formatCount, formatPercent } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Amount, Copyable, Facts, Timestamp } from '#parts/values.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { SalesChart } from '#sales/sales-chart.tsx'
import { periodOf, timesOf } from '#sales/sales-period.ts'
import { SalesTotals } from '#sales/sales-totals.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { useTenant } from './dealer.tsx'
import { DealerNotes } from './notes.tsx'

const DAYS = 30

/** A dealer at a glance, for operators: its sales with margin and its orders; beside them its money, endpoint and settings. */
export function DealerOverview() {
  const me = useSession()
  const { data: tenant, tenantId } = useTenant()
  const { data } = useApi<Dashboard>('/dashboard', { tenantId, days: DAYS })
  if (!tenant) return null
  return (
    <Record
      rail={
        <>
          {data && <BalanceCard tenantId={tenantId} data={data} />}
          {data && <EndpointHealth tenantId={tenantId} data={data} />}
          {data && <Activity tenantId={tenantId} data={data} />}
          <Details tenant={tenant} />
        </>
      }
    >
      <DealerSales tenantId={tenantId} />
      <LatestOrders tenantId={tenantId} />
      {isOperator(me) && <DealerNotes tenantId={tenantId} />}
    </Record>
  )
}

function DealerSales({ tenantId }: { tenantId: string }) {
  const period = periodOf(`${DAYS}`, Date.now())
  const { data: report } = useApi<SalesReport>('/sales', { by: 'day', tenantId, ...period })
  return report?.totals.map((total) => (
    <Card
      key={total.currencyCode}
      title={t.sales.lastDays}
      actions={
        <Anchor component={Link} to="/sales" search={{ tenantId, ...period } as never} size="sm">
          {t.sales.open}
        </Anchor>
      }
    >
      <SalesTotals total={total} to={{ to: '/orders', search: { tenantId, ...timesOf(period) } }} />
      <SalesChart report={report} currency={total.currencyCode} search={{ tenantId }} />
    </Card>
  ))
}

function Activity({ tenantId, data }: { tenantId: string; data: Dashboard }) {
  const { data: activity } = useApi<TenantActivity>(`/tenants/${tenantId}/activity`)
  const sum = (member: 'orders' | 'failed') => data.orders.reduce((all, row) => all + row[member], 0)
  const [orders, failed] = [sum('orders'), sum('failed')]
  const share = { percent: formatPercent(failed / orders), orders: formatCount(orders), days: data.days.length }
  return (
    <Card title={t.dealers.activity}>
      <Facts
        cols={1}
        items={[
          [t.dealers.lastCall, <Timestamp key="c" time={activity?.lastCallAt} format="relative" />],
          [t.dealers.lastOrder, <Timestamp key="o" time={activity?.lastOrderAt} format="relative" />],
          [t.dealers.failedOrders, orders === 0 ? null : formatMessage(t.dealers.failedShare, share)],
        ]}
      />
    </Card>
  )
}

/** Settings with a value; those without one are on the Settings tab. */
function Details({ tenant }: { tenant: TenantDetail }) {
  const { tenantId, currencyCode } = tenant
  const limit = (value: number | null) => (value ? <Amount value={value} currency={currencyCode} /> : null)
  const items: [string, ReactNode][] = [
    [t.dealers.appKey, <Copyable key="k" value={tenant.appKey} label={t.dealers.appKey} />],
    [t.settings.creditLimit, limit(tenant.creditLimit)],
    [t.settings.dailyLimit, limit(tenant.dailySpendLimit)],
    [t.settings.allowlist, tenant.ipAllowlist.join(', ') || t.common.any],
    [t.settings.unsignedTitle, tenant.unsignedRequests ? t.settings.unsignedOn : null],
    [t.settings.qps, tenant.qpsLimit ?? formatMessage(t.settings.qpsDefault, { limit: tenant.qpsDefault })],
    [t.dealers.callbackUrl, tenant.callbackUrl],
    [t.dealers.legalName, tenant.legalName],
    [t.dealers.taxId, tenant.taxId],
    [t.dealers.billingEmail, tenant.billingEmail],
    [t.dealers.created, <Timestamp key="s" time={tenant.createdAt} />],
  ]
  return (
    <Card
      title={t.dealers.details}
      actions={
        <Group gap="xs">
          <Button component={Link} to="/orders" search={{ tenantId } as never} variant="default" size="xs">
            {t.dealers.viewOrders}
          </Button>
          <Button component={Link} to="/profiles" search={{ tenantId } as never} variant="default" size="xs">
            {t.dealers.viewEsims}
          </Button>
        </Group>
      }
    >
      <Facts cols={1} items={items.filter(([, value]) => value !== null && value !== '')} />
    </Card>
  )
}
