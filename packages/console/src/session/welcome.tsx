import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { type ApiFailure, call } from '../api/call.ts'
import { fieldsOf } from '../parts/form-values.ts'
import { Failure, Loading } from '../parts/load-states.tsx'
import { told } from '../parts/notify.ts'
import { say, t } from '../strings/strings.ts'
import { Doorway } from './sign-in-layout.tsx'

interface Invited {
  email: string
  name: string
  kind: string
}

/** Where an invitation's or a reset's link leads. The token stands after #, so no server's log has it. */
export function WelcomePage() {
  const token = useRouterState({ select: ({ location }) => location.hash })
  // Another link that is followed in the same tab is another page: nothing that was typed for the first goes with it.
  return <Welcome key={token} token={token} />
}

function Welcome({ token }: { token: string }) {
  const navigate = useNavigate()
  const link = useQuery<Invited, ApiFailure>({
    queryKey: ['link', token],
    queryFn: () => call('POST', '/link', { body: { token } }),
    retry: false,
  })
  const choose = useMutation<unknown, ApiFailure, Record<string, string>>({
    mutationFn: (fields) => call('POST', '/link/password', { body: { token, ...fields } }),
    onSuccess() {
      told(t.welcome.done)
      void navigate({ to: '/' })
    },
  })
  if (link.error)
    return (
      <Doorway title={t.welcome.title}>
        <Failure error={link.error} />
      </Doorway>
    )
  if (!link.data) return <Loading />
  const invited = link.data.kind === 'INVITATION'
  return (
    <Doorway
      title={invited ? t.welcome.title : t.welcome.resetTitle}
      text={say(t.welcome.text, { email: link.data.email })}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          choose.mutate(fieldsOf(event.currentTarget))
        }}
      >
        <Stack>
          {choose.error && (
            <Alert color="red" role="alert">
              {choose.error.message}
            </Alert>
          )}
          <TextInput type="email" value={link.data.email} readOnly label={t.login.email} autoComplete="username" />
          {invited && <TextInput name="name" label={t.people.name} defaultValue={link.data.name} required />}
          <PasswordInput
            name="password"
            label={t.newPassword.next}
            description={t.newPassword.rule}
            autoComplete="new-password"
            minLength={12}
            required
            autoFocus
          />
          <Button type="submit" loading={choose.isPending} fullWidth>
            {t.newPassword.submit}
          </Button>
        </Stack>
      </form>
    </Doorway>
  )
}
