import type { TenantDetail } from '@dealer-esim/gateway/console-api/tenants.ts'
import { Button, Group, PasswordInput, Text } from '@mantine/core'
import { useRouterState } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.ts'
import { DealerSelect } from '../parts/dealer-filter.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useFilters } from '../parts/filters.tsx'
import { Card, Page, Tabs } from '../parts/page.tsx'
import { ReauthenticationFields } from '../session/reauthenticate.tsx'
import { rememberSecret, useSecret } from '../session/secret-store.ts'
import { canAdminister, isOperator, useSession } from '../session/session.ts'
import { t } from '../strings/strings.ts'
import { Debugger } from './debugger.tsx'
import { RequestForm } from './request-form.tsx'

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
        items={[
          { to: '/explorer', label: t.explorer.tabs.explore },
          { to: '/debugger', label: t.explorer.tabs.debug },
        ]}
      />
      <Card>
        {isOperator(me) && <DealerSelect value={tenantId} onChange={(chosen) => setFilters({ tenantId: chosen })} />}
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
          <RequestForm tenant={tenant.data} secret={secret} />
        ))}
    </Page>
  )
}

/** Where the AppSecret for signing comes from: pasted, or shown after a proof like on the credentials page. */
export function SecretCard({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const secret = useSecret(tenantId)
  const [asking, setAsking] = useState(false)
  const view = useChange<{ appSecret: string }>({ quiet: true })
  if (secret !== undefined)
    return (
      <Group>
        <Text size="sm">{t.explorer.secretThere}</Text>
        <Button size="xs" variant="default" onClick={() => rememberSecret(tenantId, undefined)}>
          {t.explorer.forget}
        </Button>
      </Group>
    )
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          rememberSecret(tenantId, String(new FormData(event.currentTarget).get('secret') ?? '').trim())
        }}
      >
        <Group align="flex-end">
          <PasswordInput
            name="secret"
            label={t.explorer.secret}
            description={t.explorer.secretHint}
            autoComplete="off"
            w={{ base: '100%', sm: 420 }}
            required
          />
          <Button type="submit" variant="default">
            {t.common.save}
          </Button>
          {canAdminister(me) && (
            <Button variant="default" onClick={() => setAsking(true)}>
              {t.explorer.fetchSecret}
            </Button>
          )}
        </Group>
      </form>
      <Dialog
        title={t.credentials.viewTitle}
        opened={asking}
        onClose={() => setAsking(false)}
        submit={t.credentials.view}
        busy={view.isPending}
        error={view.error}
        onSubmit={(body) =>
          view.mutate(
            { method: 'POST', path: `/tenants/${tenantId}/secret/view`, body },
            {
              onSuccess({ appSecret }) {
                rememberSecret(tenantId, appSecret)
                setAsking(false)
              },
            },
          )
        }
      >
        <Text size="sm">{t.credentials.viewText}</Text>
        <ReauthenticationFields />
      </Dialog>
    </>
  )
}
