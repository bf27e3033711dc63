import { Alert, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ChangeDialog, ShownOnce } from '#parts/dialog.tsx'
import { ErrorText } from '#parts/load-states.tsx'
import { Copyable } from '#parts/values.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { t } from '#strings/strings.ts'

interface NewSecretDialogProps {
  title: string
  appKey: string
  appSecret: string
  note?: string | undefined
  /** What happens if it is not copied now. */
  copyText?: string
  onClose(): void
}

/** Shows a new secret, without asking for the password. Kept in memory only: never in the URL or in storage. */
export function NewSecretDialog(props: NewSecretDialogProps) {
  const { title, appKey, appSecret, note, copyText = t.credentials.copyText, onClose } = props
  return (
    <ShownOnce
      title={title}
      onClose={onClose}
      submit={t.credentials.copied}
      file={{
        name: 'api-credentials.txt',
        text: `${t.credentials.appKey}: ${appKey}\n${t.credentials.appSecret}: ${appSecret}`,
      }}
    >
      <Alert color="orange" title={t.credentials.copyTitle}>
        {copyText}
      </Alert>
      <Stack gap={2}>
        <Text size="sm" fw={600}>
          {t.credentials.appKey}
        </Text>
        <Copyable value={appKey} label={t.credentials.appKey} />
      </Stack>
      <Stack gap={2}>
        <Text size="sm" fw={600}>
          {t.credentials.appSecret}
        </Text>
        <Copyable value={appSecret} label={t.credentials.appSecret} />
      </Stack>
      {note && <Text size="sm">{note}</Text>}
    </ShownOnce>
  )
}

export interface ResetResult {
  appSecret: string
  oldValidUntil: string | null
}

export function ViewSecret(props: { tenantId: string; onClose(): void; onSecret(secret: string): void }) {
  const path = `/tenants/${props.tenantId}/secret/view`
  return (
    <ChangeDialog<{ appSecret: string }>
      title={t.credentials.viewTitle}
      onClose={props.onClose}
      submit={t.credentials.view}
      request={(body) => ({ method: 'POST', path, body })}
      onDone={({ appSecret }) => props.onSecret(appSecret)}
    >
      <Text size="sm">{t.credentials.viewText}</Text>
      <ReauthenticationFields />
    </ChangeDialog>
  )
}

/**
 * In seconds. The default is the usual case, a rotation during which both secrets work; ending the old one immediately is a
 * deliberate choice.
 */
const GRACE_PERIODS = ['86400', '21600', '3600', '0'] as const
const [ROTATION] = GRACE_PERIODS
const NO_GRACE = '0'

export function ResetSecret(props: { tenantId: string; onClose(): void; onReset(reset: ResetResult): void }) {
  const [grace, setGrace] = useState<string>(ROTATION)
  const path = `/tenants/${props.tenantId}/secret/reset`
  return (
    <ChangeDialog<ResetResult>
      title={t.credentials.resetTitle}
      onClose={props.onClose}
      submit={t.credentials.reset}
      danger={grace === NO_GRACE}
      request={(credentials) => ({ method: 'POST', path, body: { ...credentials, grace_s: Number(grace) } })}
      onDone={props.onReset}
    >
      <Text size="sm">{t.credentials.resetText}</Text>
      <Select
        label={t.credentials.oldSecret}
        value={grace}
        onChange={(value) => setGrace(value ?? ROTATION)}
        allowDeselect={false}
        data={GRACE_PERIODS.map((value) => ({ value, label: t.credentials.gracePeriods[value] }))}
      />
      {grace === NO_GRACE ? (
        <ErrorText>{t.credentials.noGraceWarning}</ErrorText>
      ) : (
        <Text size="sm">{t.credentials.graceText}</Text>
      )}
      <ReauthenticationFields />
    </ChangeDialog>
  )
}
