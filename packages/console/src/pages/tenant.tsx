import type { TenantDetail } from '@dealer-esim/gateway/console-api/tenants.ts'
import { Button, Group } from '@mantine/core'
import { Outlet, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { Status } from '../parts/status.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { isOperator, operates, useSession } from '../session.tsx'
import { t } from '../strings/index.ts'
import { useApi, useChange } from '../use-api.ts'

/** The dealer that the address names. */
export function useTenant() {
  const { tenantId = '' } = useParams({ strict: false }) as { tenantId?: string }
  return { tenantId, ...useApi<TenantDetail>(`/tenants/${tenantId}`, {}, { enabled: tenantId !== '' }) }
}

/** The frame around a dealer's sections. To the dealer's own people it is just their pages. */
export function TenantPage() {
  const me = useSession()
  const { tenantId, data, error, refetch } = useTenant()
  if (error && !data) return <Failure error={error} retry={refetch} />
  if (!data) return <Loading />
  if (!isOperator(me)) return <Outlet />
  const at = `/tenants/${tenantId}`
  return (
    <Page
      title={data.clientName}
      back={{ to: '/tenants', label: t.tenants.title }}
      description={
        <Group gap="xs" mt={4}>
          <Status of={data.status} />
          {data.currencyCode}
        </Group>
      }
      actions={operates(me) && <Suspension tenant={data} />}
    >
      <Tabs
        label={data.clientName}
        of={[
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
  const change = useChange({ done: isActive ? t.tenants.suspended : t.tenants.resumed })
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
