import { Button, PasswordInput, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ApiError, call } from '#api/call-api.ts'
import { queryClient } from '#api/use-api.ts'
import { formFields } from '#parts/form-values.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { t } from '#strings/strings.ts'
import { NewPasswordInput } from './reauthenticate.tsx'
import { SignInLayout } from './sign-in-layout.tsx'

/** Shown after signing in with a one-time password, until a new one is chosen. */
export function NewPasswordPage() {
  const change = useMutation<unknown, ApiError, Record<string, string>>({
    mutationFn: (body) => call('POST', '/account/password', { body }),
    onSuccess: () => queryClient.resetQueries(),
  })
  return (
    <SignInLayout title={t.newPassword.title} text={t.newPassword.text}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate(formFields(event.currentTarget))
        }}
      >
        <Stack>
          {change.error && <ErrorText>{change.error.message}</ErrorText>}
          <PasswordInput
            name="password"
            label={t.newPassword.current}
            autoComplete="current-password"
            required
            autoFocus
          />
          <NewPasswordInput name="newPassword" />
          <Button type="submit" loading={change.isPending} fullWidth>
            {t.newPassword.submit}
          </Button>
        </Stack>
      </form>
    </SignInLayout>
  )
}
