import sql from 'sql-template-tag'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { Refusal } from '../lib/refusal.ts'
import { PEOPLE_MAX } from './limits.ts'

export interface Person {
  personId: string
  /** null: one of the operator's own people. */
  tenantId: string | null
  email: string
  name: string
  role: Role
  status: 'ACTIVE' | 'DISABLED'
  passwordHash: string | null
  passwordChangeRequired: boolean
  totpSecret: Buffer | null
  totpConfirmed: boolean
  lastSignInAt: Date | null
  createdAt: Date
}

export async function personByEmail(db: Db | Tx, email: string): Promise<Person | undefined> {
  const rows = await db.query<Person>(sql`select ${columns} from people where email = ${normalEmail(email)}`)
  return rows[0]
}

export async function personById(db: Db | Tx, personId: string): Promise<Person | undefined> {
  const rows = await db.query<Person>(sql`select ${columns} from people where person_id = ${personId}`)
  return rows[0]
}

/** Locks the row: changes of one person happen one after the other. */
export async function lockPerson(tx: Tx, personId: string): Promise<Person | undefined> {
  const rows = await tx.query<Person>(sql`select ${columns} from people where person_id = ${personId} for update`)
  return rows[0]
}

/**
 * Locks the row of a person who has proved a password; undefined where they got another one or were disabled meanwhile.
 * Proving takes a while, and nothing may come of the old password once a link has set a new one.
 */
export async function lockProven(tx: Tx, person: Person): Promise<Person | undefined> {
  const locked = await lockPerson(tx, person.personId)
  return locked?.status === 'ACTIVE' && locked.passwordHash === person.passwordHash ? locked : undefined
}

/** @throws Refusal PASSWORD_CHANGE_REQUIRED for whoever was given a password and has not chosen one yet */
export function requireOwnPassword(person: Person): void {
  if (!person.passwordChangeRequired) return
  throw new Refusal(403, 'PASSWORD_CHANGE_REQUIRED', 'Choose a password of your own first.')
}

/** The operator's people, or one tenant's, whoever came first on top; of more than are let in today, those who came last. */
export async function peopleOf(db: Db | Tx, tenantId: string | null): Promise<Person[]> {
  const rows = await db.query<Person>(sql`
    select ${columns} from people where tenant_id is not distinct from ${tenantId}::uuid
    order by person_id desc limit ${PEOPLE_MAX}`)
  return rows.reverse()
}

/** Addresses are compared without regard to case or stray spaces. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase()
}

const columns = sql`
  person_id, tenant_id, email, name, role, status, password_hash,
  password_change_required, totp_secret,
  totp_confirmed, last_sign_in_at, created_at`

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
