import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { createContext, useContext } from 'react'

export const SessionContext = createContext<Me | undefined>(undefined)

export function useSession(): Me {
  const me = useContext(SessionContext)
  if (!me) throw new Error('useSession outside of SessionGate')
  return me
}

export const isOperator = (me: Me) => me.role.startsWith('OPERATOR')
export const isOperatorAdmin = (me: Me) => me.role === 'OPERATOR_ADMIN'
/** Operators who may change data. */
export const canOperate = (me: Me) => me.role === 'OPERATOR_ADMIN' || me.role === 'OPERATOR_STAFF'
/** May change a tenant's credentials, settings and people. */
export const canAdminister = (me: Me) => canOperate(me) || me.role === 'DEALER_ADMIN'
/** May read the audit log. */
export const mayAudit = (me: Me) => me.role !== 'DEALER_STAFF'
/** Everyone except read-only operators. */
export const canEdit = (me: Me) => me.role !== 'OPERATOR_READ_ONLY'
/** May send eSIMs to travellers by e-mail. */
export const canSend = (me: Me) => canEdit(me) && !me.viewOnly && me.isMailPossible

/** False for the people of a dealer that sells only in the portal: they see no pages for developers. It restricts nothing. */
export const usesApi = (me: Me) => me.tenant?.sellsThrough !== 'PORTAL'

const SIGNED_IN = 'was-signed-in'

/** True if somebody was signed in here when the page was last open. Only a hint of what to load: the gateway decides. */
export function wasSignedIn(): boolean {
  return localStorage.getItem(SIGNED_IN) !== null
}

export function rememberSignedIn(isSignedIn: boolean): void {
  if (isSignedIn) localStorage.setItem(SIGNED_IN, 'yes')
  else localStorage.removeItem(SIGNED_IN)
}
