import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { formatDateTime } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Copyable, Hint, Timestamp } from '#parts/values.tsx'
import { canAdminister, isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { DealerSection, useTenant } from './dealer.tsx'
import { RestrictedKeys } from './restricted-keys.tsx'
import { NewSecretDialog, type ResetResult, ResetSecret, ViewSecret } from './secret-dialogs.tsx'
import { TestTwin } from './test-twin.tsx'

/** AppKey and masked AppSecret. Viewing the secret requires the password; it is kept in this page's memory only. */
export function CredentialsPage() {
  const me = useSession()
  const { data: tenant, tenantId } = useTenant()
  const [open, setOpen] = useState<'view' | 'reset'>()
  const [secret, setSecret] = useState<string>()
  const [resetResult, setResetResult] = useState<ResetResult>()
  const close = () => setOpen(undefined)
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
                  onClick={() => (secret === undefined ? setOpen('view') : setSecret(undefined))}
                >
                  {secret === undefined ? t.credentials.view : t.credentials.hide}
                </Button>
                <Button size="xs" variant="default" onClick={() => setOpen('reset')}>
                  {t.credentials.reset}
                </Button>
              </>
            )}
          </Group>
        </LabelledValue>
        <Hint>
          {t.credentials.currentSince} <Timestamp time={current?.createdAt} /> · {t.credentials.firstUsed}:{' '}
          {current?.provenAt ? <Timestamp time={current.provenAt} /> : t.credentials.notUsedYet}
        </Hint>
        {old.map((one) => (
          <Text size="sm" key={one.secretId}>
            {t.credentials.oldWorksUntil} <Timestamp time={one.validUntil} />
          </Text>
        ))}
      </Card>
      {canAdminister(me) && <RestrictedKeys tenantId={tenantId} currencyCode={tenant.currencyCode} />}
      {canAdminister(me) && !isTestMode && <TestTwin tenantId={tenantId} />}
      {open === 'view' && (
        <ViewSecret
          tenantId={tenantId}
          onClose={close}
          onSecret={(appSecret) => {
            setSecret(appSecret)
            close()
          }}
        />
      )}
      {open === 'reset' && (
        <ResetSecret
          tenantId={tenantId}
          onClose={close}
          onReset={(reset) => {
            setSecret(undefined)
            setResetResult(reset)
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
              ? formatMessage(t.credentials.oldSecretUntil, { time: formatDateTime(resetResult.oldValidUntil) })
              : undefined
          }
          onClose={() => setResetResult(undefined)}
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
