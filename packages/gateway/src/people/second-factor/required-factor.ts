import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { hasSecondFactor, type Person, ROLES, type Role } from '../person.ts'

/** The roles whose people must have a second factor: an authenticator or a passkey. */
export async function listRequiredRoles(db: Db | Tx): Promise<Role[]> {
  const rows = await db.query<{ role: Role }>(sql`select role from second_factor_roles`)
  return ROLES.filter((role) => rows.some((row) => row.role === role))
}

/**
 * Requires a second factor for a role, or stops requiring it. People set it up the next time they use the console, before
 * anything else, so nobody is locked out.
 */
export function requireSecondFactor(tx: Tx, ids: Ids, role: Role, required: boolean, by: By): void {
  tx.send(
    required
      ? sql`insert into second_factor_roles (role) values (${role}) on conflict do nothing`
      : sql`delete from second_factor_roles where role = ${role}`,
  )
  audit(tx, ids, { tenantId: null, ...by, action: 'person.require_second_factor', subject: role, after: { required } })
}

/**
 * A provider verifies people in its own way, so a session started with a sign-in there needs no second factor here.
 * @throws Refusal SECOND_FACTOR_REQUIRED
 */
export function checkSecondFactorSet(person: Person, { byProvider }: { byProvider: boolean }): void {
  if (!isSecondFactorMissing(person, { byProvider })) return
  const message = 'Your role requires a second factor. Sign in to the console and set one up first.'
  throw new Refusal(403, 'SECOND_FACTOR_REQUIRED', message)
}

export function isSecondFactorMissing(person: Person, { byProvider }: { byProvider: boolean }): boolean {
  return person.secondFactorRequired && !hasSecondFactor(person) && !byProvider
}

/**
 * Refuses to remove the last second factor of a person whose role requires one.
 * @throws Refusal SECOND_FACTOR_NEEDED
 */
export function checkSecondFactorLeft(person: Person, left: { authenticator: boolean; passkeys: number }): void {
  if (!person.secondFactorRequired || left.authenticator || left.passkeys > 0) return
  const message = 'Your role requires a second factor, and this is your last one. Set up another one first.'
  throw new Refusal(409, 'SECOND_FACTOR_NEEDED', message)
}
