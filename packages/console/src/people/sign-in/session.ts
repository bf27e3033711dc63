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
