import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react'
import { isSignedOut, isTestMode } from '#api/call-api.ts'
import { forgetConfirmation } from '#api/held-confirmation.ts'
import { queryClient, SESSION, useApi } from '#api/use-api.ts'
import { LoadError, Loading } from '#parts/load-states.tsx'
import { useReader } from '../account/use-reader.ts'
import { NewPasswordPage } from './new-password.tsx'
import { forgetSecrets } from './secret-store.ts'
import { rememberSignedIn, SessionContext } from './session.ts'
import { SignInOverlay, SignInPage } from './sign-in.tsx'

const SecondFactorSetUpPage = lazy(async () => ({
  default: (await import('./second-factor-set-up.tsx')).SecondFactorSetUpPage,
}))

const REFRESH_MS = 5 * 60_000

/**
 * Shows its children to a signed-in person, and otherwise the sign-in at the same URL. When a session ends, the sign-in
 * covers the page, and the same person can continue after signing in again.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useApi<Me>('/session', {}, { refreshMs: REFRESH_MS })
  // A test twin's e-mails need no mail server: they are kept.
  const me = useMemo(() => data && (isTestMode ? { ...data, isMailPossible: true } : data), [data])
  const signedOut = isSignedOut(error)
  const hasPersonChanged = useHasPersonChanged(me)
  const isShownAgain = useReader(signedOut || me?.passwordChangeRequired || me?.secondFactorMissing ? undefined : me)
  const [isSettingUp, finishSetUp] = useSecondFactorSetUp(me)
  const isSignedIn = signedOut ? false : me && true
  useEffect(() => {
    if (isSignedIn !== undefined) rememberSignedIn(isSignedIn)
  }, [isSignedIn])
  useEffect(() => {
    if (!signedOut) return
    forgetSecrets()
    forgetConfirmation()
  }, [signedOut])
  if (hasPersonChanged || isShownAgain) return <Loading />
  if (me?.passwordChangeRequired && !signedOut) return <NewPasswordPage />
  if (me && isSettingUp && !signedOut)
    return (
      <SessionContext value={me}>
        <Suspense fallback={<Loading />}>
          <SecondFactorSetUpPage onDone={finishSetUp} />
        </Suspense>
      </SessionContext>
    )
  if (me && !me.passwordChangeRequired)
    return (
      <SessionContext value={me}>
        {children}
        {signedOut && <SignInOverlay onSignedIn={showConsole} />}
      </SessionContext>
    )
  if (signedOut) return <SignInPage onSignedIn={showConsole} />
  return error ? <LoadError error={error} retry={refetch} /> : <Loading />
}

async function showConsole(me: Me): Promise<void> {
  queryClient.setQueryData(SESSION, me)
  await queryClient.invalidateQueries()
}

/** True from the moment when a second factor is found missing until the person continues, having seen the recovery codes. */
function useSecondFactorSetUp(me: Me | undefined): [boolean, () => void] {
  const [isSettingUp, setSettingUp] = useState(false)
  if (me?.secondFactorMissing && !isSettingUp) setSettingUp(true)
  return [isSettingUp, () => setSettingUp(false)]
}

/**
 * Reloads the page when another person signs in, so that nothing of the first person's data or input remains, and when a
 * view as a dealer begins or ends in another tab.
 */
function useHasPersonChanged(me: Me | undefined): boolean {
  const current = me && `${me.personId} ${me.viewOnly ? me.tenant?.tenantId : ''}`
  const [first, setFirst] = useState(current)
  if (current !== undefined && first === undefined) setFirst(current)
  const hasChanged = current !== undefined && first !== undefined && current !== first
  useEffect(() => {
    if (hasChanged) location.reload()
  }, [hasChanged])
  return hasChanged
}
