import { PasswordInput, TextInput } from '@mantine/core'
import { useSession } from '../session.tsx'
import { t } from '../strings/index.ts'

/** Asks for the password again, and for a code where a second factor is set. Names: password, code. */
export function ProofFields() {
  const me = useSession()
  return (
    <>
      <PasswordInput name="password" label={t.proof.password} autoComplete="current-password" required data-autofocus />
      {me.secondFactor && <CodeField />}
    </>
  )
}

export function CodeField({ label = t.proof.code }: { label?: string }) {
  return (
    <TextInput
      name="code"
      label={label}
      description={t.proof.codeHint}
      autoComplete="one-time-code"
      inputMode="text"
      required
    />
  )
}

/** The texts of a form by the names of its fields; empty ones are left out. */
export function fieldsOf(form: HTMLFormElement): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && value !== '') fields[name] = value
  }
  return fields
}
