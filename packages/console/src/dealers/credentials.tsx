import { Alert, Button, Group, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '../api/use-api.ts'
import { Dialog } from '../parts/dialog.tsx'
import { formatDateTime } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { Copyable, Timestamp } from '../parts/values.tsx'
import { ReauthenticationFields } from '../session/reauthenticate.tsx'
import { canAdminister, isOperator, useSession } from '../session/session.ts'
import { interpolate, t } from '../strings/strings.ts'
import { DealerSection, useTenant } from './dealer.tsx'
import { NewSecretDialog } from './secret-dialogs.tsx'

interface ResetResult {
  appSecret: string
  oldValidUntil: string | null
}

/** AppKey and masked AppSecret. The secret is asked for with a proof, and lives in this page's memory only. */
export function CredentialsPage() {
  const me = useSession()
  const { data: tenant, tenantId } = useTenant()
  const [asking, setAsking] = useState<'view' | 'reset'>()
  const [secret, setSecret] = useState<string>()
  const [resetResult, setFresh] = useState<ResetResult>()
  const close = () => setAsking(undefined)
  if (!tenant) return null
  const [current, ...old] = tenant.secrets
  return (
    <DealerSection title={t.credentials.title} text={t.credentials.text}>
      <Card>
        <LabelledValue label={t.credentials.baseUrl}>
          <Copyable value={me.publicUrl} label={t.credentials.baseUrl} />
        </LabelledValue>
        <LabelledValue label={t.credentials.appKey}>
          <Copyable value={tenant.appKey} label={t.credentials.appKey} />
        </LabelledValue>
        <LabelledValue label={t.credentials.appSecret}>
          <Group gap="xs">
            <Copyable value={secret ?? ''} label={t.credentials.appSecret} masked={secret === undefined} />
            {canAdminister(me) && (
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
        </LabelledValue>
        <Text size="sm" c="dimmed">
          {t.credentials.current} <Timestamp time={current?.createdAt} /> · {t.credentials.proven}:{' '}
          {current?.provenAt ? <Timestamp time={current.provenAt} /> : t.credentials.notProven}
        </Text>
        {old.map((one) => (
          <Text size="sm" key={one.secretId}>
            {t.credentials.inGrace} <Timestamp time={one.validUntil} />
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
      {resetResult && (
        <NewSecretDialog
          title={isOperator(me) ? tenant.clientName : t.credentials.title}
          appKey={tenant.appKey}
          appSecret={resetResult.appSecret}
          note={
            resetResult.oldValidUntil
              ? interpolate(t.credentials.oldUntil, { time: formatDateTime(resetResult.oldValidUntil) })
              : undefined
          }
          onClose={() => setFresh(undefined)}
        />
      )}
    </DealerSection>
  )
}

function LabelledValue({ label, children }: { label: string; children: React.ReactNode }) {
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
      <ReauthenticationFields />
    </Dialog>
  )
}

/** In seconds, the contract's default first: none. */
const GRACE_PERIODS = ['0', '3600', '21600', '86400'] as const
const [NO_GRACE] = GRACE_PERIODS

function ResetSecret(props: { tenantId: string; onClose(): void; onReset(reset: ResetResult): void }) {
  const reset = useChange<ResetResult>({ quiet: true })
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
        data={GRACE_PERIODS.map((value) => ({ value, label: t.credentials.graces[value] }))}
      />
      {grace === NO_GRACE ? (
        <Alert color="red" role="alert">
          {t.credentials.noGrace}
        </Alert>
      ) : (
        <Text size="sm">{t.credentials.withGrace}</Text>
      )}
      <ReauthenticationFields />
    </Dialog>
  )
}
