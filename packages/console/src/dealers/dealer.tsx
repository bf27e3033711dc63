import type { TenantDetail } from '@dealer-esim/gateway/console-api/tenants.ts'
import { Button, Group, Stack } from '@mantine/core'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { LoadError, Loading } from '../parts/load-states.tsx'
import { Card, Page, Tabs } from '../parts/page.tsx'
import { Amount, Copyable, Facts, Status, Timestamp } from '../parts/values.tsx'
import { canOperate, isOperator, useSession } from '../session/session.ts'
import { t } from '../strings/strings.ts'

/** The dealer that the address names. */
export function useTenant() {
  const { tenantId = '' } = useParams({ strict: false }) as { tenantId?: string }
  return { tenantId, ...useApi<TenantDetail>(`/tenants/${tenantId}`, {}, { enabled: tenantId !== '' }) }
}

/** The frame around a dealer's sections. To the dealer's own people it is just their pages. */
export function DealerPage() {
  const me = useSession()
  const { tenantId, data, error, refetch } = useTenant()
  if (error && !data) return <LoadError error={error} retry={refetch} />
  if (!data) return <Loading />
  if (!isOperator(me)) return <Outlet />
  const at = `/tenants/${tenantId}`
  return (
    <Page
      title={data.clientName}
      back={{ to: '/tenants', label: t.tenants.title }}
      description={
        <Group gap="xs" mt={4}>
          <Status status={data.status} />
          {data.currencyCode}
        </Group>
      }
      actions={canOperate(me) && <Suspension tenant={data} />}
    >
      <Tabs
        label={data.clientName}
        items={[
          { to: at, label: t.tenants.tabs.overview },
          { to: `${at}/credentials`, label: t.tenants.tabs.credentials },
          { to: `${at}/settings`, label: t.tenants.tabs.settings },
          { to: `${at}/wallet`, label: t.tenants.tabs.wallet },
          { to: `${at}/prices`, label: t.tenants.tabs.prices },
          { to: `${at}/people`, label: t.tenants.tabs.people },
          { to: `${at}/notices`, label: t.tenants.tabs.notices },
        ]}
      />
      <Outlet />
    </Page>
  )
}

function Suspension({ tenant }: { tenant: TenantDetail }) {
  const [asking, setAsking] = useState(false)
  const isActive = tenant.status === 'ACTIVE'
  const change = useChange({ success: isActive ? t.tenants.suspended : t.tenants.resumed })
  const path = `/tenants/${tenant.tenantId}/${isActive ? 'suspend' : 'resume'}`
  if (!isActive)
    return (
      <Button variant="default" onClick={() => change.mutate({ method: 'POST', path })}>
        {t.tenants.resume}
      </Button>
    )
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        {t.tenants.suspend}
      </Button>
      <Dialog
        title={`${t.tenants.suspend}: ${tenant.clientName}`}
        opened={asking}
        onClose={() => setAsking(false)}
        submit={t.tenants.suspend}
        danger
        busy={change.isPending}
        onSubmit={() => change.mutate({ method: 'POST', path }, { onSuccess: () => setAsking(false) })}
      >
        {t.tenants.suspendText}
      </Dialog>
    </>
  )
}

/** A section of a dealer: a tab to operators, a page of its own to the dealer's people. */
export function DealerSection(props: { title: string; text?: string; actions?: ReactNode; children: ReactNode }) {
  const me = useSession()
  if (!isOperator(me))
    return (
      <Page title={props.title} description={props.text} actions={props.actions}>
        {props.children}
      </Page>
    )
  return <Stack gap="md">{props.children}</Stack>
}

export function DealerOverview() {
  const { data: tenant, tenantId } = useTenant()
  if (!tenant) return null
  const { currencyCode } = tenant
  return (
    <Card
      title={t.tenants.overviewFacts}
      actions={
        <Group gap="xs">
          <Button component={Link} to="/orders" search={{ tenantId } as never} variant="default" size="xs">
            {t.tenants.seeOrders}
          </Button>
          <Button component={Link} to="/profiles" search={{ tenantId } as never} variant="default" size="xs">
            {t.tenants.seeProfiles}
          </Button>
        </Group>
      }
    >
      <Facts
        items={[
          [t.tenants.balance, <Amount key="b" value={tenant.balance} currency={currencyCode} />],
          [t.settings.creditLimit, <Amount key="c" value={tenant.creditLimit} currency={currencyCode} />],
          [t.settings.dailyLimit, <Amount key="d" value={tenant.dailySpendLimit} currency={currencyCode} />],
          [t.tenants.appKey, <Copyable key="k" value={tenant.appKey} label={t.tenants.appKey} />],
          [t.settings.allowlist, tenant.ipAllowlist.join(', ') || t.common.any],
          [t.settings.qps, tenant.qpsLimit ?? t.settings.qpsDefault],
          [t.tenants.callbackUrl, tenant.callbackUrl],
          [t.tenants.legalName, tenant.legalName],
          [t.tenants.taxId, tenant.taxId],
          [t.tenants.billingEmail, tenant.billingEmail],
          [t.tenants.since, <Timestamp key="s" time={tenant.createdAt} />],
        ]}
      />
    </Card>
  )
}
