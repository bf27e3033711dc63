import { call, consoleBase, isSignedOut } from '#api/call-api.ts'
import { notifyError } from '#parts/notify.ts'
import { rememberSignedIn } from '#people/sign-in/session.ts'

/** Ends the session here, and redirects to the provider's own sign-out if the provider began it. */
export async function signOutHere(): Promise<void> {
  let next: string | null = null
  try {
    const { signOutUrl } = await call<{ signOutUrl: string | null }>('DELETE', '/session')
    next = signOutUrl
  } catch (error) {
    // Already signed out.
    if (!isSignedOut(error)) return notifyError(error)
  }
  rememberSignedIn(false)
  // Leaving clears from memory everything that this person saw.
  location.replace(next ?? consoleBase)
}
