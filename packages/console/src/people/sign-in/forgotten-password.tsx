import { Alert, Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ApiError, call } from '#api/call-api.ts'
import { formFields } from '#parts/form-values.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { t } from '#strings/strings.ts'
import { SignInLayout } from './sign-in-layout.tsx'
import { useSignInOptions } from './sign-in-options.ts'

/** Asks for the address to mail a link to. The answer is the same for every address. */
export function ForgottenPasswordPage({ onBack }: { onBack(): void }) {
  const options = useSignInOptions()
  const send = useMutation<unknown, ApiError, Record<string, string>>({
    mutationFn: (body) => call('POST', '/forgotten-password', { body }),
  })
  const back = (
    <Anchor component="button" type="button" size="sm" onClick={onBack}>
      {t.signIn.back}
    </Anchor>
  )
  if (options?.mail === false)
    return (
      <SignInLayout title={t.forgottenPassword.title}>
        <Stack align="flex-start">
          <Text>{t.forgottenPassword.noMail}</Text>
          {back}
        </Stack>
      </SignInLayout>
    )
  return (
    <SignInLayout title={t.forgottenPassword.title} text={t.forgottenPassword.text}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          send.mutate(formFields(event.currentTarget))
        }}
      >
        <Stack>
          {send.error && <ErrorText>{send.error.message}</ErrorText>}
          {send.isSuccess && (
            <Alert color="teal" role="status">
              {t.forgottenPassword.sent}
            </Alert>
          )}
          <TextInput name="email" type="email" label={t.signIn.email} autoComplete="username" required autoFocus />
          <Button type="submit" loading={send.isPending} fullWidth>
            {t.forgottenPassword.submit}
          </Button>
          {back}
        </Stack>
      </form>
    </SignInLayout>
  )
}
