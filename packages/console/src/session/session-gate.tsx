import type { Me } from '@dealer-esim/gateway/console-api/me.ts'
import { type ReactNode, useEffect, useState } from 'react'
import { isSignedOut } from '../api/call.ts'
import { queryClient, SESSION, useApi } from '../api/use-api.ts'
import { Failure, Loading } from '../parts/load-states.tsx'
import { NewPasswordPage } from './new-password.tsx'
import { forgetSecrets } from './secret-store.ts'
import { Session } from './session.ts'
import { LoginPage, SignInAgain } from './sign-in.tsx'

const REFRESH_MS = 5 * 60_000

/**
 * Shows its children to who is signed in, and the sign-in to everybody else: the address stays, so work goes on. When a
 * session ends, the sign-in covers the page, which is still there for the same person.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const { data: me, error, refetch } = useApi<Me>('/session', {}, { refresh_ms: REFRESH_MS })
  const signedOut = isSignedOut(error)
  const isAnother = useIsAnother(me)
  useEffect(() => {
    if (signedOut) forgetSecrets()
  }, [signedOut])
  if (isAnother) return <Loading />
  if (me?.passwordChangeRequired && !signedOut) return <NewPasswordPage />
  if (me && !me.passwordChangeRequired)
    return (
      <Session value={me}>
        {children}
        {signedOut && <SignInAgain onSignedIn={enter} />}
      </Session>
    )
  if (signedOut) return <LoginPage onSignedIn={enter} />
  return error ? <Failure error={error} retry={refetch} /> : <Loading />
}

async function enter(me: Me): Promise<void> {
  queryClient.setQueryData(SESSION, me)
  await queryClient.invalidateQueries()
}

/** Whether somebody else was here before. Then all is loaded anew: what one person saw or typed is not for the next. */
function useIsAnother(me: Me | undefined): boolean {
  const [first, setFirst] = useState(me?.personId)
  if (me && first === undefined) setFirst(me.personId)
  const isAnother = me !== undefined && first !== undefined && me.personId !== first
  useEffect(() => {
    if (isAnother) location.reload()
  }, [isAnother])
  return isAnother
}
