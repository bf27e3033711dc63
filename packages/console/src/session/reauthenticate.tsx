import { PasswordInput, TextInput } from '@mantine/core'
import { t } from '../strings/strings.ts'
import { useSession } from './session.ts'

/** Asks for the password again, and for a code if two-factor authentication is on. Field names: password, code. */
export function ReauthenticationFields() {
  const me = useSession()
  return (
    <>
      <PasswordInput
        name="password"
        label={t.reauthentication.password}
        autoComplete="current-password"
        required
        data-autofocus
      />
      {me.secondFactor && <CodeField />}
    </>
  )
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
