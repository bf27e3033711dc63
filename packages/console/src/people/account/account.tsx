import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { AlertMails } from '#alerts/alert-mails.tsx'
import { useApi, useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { Card, Page } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { NewPasswordInput, ReauthenticationFields } from '../sign-in/reauthenticate.tsx'
import { useSession } from '../sign-in/session.ts'
import { AccessTokens } from './access-tokens.tsx'
import { Passkeys } from './own-passkeys.tsx'
import { SecondFactor } from './second-factor.tsx'
import { Sessions } from './sessions.tsx'

export function AccountPage() {
  const me = useSession()
  return (
    <Page title={t.account.title} description={`${me.email} · ${t.roles[me.role]}`}>
      <Card title={t.account.profile}>
        <NameForm />
      </Card>
      <Password />
      <SecondFactor />
      <Passkeys />
      <Sessions />
      <AccessTokens />
      <AlertMails />
    </Page>
  )
}

function NameForm() {
  const me = useSession()
  const rename = useChange({ success: t.common.saved })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const name = new FormData(event.currentTarget).get('name')
        rename.mutate({ method: 'PATCH', path: '/account', body: { name } })
      }}
    >
      <Group align="flex-end">
        <TextInput name="name" label={t.account.name} defaultValue={me.name} required maxLength={100} w={320} />
        <Button type="submit" variant="default" loading={rename.isPending}>
          {t.common.save}
        </Button>
      </Group>
    </form>
  )
}

function Password() {
  const [open, dialog] = useDisclosure(false)
  const tokens = useApi<{ tokens: unknown[] }>('/account/tokens').data?.tokens.length ?? 0
  const change = useChange<{ endedSessions: number; endedTokens: number }>({
    quiet: true,
    success: ({ endedSessions, endedTokens }) =>
      formatMessage(t.account.passwordChanged, {
        sessions: formatMessage(t.account.endedSessions, { count: endedSessions }),
        tokens: formatMessage(t.account.endedTokens, { count: endedTokens }),
      }),
  })
  return (
    <Card
      title={t.account.passwordTitle}
      actions={
        <Button variant="default" onClick={dialog.open}>
          {t.account.changePassword}
        </Button>
      }
    >
      <Hint>{t.account.passwordText}</Hint>
      <Dialog
        title={t.account.changePassword}
        opened={open}
        onClose={dialog.close}
        submit={t.newPassword.submit}
        busy={change.isPending}
        error={change.error}
        onSubmit={({ endTokens, ...fields }) => {
          const body = { ...fields, endTokens: endTokens !== undefined }
          change.mutate({ method: 'POST', path: '/account/password', body }, { onSuccess: dialog.close })
        }}
      >
        <Stack>
          <ReauthenticationFields />
          <NewPasswordInput name="newPassword" />
          {tokens > 0 && (
            <Checkbox
              name="endTokens"
              label={formatMessage(t.account.endTokens, { count: tokens })}
              description={t.account.endTokensText}
            />
          )}
        </Stack>
      </Dialog>
    </Card>
  )
}
