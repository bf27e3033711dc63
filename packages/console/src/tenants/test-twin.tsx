import type { TwinRow } from '@dealer-esim/gateway/http/console/tenants/test-twins.ts'
import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatMoneyInput } from '#parts/form-values.ts'
import { Card } from '#parts/page.tsx'
import { Copyable, Hint, Timestamp } from '#parts/values.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { NewSecretDialog } from './secret-dialogs.tsx'

/** The dealer's second account, with which it tries everything without money. */
export function TestTwin({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const path = `/tenants/${tenantId}/twin`
  const { data } = useApi<{ twin: TwinRow | null }>(path)
  const [open, setOpen] = useState<'create' | 'reset' | 'delete'>()
  const [made, setMade] = useState<{ appKey: string; appSecret: string }>()
  const close = () => setOpen(undefined)
  if (!data) return null
  return (
    <Card title={t.testTwin.title}>
      <Hint>{t.testTwin.text}</Hint>
      {data.twin ? (
        <TwinFacts twin={data.twin} />
      ) : (
        me.mayCreateTwin && (
          <Group>
            <Button variant="default" onClick={() => setOpen('create')}>
              {t.testTwin.create}
            </Button>
          </Group>
        )
      )}
      {data.twin && (
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => setOpen('reset')}>
            {t.testTwin.reset}
          </Button>
          <Button size="xs" variant="default" onClick={() => setOpen('delete')}>
            {t.testTwin.delete}
          </Button>
        </Group>
      )}
      {open === 'create' && (
        <CreateTwin
          tenantId={tenantId}
          onClose={close}
          onMade={(answer) => {
            close()
            setMade(answer)
          }}
        />
      )}
      {open === 'reset' && (
        <ChangeDialog
          title={t.testTwin.reset}
          onClose={close}
          submit={t.testTwin.reset}
          danger
          request={() => ({ method: 'POST', path: `${path}/reset` })}
        >
          <Text size="sm">{t.testTwin.resetText}</Text>
        </ChangeDialog>
      )}
      {open === 'delete' && (
        <ChangeDialog
          title={t.testTwin.delete}
          onClose={close}
          submit={t.testTwin.delete}
          danger
          request={(body) => ({ method: 'POST', path: `${path}/delete`, body })}
        >
          <Text size="sm">{t.testTwin.deleteText}</Text>
          <ReauthenticationFields />
        </ChangeDialog>
      )}
      {made && (
        <NewSecretDialog
          title={t.testTwin.create}
          copyText={t.testTwin.copyText}
          {...made}
          onClose={() => setMade(undefined)}
        />
      )}
    </Card>
  )
}

function TwinFacts({ twin }: { twin: TwinRow }) {
  const { appKey, balance, currencyCode, createdAt } = twin
  return (
    <>
      <Copyable value={appKey} label={t.credentials.appKey} />
      <Text size="sm">{formatMessage(t.testTwin.balance, { balance: formatMoneyInput(balance), currencyCode })}</Text>
      <Hint>
        {t.testTwin.created} <Timestamp time={createdAt} />
      </Hint>
    </>
  )
}

interface CreateTwinProps {
  tenantId: string | undefined
  onClose(): void
  onMade(credentials: { appKey: string; appSecret: string }): void
}

export function CreateTwin({ tenantId, onClose, onMade }: CreateTwinProps) {
  return (
    <ChangeDialog<{ appKey: string; appSecret: string }>
      title={t.testTwin.create}
      onClose={onClose}
      submit={t.testTwin.create}
      request={(body) => ({ method: 'POST', path: `/tenants/${tenantId}/twin`, body })}
      onDone={onMade}
    >
      <ReauthenticationFields />
    </ChangeDialog>
  )
}
