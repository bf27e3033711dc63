import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { Button, Stack, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useState } from 'react'
import { type ApiError, call, consoleBase } from '#api/call-api.ts'
import { queryClient, SESSION } from '#api/use-api.ts'
import { formFields } from '#parts/form-values.ts'
import { ErrorText, LoadError, Loading } from '#parts/load-states.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { CodeField, NewPasswordInput } from './reauthenticate.tsx'
import { SignInError, usePasswordSignIn } from './sign-in.tsx'
import { SignInFailed, SignInLayout } from './sign-in-layout.tsx'

interface LinkDetails {
  email: string
  name: string
  kind: string
}

/** The target of invitation and password links. The token follows the #, so it does not appear in any server's log. */
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
    // Once used, the link is invalid, but this page still signs in.
    staleTime: Number.POSITIVE_INFINITY,
  })
  const signIn = usePasswordSignIn((me) => {
    queryClient.setQueryData(SESSION, me)
    void navigate({ to: '/' })
  })
  const [chosen, setChosen] = useState<string>()
  const choose = useMutation<{ email: string }, ApiError, Record<string, string>>({
    mutationFn: (fields) => call('POST', '/link/password', { body: { token, ...fields } }),
    // The password that was just chosen also signs in, so nobody types it twice.
    onSuccess({ email }, { password = '' }) {
      setChosen(password)
      signIn.mutate({ email, password })
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
      text={formatMessage(t.welcome.text, { email: link.data.email })}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const { code, ...fields } = formFields(event.currentTarget)
          if (chosen === undefined) choose.mutate(fields)
          else signIn.mutate({ email: link.data.email, password: chosen, ...(code !== undefined && { code }) })
        }}
      >
        <Stack>
          {choose.error && <ErrorText>{choose.error.message}</ErrorText>}
          <TextInput type="email" value={link.data.email} readOnly label={t.signIn.email} autoComplete="username" />
          {invited && <TextInput name="name" label={t.people.name} defaultValue={link.data.name} required />}
          <SignInError error={signIn.error} />
          {chosen === undefined && <NewPasswordInput name="password" autoFocus />}
          {signIn.asked && <CodeField {...(signIn.asked === 'RECOVERY' && { label: t.signIn.recoveryCode })} />}
          <Button type="submit" loading={choose.isPending || signIn.isPending} fullWidth>
            {chosen === undefined ? t.newPassword.submit : t.signIn.submit}
          </Button>
        </Stack>
      </form>
    </SignInLayout>
  )
}

/** The target of the link that a local gateway prints. The token follows the #, so it does not appear in any server's log. */
export function LocalSignInPage() {
  const [token] = useState(takeToken)
  const signIn = useQuery<Me, ApiError>({
    queryKey: ['local-sign-in'],
    queryFn: async () => {
      const me = await call<Me>('POST', '/session/local', { body: { token } })
      // A reload clears another person's data from memory.
      location.replace(consoleBase.href)
      return me
    },
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (!signIn.error) return <Loading />
  return <SignInFailed title={t.signIn.title} message={signIn.error.message} />
}

/** The token works once, but need not stay in the address and the history. */
function takeToken(): string {
  const token = location.hash.slice(1)
  history.replaceState(null, '', location.pathname)
  return token
}
