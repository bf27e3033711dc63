import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import { ApiError, call } from '#api/call-api.ts'
import { confirmFirst, forgetConfirmation } from '#api/held-confirmation.ts'
import { t } from '#strings/strings.ts'

interface Requested<Options> {
  options: Options
}

/** Asks the browser for any passkey of this console, and signs in with it. */
export async function signInByPasskey(): Promise<Me> {
  return call('POST', '/passkey/session', { body: { answer: await get('/passkey/request') } })
}

/** Asks for a passkey of the signed-in person. Returns what replaces the password for five minutes. */
export async function confirmByPasskey(): Promise<string> {
  const answer = await get('/account/confirm/request')
  const { confirmation } = await call<{ confirmation: string }>('POST', '/account/confirm', { body: { answer } })
  return confirmation
}

/** Lets the browser create a passkey. @param credentials the password, or a confirmation */
export async function registerPasskey(name: string, credentials: object): Promise<{ recoveryCodes: string[] }> {
  const { options } = await call<Requested<PublicKeyCredentialCreationOptionsJSON>>(
    'POST',
    '/account/passkeys/request',
    { body: await confirmFirst(credentials) },
  )
  const { startRegistration } = await import('@simplewebauthn/browser')
  const answer = await startRegistration({ optionsJSON: options }).catch(refused)
  const registered = await call<{ recoveryCodes: string[] }>('POST', '/account/passkeys', { body: { name, answer } })
  forgetConfirmation()
  return registered
}

async function get(path: string) {
  const { options } = await call<Requested<PublicKeyCredentialRequestOptionsJSON>>('POST', path, { body: {} })
  const { startAuthentication } = await import('@simplewebauthn/browser')
  return startAuthentication({ optionsJSON: options }).catch(refused)
}

/** Browsers do not say why: a page must not learn which passkeys exist. */
function refused(error: unknown): never {
  const exists = error instanceof Error && error.name === 'InvalidStateError'
  throw new ApiError(0, 'PASSKEY_UNUSED', exists ? t.passkeys.exists : t.passkeys.failed)
}
