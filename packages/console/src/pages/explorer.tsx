import type { TenantDetail } from '@dealer-esim/gateway/console-api/tenants.ts'
import { Text } from '@mantine/core'
import { useRouterState } from '@tanstack/react-router'
import { Card } from '../parts/card.tsx'
import { Page } from '../parts/page.tsx'
import { SecretCard } from '../parts/secret-card.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { TenantSelect } from '../parts/tenant-filter.tsx'
import { useSecret } from '../secret-store.ts'
import { isOperator, useSession } from '../session.tsx'
import { t } from '../strings/index.ts'
import { useApi } from '../use-api.ts'
import { useFilters } from '../use-filters.ts'
import { Debugger } from './debugger.tsx'
import { Explore } from './explore.tsx'

/** Two tools on the same credentials: send a signed request, or find out why one fails. */
export function ExplorerPage() {
  const me = useSession()
  const [filters, setFilters] = useFilters()
  const debugging = useRouterState({ select: (state) => state.location.pathname.endsWith('/debugger') })
  const tenantId = me.tenant?.tenantId ?? filters.tenantId
  const tenant = useApi<TenantDetail>(`/tenants/${tenantId}`, {}, { enabled: tenantId !== undefined })
  const secret = useSecret(tenantId ?? '')
  return (
    <Page
      title={debugging ? t.debugger.title : t.explorer.title}
      description={debugging ? t.debugger.text : t.explorer.text}
    >
      <Tabs
        label={t.explorer.title}
        keepFilters
        of={[
          { to: '/explorer', label: t.explorer.tabs.explore },
          { to: '/debugger', label: t.explorer.tabs.debug },
        ]}
      />
      <Card>
        {isOperator(me) && <TenantSelect value={tenantId} onChange={(chosen) => setFilters({ tenantId: chosen })} />}
        {tenantId && tenant.data ? (
          <SecretCard tenantId={tenantId} />
        ) : (
          <Text size="sm">{t.explorer.chooseDealer}</Text>
        )}
      </Card>
      {tenantId &&
        tenant.data &&
        (debugging ? (
          <Debugger tenant={tenant.data} secret={secret} />
        ) : (
          <Explore tenant={tenant.data} secret={secret} />
        ))}
    </Page>
  )
}
