import type { Me } from '@dealer-esim/gateway/console-api/me.ts'
import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type ApiFailure, call } from '../api.ts'
import { Doorway } from '../parts/doorway.tsx'
import { fieldsOf } from '../parts/fields.ts'
import { CodeField } from '../parts/proof.tsx'
import { t } from '../strings/index.ts'

/** Password first; the code of the authenticator is asked for once the password is right. */
export function LoginPage({ text, onSignedIn }: { text?: string; onSignedIn(me: Me): unknown }) {
  const [codeAsked, setCodeAsked] = useState(false)
  const signIn = useMutation<Me, ApiFailure, Record<string, string>>({
    mutationFn: (body) => call('POST', '/session', { body }),
    onSuccess: onSignedIn,
    onError(error) {
      if (error.code === 'CODE_REQUIRED') setCodeAsked(true)
    },
  })
  const error = signIn.error && signIn.error.code !== 'CODE_REQUIRED' ? signIn.error : null
  return (
    <Doorway title={t.login.title} {...(text !== undefined && { text })}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          signIn.mutate(fieldsOf(event.currentTarget))
        }}
      >
        <Stack>
          {error && (
            <Alert color="red" role="alert">
              {error.message}
            </Alert>
          )}
          <TextInput name="email" label={t.login.email} autoComplete="username" required autoFocus />
          <PasswordInput name="password" label={t.login.password} autoComplete="current-password" required />
          {codeAsked && <CodeField />}
          <Button type="submit" loading={signIn.isPending} fullWidth>
            {t.login.submit}
          </Button>
        </Stack>
      </form>
    </Doorway>
  )
}
