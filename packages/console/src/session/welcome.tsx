import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { type ApiError, call } from '../api/call.ts'
import { formFields } from '../parts/form-values.ts'
import { LoadError, Loading } from '../parts/load-states.tsx'
import { notifySuccess } from '../parts/notify.ts'
import { interpolate, t } from '../strings/strings.ts'
import { SignInLayout } from './sign-in-layout.tsx'

interface LinkDetails {
  email: string
  name: string
  kind: string
}

/** The target of invitation and password links. The token follows the #, so it is in no server's log. */
export function WelcomePage() {
  const token = useRouterState({ select: ({ location }) => location.hash })
  // A second link opened in the same tab starts again, without what was typed for the first.
  return <SetPassword key={token} token={token} />
}

function SetPassword({ token }: { token: string }) {
  const navigate = useNavigate()
  const link = useQuery<LinkDetails, ApiError>({
    queryKey: ['link', token],
    queryFn: () => call('POST', '/link', { body: { token } }),
    retry: false,
  })
  const choose = useMutation<unknown, ApiError, Record<string, string>>({
    mutationFn: (fields) => call('POST', '/link/password', { body: { token, ...fields } }),
    onSuccess() {
      notifySuccess(t.welcome.done)
      void navigate({ to: '/' })
    },
  })
  if (link.error)
    return (
      <SignInLayout title={t.welcome.title}>
        <LoadError error={link.error} />
      </SignInLayout>
    )
  if (!link.data) return <Loading />
  const invited = link.data.kind === 'INVITATION'
  return (
    <SignInLayout
      title={invited ? t.welcome.title : t.welcome.resetTitle}
      text={interpolate(t.welcome.text, { email: link.data.email })}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          choose.mutate(formFields(event.currentTarget))
        }}
      >
        <Stack>
          {choose.error && (
            <Alert color="red" role="alert">
              {choose.error.message}
            </Alert>
          )}
          <TextInput type="email" value={link.data.email} readOnly label={t.signIn.email} autoComplete="username" />
          {invited && <TextInput name="name" label={t.people.name} defaultValue={link.data.name} required />}
          <PasswordInput
            name="password"
            label={t.newPassword.new}
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
    </SignInLayout>
  )
}
