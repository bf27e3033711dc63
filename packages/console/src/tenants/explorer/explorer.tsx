import type { TenantDetail } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Button, Group, PasswordInput, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useRouterState } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { DealerSelect } from '#parts/dealer-filter.tsx'
import { Card, Page } from '#parts/page.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { rememberSecret, useSecret } from '#people/sign-in/secret-store.ts'
import { canAdminister, isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { ViewSecret } from '../secret-dialogs.tsx'
import { Debugger } from './debugger.tsx'
import { RequestForm } from './request-form.tsx'

/** Two tools with the same credentials: one sends a signed request, the other explains why a request fails. */
export function ExplorerPage() {
  const me = useSession()
  const debugging = useRouterState({ select: (state) => state.location.pathname.endsWith('/debugger') })
  const [tenantId, chooseDealer] = useDealer()
  const tenant = useApi<TenantDetail>(`/tenants/${tenantId}`, {}, { enabled: tenantId !== undefined })
  const secret = useSecret(tenantId ?? '')
  return (
    <Page
      title={debugging ? t.debugger.title : t.explorer.title}
      description={debugging ? t.debugger.text : t.explorer.text}
    >
      <Card>
        {isOperator(me) && <DealerSelect value={tenantId} onChange={chooseDealer} />}
        {tenantId && tenant.data ? (
          <SecretCard tenantId={tenantId} />
        ) : (
          <Text size="sm">{t.explorer.chooseDealer}</Text>
        )}
      </Card>
      {debugging ? (
        tenantId && tenant.data && <Debugger tenant={tenant.data} secret={secret} />
      ) : (
        <RequestForm key={tenantId} tenant={tenant.data} secret={secret} />
      )}
    </Page>
  )
}

/** The dealer to sign as: a dealer's people use their own; an operator starts with the last one used in this browser. */
function useDealer(): [tenantId: string | undefined, choose: (tenantId: string | null) => void] {
  const me = useSession()
  const [filters, setFilters] = useFilters()
  const [last, setLast] = useLocalStorage({
    ...{ key: `explorer-dealer:${me.personId}`, defaultValue: '', getInitialValueInEffect: false },
  })
  function choose(tenantId: string | null): void {
    setLast(tenantId ?? '')
    setFilters({ tenantId })
  }
  return [me.tenant?.tenantId ?? filters.tenantId ?? (last || undefined), choose]
}

/** The AppSecret to sign with: pasted, or fetched after entering the password, as on the credentials page. */
function SecretCard({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const secret = useSecret(tenantId)
  const [dialogOpen, setDialogOpen] = useState(false)
  if (secret !== undefined)
    return (
      <Group>
        <Text size="sm">{t.explorer.secretLoaded}</Text>
        <Button size="xs" variant="default" onClick={() => rememberSecret(tenantId, undefined)}>
          {t.explorer.forgetSecret}
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
            <Button variant="default" onClick={() => setDialogOpen(true)}>
              {t.explorer.fetchSecret}
            </Button>
          )}
        </Group>
      </form>
      {dialogOpen && (
        <ViewSecret
          tenantId={tenantId}
          onClose={() => setDialogOpen(false)}
          onSecret={(appSecret) => {
            rememberSecret(tenantId, appSecret)
            setDialogOpen(false)
          }}
        />
      )}
    </>
  )
}
