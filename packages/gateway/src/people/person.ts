import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { PEOPLE_MAX } from './sign-in-limits.ts'

export interface Person {
  personId: string
  /** null for the operator's people. */
  tenantId: string | null
  email: string
  name: string
  role: Role
  status: 'ACTIVE' | 'DISABLED'
  passwordHash: string | null
  passwordChangeRequired: boolean
  totpSecret: Buffer | null
  totpConfirmed: boolean
  hasPasskey: boolean
  /** True if the person's role requires a second factor. */
  secondFactorRequired: boolean
  /** Until then the password is accepted even though OIDC_PASSWORDS is off. */
  passwordAllowedUntil: Date | null
  mutedAlerts: string[]
  /** What the person chose for the console and mails: `zh-Hans`; null: as the browser says. */
  language: string | null
  /** `Asia/Shanghai`; null: as the browser says. */
  timeZone: string | null
  lastSignInAt: Date | null
  createdAt: Date
}

export async function findPersonByEmail(db: Db | Tx, email: string): Promise<Person | undefined> {
  const [person] = await db.query<Person>(sql`select ${columns} from people where email = ${normalEmail(email)}`)
  return person
}

export async function findPerson(db: Db | Tx, personId: string): Promise<Person | undefined> {
  const [person] = await db.query<Person>(sql`select ${columns} from people where person_id = ${personId}`)
  return person
}

/** Locks the row, so that changes to one person happen one at a time. */
export async function lockPerson(tx: Tx, personId: string): Promise<Person | undefined> {
  const [person] = await tx.query<Person>(
    sql`select ${columns} from people where person_id = ${personId} for update of people`,
  )
  return person
}

/**
 * Locks the row of a person whose password was verified. Returns undefined if the password has changed or the person has
 * been disabled since: verification takes a while, and an old password must not work after a new one has been set with a
 * link.
 */
export async function lockUnchanged(tx: Tx, person: Person): Promise<Person | undefined> {
  const locked = await lockPerson(tx, person.personId)
  return locked?.status === 'ACTIVE' && locked.passwordHash === person.passwordHash ? locked : undefined
}

/** @throws Refusal PASSWORD_CHANGE_REQUIRED if the person still has the password that was given to them */
export function checkPasswordChosen(person: Person): void {
  if (!person.passwordChangeRequired) return
  throw new Refusal(403, 'PASSWORD_CHANGE_REQUIRED', 'Choose your own password first.')
}

export interface ListedPerson extends Person {
  /** Signs in through the provider. */
  hasProviderAccount: boolean
}

/**
 * Lists the operator's people (null) or a tenant's, oldest first. If there are more than the limit, the oldest are left
 * out.
 */
export async function listPeople(db: Db | Tx, tenantId: string | null): Promise<ListedPerson[]> {
  const rows = await db.query<ListedPerson>(sql`
    select ${columns}, exists (select from provider_accounts a where a.person_id = people.person_id) as has_provider_account
    from people where tenant_id is not distinct from ${tenantId}::uuid
    order by person_id desc limit ${PEOPLE_MAX}`)
  return rows.reverse()
}

export const ADDRESS_LENGTH_MAX = 254

/** Rejects characters that separate or quote cells, start a formula, or control a terminal. */
const PLAIN = '[^\\s@;,<>"()=\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]+'
export const ADDRESS_PATTERN = `^${PLAIN}@${PLAIN}$`
const ADDRESS = new RegExp(ADDRESS_PATTERN, 'u')

/** True if a person may have this e-mail address, whether it was typed, passed on the command line or sent by a provider. */
export function isPersonAddress(email: string): boolean {
  return email.length <= ADDRESS_LENGTH_MAX && ADDRESS.test(email)
}

/** Addresses are compared ignoring case and surrounding spaces. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase()
}

const columns = sql`
  person_id, tenant_id, email, name, role, status, password_hash, password_change_required, totp_secret,
  totp_confirmed, password_allowed_until, muted_alerts, language, time_zone, last_sign_in_at, created_at,
  exists (select from passkeys where passkeys.person_id = people.person_id) as has_passkey,
  exists (select from second_factor_roles required where required.role = people.role) as second_factor_required`

/** An authenticator or a passkey. The password alone is then not enough to sign in. */
export function hasSecondFactor(person: Pick<Person, 'totpConfirmed' | 'hasPasskey'>): boolean {
  return person.totpConfirmed || person.hasPasskey
}

export const ROLES = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY', 'DEALER_ADMIN', 'DEALER_STAFF'] as const
export type Role = (typeof ROLES)[number]

/** The operator's people see every tenant; a dealer's people see only their own. */
export function isOperator(role: Role): boolean {
  return role.startsWith('OPERATOR')
}

/**
 * Administrators may invite, change and disable people of their own organisation; operator administrators also those of
 * dealers.
 */
export function mayManage(
  manager: { role: Role; tenantId: string | null },
  other: { tenantId: string | null },
): boolean {
  if (manager.role === 'OPERATOR_ADMIN') return true
  if (manager.role === 'OPERATOR_STAFF') return other.tenantId !== null
  if (manager.role === 'DEALER_ADMIN') return other.tenantId === manager.tenantId
  return false
}
