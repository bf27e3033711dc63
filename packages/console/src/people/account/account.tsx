import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { AlertMails } from '#alerts/alert-mails.tsx'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { Card, Page } from '#parts/page.tsx'
import { t } from '#strings/strings.ts'
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
  const change = useChange({ success: t.account.passwordChanged, quiet: true })
  return (
    <Card
      title={t.account.passwordTitle}
      actions={
        <Button variant="default" onClick={dialog.open}>
          {t.account.changePassword}
        </Button>
      }
    >
      <Text size="sm" c="dimmed">
        {t.account.passwordText}
      </Text>
      <Dialog
        title={t.account.changePassword}
        opened={open}
        onClose={dialog.close}
        submit={t.newPassword.submit}
        busy={change.isPending}
        error={change.error}
        onSubmit={(body) =>
          change.mutate({ method: 'POST', path: '/account/password', body }, { onSuccess: dialog.close })
        }
      >
        <Stack>
          <ReauthenticationFields />
          <NewPasswordInput name="newPassword" />
        </Stack>
      </Dialog>
    </Card>
  )
}
