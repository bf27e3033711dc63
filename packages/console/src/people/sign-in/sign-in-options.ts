import { useApi } from '#api/use-api.ts'

interface SignInOptions {
  mail: boolean
  passkeyHost: string | null
  provider: string | null
}

/** The ways to sign in that the gateway offers. */
export function useSignInOptions(): SignInOptions | undefined {
  return useApi<SignInOptions>('/sign-in-options').data
}

/** True if this browser, at this address, can use passkeys. */
export function canUsePasskeys(options: SignInOptions | undefined): boolean {
  return 'PublicKeyCredential' in globalThis && options?.passkeyHost === location.hostname
}
