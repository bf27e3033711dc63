import type { Me } from '@dealer-esim/gateway/console-api/me.ts'
import { createContext, type ReactNode, useContext } from 'react'
import { LoginPage } from './pages/login.tsx'
import { NewPasswordPage } from './pages/new-password.tsx'
import { Failure } from './parts/failure.tsx'
import { Loading } from './parts/loading.tsx'
import { useApi } from './use-api.ts'

const Session = createContext<Me | undefined>(undefined)

/** Shows its children to who is signed in, and the sign-in to everybody else: the address stays, so work goes on. */
export function SessionGate({ children }: { children: ReactNode }) {
  const session = useApi<Me>('/session', {}, { refresh_ms: 5 * 60_000 })
  const signedOut = session.error?.status === 401
  if (session.error && !signedOut && !session.data) return <Failure error={session.error} retry={session.refetch} />
  if (signedOut) return <LoginPage />
  if (!session.data) return <Loading />
  if (session.data.passwordChangeRequired) return <NewPasswordPage />
  return <Session value={session.data}>{children}</Session>
}

export function useSession(): Me {
  const me = useContext(Session)
  if (!me) throw new Error('useSession outside of SessionGate')
  return me
}

export const isOperator = (me: Me) => me.role.startsWith('OPERATOR')
export const isOperatorAdmin = (me: Me) => me.role === 'OPERATOR_ADMIN'
/** Operators who may change things. */
export const operates = (me: Me) => me.role === 'OPERATOR_ADMIN' || me.role === 'OPERATOR_STAFF'
/** May change a tenant's credentials, settings and people. */
export const administers = (me: Me) => operates(me) || me.role === 'DEALER_ADMIN'
/** May do the day's work: everybody but read-only operators. */
export const works = (me: Me) => me.role !== 'OPERATOR_READ_ONLY'
