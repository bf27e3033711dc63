import type { Me } from '@dealer-esim/gateway/console-api/me.ts'
import type { ReactNode } from 'react'
import { LoginPage } from './pages/login.tsx'
import { NewPasswordPage } from './pages/new-password.tsx'
import { Failure } from './parts/failure.tsx'
import { Loading } from './parts/loading.tsx'
import { Session } from './session.tsx'
import { useApi } from './use-api.ts'

const REFRESH_MS = 5 * 60_000

/** Shows its children to who is signed in, and the sign-in to everybody else: the address stays, so work goes on. */
export function SessionGate({ children }: { children: ReactNode }) {
  const session = useApi<Me>('/session', {}, { refresh_ms: REFRESH_MS })
  const signedOut = session.error?.status === 401
  if (session.error && !signedOut && !session.data) return <Failure error={session.error} retry={session.refetch} />
  if (signedOut) return <LoginPage />
  if (!session.data) return <Loading />
  if (session.data.passwordChangeRequired) return <NewPasswordPage />
  return <Session value={session.data}>{children}</Session>
}
