import { Alert, Stack, Text } from '@mantine/core'
import { Dialog } from '../parts/dialog.tsx'
import { Copyable } from '../parts/values.tsx'
import { t } from '../strings/strings.ts'

interface NewSecretDialogProps {
  title: string
  appKey: string
  appSecret: string
  note?: string | undefined
  onClose(): void
}

/** The one time that a fresh secret is shown unasked. Held in memory only: never in the address or in storage. */
export function NewSecretDialog({ title, appKey, appSecret, note, onClose }: NewSecretDialogProps) {
  return (
    <Dialog title={title} opened onClose={onClose} submit={t.credentials.copied} onSubmit={onClose}>
      <Alert color="orange" title={t.credentials.shownTitle}>
        {t.credentials.shownText}
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
    </Dialog>
  )
}
