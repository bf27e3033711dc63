import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { Alert, Anchor, Button, Divider, Group, PasswordInput, Stack, TextInput } from '@mantine/core'
import { IconFingerprint } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { type ApiError, call } from '#api/call-api.ts'
import { formFields } from '#parts/form-values.ts'
import { ErrorText, Loading } from '#parts/load-states.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { SignInLanguage } from '../account/sign-in-language.tsx'
import { goToProvider, openProviderWindow } from './provider.ts'
import { CodeField } from './reauthenticate.tsx'
import { SignInLayout } from './sign-in-layout.tsx'
import { canUsePasskeys, useSignInOptions } from './sign-in-options.ts'
import { signInByPasskey } from './use-passkey.ts'

const ForgottenPasswordPage = lazy(async () => ({
  default: (await import('./forgotten-password.tsx')).ForgottenPasswordPage,
}))

interface SignInProps {
  text?: string
  onSignedIn(me: Me): unknown
  /** Uses a separate window for the provider, because this page must stay open. */
  overPage?: boolean
}

/** Asks for the password, then for a code if one is needed; or for a passkey, or sends the person to the provider. */
export function SignInPage({ text, onSignedIn, overPage = false }: SignInProps) {
  const [hasForgotten, setHasForgotten] = useState(false)
  const signIn = usePasswordSignIn(onSignedIn)
  const passkey = useMutation<Me, ApiError>({ mutationFn: signInByPasskey, onSuccess: onSignedIn })
  if (hasForgotten)
    return (
      <Suspense fallback={<Loading />}>
        <ForgottenPasswordPage onBack={() => setHasForgotten(false)} />
      </Suspense>
    )
  return (
    <SignInLayout
      title={t.signIn.title}
      {...(text !== undefined && { text })}
      below={overPage ? undefined : <SignInLanguage />}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          passkey.reset()
          signIn.mutate(formFields(event.currentTarget))
        }}
      >
        <Stack>
          <SignInError error={passkey.error ?? signIn.error} />
          <TextInput name="email" label={t.signIn.email} autoComplete="username" required autoFocus />
          <PasswordInput name="password" label={t.signIn.password} autoComplete="current-password" required />
          {signIn.asked && <CodeField {...(signIn.asked === 'RECOVERY' && { label: t.signIn.recoveryCode })} />}
          <Button type="submit" loading={signIn.isPending} fullWidth>
            {t.signIn.submit}
          </Button>
          <Group justify="flex-end">
            <Anchor component="button" type="button" size="sm" onClick={() => setHasForgotten(true)}>
              {t.signIn.forgot}
            </Anchor>
          </Group>
          <OtherWays
            onPasskey={() => passkey.mutate()}
            isPasskeyPending={passkey.isPending}
            onSignedIn={onSignedIn}
            overPage={overPage}
          />
        </Stack>
      </form>
    </SignInLayout>
  )
}

/** Signs in with a password, and remembers which code the gateway asked for. */
export function usePasswordSignIn(onSignedIn: (me: Me) => unknown) {
  const [asked, setAsked] = useState<'CODE' | 'RECOVERY'>()
  const { mutate, error, isPending } = useMutation<Me, ApiError, Record<string, string>>({
    mutationFn: (body) => call('POST', '/session', { body }),
    onSuccess: onSignedIn,
    onError({ code }) {
      if (code === 'CODE_REQUIRED') setAsked('CODE')
      if (code === 'PASSKEY_REQUIRED') setAsked('RECOVERY')
    },
  })
  return { mutate, error, isPending, asked }
}

/** Nothing for CODE_REQUIRED: the field that appears says enough. */
export function SignInError({ error }: { error: ApiError | null }) {
  if (!error || error.code === 'CODE_REQUIRED') return null
  return (
    <Alert color={error.code === 'PASSKEY_REQUIRED' ? 'blue' : 'red'} role="alert">
      {error.message}
    </Alert>
  )
}

interface OtherWaysProps extends Pick<SignInProps, 'onSignedIn' | 'overPage'> {
  onPasskey(): void
  isPasskeyPending: boolean
}

function OtherWays({ onPasskey, isPasskeyPending, onSignedIn, overPage = false }: OtherWaysProps) {
  const options = useSignInOptions()
  const provider = useMutation<void, ApiError>({
    async mutationFn() {
      if (!overPage) return goToProvider('session', { returns: true })
      const result = await openProviderWindow('session')
      if (result.kind === 'session') await onSignedIn(result.me)
    },
  })
  const hasPasskeys = canUsePasskeys(options)
  if (!hasPasskeys && !options?.provider) return null
  return (
    <>
      <Divider label={t.signIn.or} />
      {provider.error && <ErrorText>{provider.error.message}</ErrorText>}
      {hasPasskeys && (
        <Button
          variant="default"
          leftSection={<IconFingerprint size={18} />}
          loading={isPasskeyPending}
          onClick={onPasskey}
          fullWidth
        >
          {t.signIn.withPasskey}
        </Button>
      )}
      {options?.provider && (
        <Button variant="default" loading={provider.isPending} onClick={() => provider.mutate()} fullWidth>
          {formatMessage(t.signIn.withProvider, { provider: options.provider })}
        </Button>
      )}
    </>
  )
}

/**
 * The sign-in over a page whose session has ended. A modal <dialog> covers everything, the page's own dialogs included, and
 * nothing below it can be read or focused.
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
      // Browsers close a modal on a second Escape even if the first was prevented.
      onClose={() => dialog.current?.showModal()}
    >
      <SignInPage text={t.signIn.sessionEnded} onSignedIn={onSignedIn} overPage />
    </dialog>
  )
}
