import type { Me } from '@dealer-esim/gateway/console-api/routes/account/me.ts'
import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { type ApiError, call } from '../api/call.ts'
import { formFields } from '../parts/form-values.ts'
import { t } from '../strings/strings.ts'
import { CodeField } from './reauthenticate.tsx'
import { SignInLayout } from './sign-in-layout.tsx'

/** Asks for the password, then for an authentication code if one is needed. */
export function SignInPage({ text, onSignedIn }: { text?: string; onSignedIn(me: Me): unknown }) {
  const [codeAsked, setCodeAsked] = useState(false)
  const signIn = useMutation<Me, ApiError, Record<string, string>>({
    mutationFn: (body) => call('POST', '/session', { body }),
    onSuccess: onSignedIn,
    onError(error) {
      if (error.code === 'CODE_REQUIRED') setCodeAsked(true)
    },
  })
  const error = signIn.error && signIn.error.code !== 'CODE_REQUIRED' ? signIn.error : null
  return (
    <SignInLayout title={t.signIn.title} {...(text !== undefined && { text })}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          signIn.mutate(formFields(event.currentTarget))
        }}
      >
        <Stack>
          {error && (
            <Alert color="red" role="alert">
              {error.message}
            </Alert>
          )}
          <TextInput name="email" label={t.signIn.email} autoComplete="username" required autoFocus />
          <PasswordInput name="password" label={t.signIn.password} autoComplete="current-password" required />
          {codeAsked && <CodeField />}
          <Button type="submit" loading={signIn.isPending} fullWidth>
            {t.signIn.submit}
          </Button>
        </Stack>
      </form>
    </SignInLayout>
  )
}

/**
 * The sign-in over a page whose session has ended. A modal <dialog> covers everything, the page's own dialogs included,
 * and nothing below it can be read or reached.
 */
export function SignInOverlay({ onSignedIn }: { onSignedIn(me: Me): unknown }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [title] = useState(document.title)
  useEffect(() => {
    dialog.current?.showModal()
    return () => {
      document.title = title
    }
  }, [title])
  return (
    <dialog
      ref={dialog}
      className="session-ended"
      aria-label={t.signIn.title}
      onCancel={(event) => event.preventDefault()}
      // Browsers close a modal at a second Escape even if the first was prevented.
      onClose={() => dialog.current?.showModal()}
    >
      <SignInPage text={t.signIn.sessionEnded} onSignedIn={onSignedIn} />
    </dialog>
  )
}
