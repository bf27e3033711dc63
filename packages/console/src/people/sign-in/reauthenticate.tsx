import { Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ApiError } from '#api/call-api.ts'
import { holdConfirmation, useConfirmation } from '#api/held-confirmation.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { openProviderWindow } from './provider.ts'
import { useSession } from './session.ts'
import { canUsePasskeys, useSignInOptions } from './sign-in-options.ts'
import { confirmByPasskey } from './use-passkey.ts'

/**
 * Asks people to confirm who they are: with the password (and a code if a second factor is set), with a passkey, or at the
 * provider; not again for five minutes. Field names: password and code, or confirmation.
 */
export function ReauthenticationFields() {
  const me = useSession()
  const options = useSignInOptions()
  const held = useConfirmation()
  const confirm = useMutation<string, ApiError, 'passkey' | 'provider'>({
    mutationFn: async (how) => (how === 'passkey' ? confirmByPasskey() : confirmAtProvider()),
    onSuccess: holdConfirmation,
  })
  if (held !== undefined)
    return (
      <>
        <input type="hidden" name="confirmation" value={held} />
        <Text size="sm" role="status">
          {t.reauthentication.confirmed}
        </Text>
      </>
    )
  const hasPasskey = me.passkey && canUsePasskeys(options)
  const hasProvider = me.signedInBy === 'PROVIDER' && options?.provider
  return (
    <Stack gap="sm">
      {confirm.error && <ErrorText>{confirm.error.message}</ErrorText>}
      {me.hasPassword && (
        <PasswordInput
          name="password"
          label={t.reauthentication.password}
          autoComplete="current-password"
          required
          data-autofocus
        />
      )}
      {me.hasPassword && me.secondFactor && <CodeField {...(!me.authenticator && { label: t.signIn.recoveryCode })} />}
      {hasPasskey && (
        <Button variant="default" loading={confirm.isPending} onClick={() => confirm.mutate('passkey')}>
          {t.reauthentication.usePasskey}
        </Button>
      )}
      {hasProvider && (
        <Button variant="default" loading={confirm.isPending} onClick={() => confirm.mutate('provider')}>
          {formatMessage(t.reauthentication.useProvider, { provider: hasProvider })}
        </Button>
      )}
      {!me.hasPassword && !hasPasskey && !hasProvider && <Text size="sm">{t.reauthentication.nothing}</Text>}
    </Stack>
  )
}

async function confirmAtProvider(): Promise<string> {
  const result = await openProviderWindow('confirmation')
  return result.kind === 'confirmation' ? result.confirmation : ''
}

export function CodeField({ label = t.reauthentication.code }: { label?: string }) {
  return (
    <TextInput
      name="code"
      label={label}
      description={t.reauthentication.codeHint}
      autoComplete="one-time-code"
      inputMode="text"
      required
    />
  )
}

/** @param name of the field */
export function NewPasswordInput({ name, autoFocus = false }: { name: string; autoFocus?: boolean }) {
  return (
    <PasswordInput
      name={name}
      label={t.newPassword.new}
      description={t.newPassword.rule}
      autoComplete="new-password"
      minLength={12}
      required
      autoFocus={autoFocus}
    />
  )
}
