export const ROLES = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY', 'DEALER_ADMIN', 'DEALER_STAFF'] as const
export type Role = (typeof ROLES)[number]

/** The operator's own people see every tenant; a dealer's people see theirs. */
export function isOperator(role: Role): boolean {
  return role.startsWith('OPERATOR')
}

/** Whom a person may invite, change or disable: administrators, within their own organisation; operators dealers' too. */
export function mayManage(manager: { role: Role; tenantId: string | null }, other: PersonPlace): boolean {
  if (manager.role === 'OPERATOR_ADMIN') return true
  if (manager.role === 'OPERATOR_STAFF') return other.tenantId !== null
  if (manager.role === 'DEALER_ADMIN') return other.tenantId === manager.tenantId
  return false
}

export interface PersonPlace {
  tenantId: string | null
}
