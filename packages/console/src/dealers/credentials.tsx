import { Alert, Button, Group, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '../api/use-api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { fullTime } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { Copyable, When } from '../parts/values.tsx'
import { ProofFields } from '../session/reauthenticate.tsx'
import { administers, isOperator, useSession } from '../session/session.ts'
import { say, t } from '../strings/strings.ts'
import { TenantSection, useTenant } from './dealer.tsx'
import { SecretShown } from './secret-dialogs.tsx'

interface Reset {
  appSecret: string
  oldValidUntil: string | null
}

/** AppKey and masked AppSecret. The secret is asked for with a proof, and lives in this page's memory only. */
export function CredentialsPage() {
  const me = useSession()
  const { data: tenant, tenantId } = useTenant()
  const [asking, setAsking] = useState<'view' | 'reset'>()
  const [secret, setSecret] = useState<string>()
  const [fresh, setFresh] = useState<Reset>()
  const close = () => setAsking(undefined)
  if (!tenant) return null
  const [current, ...old] = tenant.secrets
  return (
    <TenantSection title={t.credentials.title} text={t.credentials.text}>
      <Card>
        <Row label={t.credentials.baseUrl}>
          <Copyable value={me.publicUrl} label={t.credentials.baseUrl} />
        </Row>
        <Row label={t.credentials.appKey}>
          <Copyable value={tenant.appKey} label={t.credentials.appKey} />
        </Row>
        <Row label={t.credentials.appSecret}>
          <Group gap="xs">
            <Copyable value={secret ?? ''} label={t.credentials.appSecret} masked={secret === undefined} />
            {administers(me) && (
              <>
                <Button
                  size="xs"
                  variant="default"
                  onClick={() => (secret === undefined ? setAsking('view') : setSecret(undefined))}
                >
                  {secret === undefined ? t.credentials.view : t.credentials.hide}
                </Button>
                <Button size="xs" variant="default" onClick={() => setAsking('reset')}>
                  {t.credentials.reset}
                </Button>
              </>
            )}
          </Group>
        </Row>
        <Text size="sm" c="dimmed">
          {t.credentials.current} <When at={current?.createdAt} /> · {t.credentials.proven}:{' '}
          {current?.provenAt ? <When at={current.provenAt} /> : t.credentials.notProven}
        </Text>
        {old.map((one) => (
          <Text size="sm" key={one.secretId}>
            {t.credentials.inGrace} <When at={one.validUntil} />
          </Text>
        ))}
      </Card>
      {asking === 'view' && (
        <ViewSecret
          tenantId={tenantId}
          onClose={close}
          onSecret={(appSecret) => {
            setSecret(appSecret)
            close()
          }}
        />
      )}
      {asking === 'reset' && (
        <ResetSecret
          tenantId={tenantId}
          onClose={close}
          onReset={(reset) => {
            setSecret(undefined)
            setFresh(reset)
            close()
          }}
        />
      )}
      {fresh && (
        <SecretShown
          title={isOperator(me) ? tenant.clientName : t.credentials.title}
          appKey={tenant.appKey}
          appSecret={fresh.appSecret}
          note={fresh.oldValidUntil ? say(t.credentials.oldUntil, { time: fullTime(fresh.oldValidUntil) }) : undefined}
          onClose={() => setFresh(undefined)}
        />
      )}
    </TenantSection>
  )
}

function Row({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <Stack gap={2}>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      {children}
    </Stack>
  )
}

function ViewSecret(props: { tenantId: string; onClose(): void; onSecret(secret: string): void }) {
  const view = useChange<{ appSecret: string }>({ quiet: true })
  const path = `/tenants/${props.tenantId}/secret/view`
  return (
    <Dialog
      title={t.credentials.viewTitle}
      opened
      onClose={props.onClose}
      submit={t.credentials.view}
      busy={view.isPending}
      error={view.error}
      onSubmit={(body) =>
        view.mutate({ method: 'POST', path, body }, { onSuccess: ({ appSecret }) => props.onSecret(appSecret) })
      }
    >
      <Text size="sm">{t.credentials.viewText}</Text>
      <ProofFields />
    </Dialog>
  )
}

/** In seconds, the contract's default first: none. */
const GRACES = ['0', '3600', '21600', '86400'] as const
const [NO_GRACE] = GRACES

function ResetSecret(props: { tenantId: string; onClose(): void; onReset(reset: Reset): void }) {
  const reset = useChange<Reset>({ quiet: true })
  const [grace, setGrace] = useState<string>(NO_GRACE)
  const path = `/tenants/${props.tenantId}/secret/reset`
  return (
    <Dialog
      title={t.credentials.resetTitle}
      opened
      onClose={props.onClose}
      submit={t.credentials.reset}
      danger
      busy={reset.isPending}
      error={reset.error}
      onSubmit={({ password, code }) =>
        reset.mutate(
          { method: 'POST', path, body: { password, ...(code && { code }), grace_s: Number(grace) } },
          { onSuccess: props.onReset },
        )
      }
    >
      <Text size="sm">{t.credentials.resetText}</Text>
      <Select
        label={t.credentials.grace}
        value={grace}
        onChange={(value) => setGrace(value ?? NO_GRACE)}
        allowDeselect={false}
        data={GRACES.map((value) => ({ value, label: t.credentials.graces[value] }))}
      />
      {grace === NO_GRACE ? (
        <Alert color="red" role="alert">
          {t.credentials.noGrace}
        </Alert>
      ) : (
        <Text size="sm">{t.credentials.withGrace}</Text>
      )}
      <ProofFields />
    </Dialog>
  )
}
