import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { type AuditEntry, audit, type By, byPerson } from '#platform/audit/audit.ts'
import { createConfirmation } from '../confirmation.ts'
import { checkPasswordRules, hashPassword } from '../password.ts'
import { checkPasswordChosen, lockUnchanged, type Person } from '../person.ts'
import { confirmSecondFactor, removeAuthenticator } from '../second-factor/authenticator.ts'
import { deleteRecoveryCodes } from '../second-factor/recovery-codes.ts'
import { checkSecondFactorLeft } from '../second-factor/required-factor.ts'
import { endSession, endSessions, notSignedIn } from '../session.ts'
import { type Reauthentication, reauthenticate, type SignInDeps, wrongPassword } from '../sign-in.ts'
import { type AccessScope, createAccessToken, deleteAccessToken, deleteAccessTokens } from './access-token.ts'

/*
 * Changes that people make to their own account. A change is refused if the person has not chosen a password yet, or if the
 * password was changed or the person disabled after they were identified.
 */

export function renameSelf(deps: SignInDeps, person: Person, name: string, by: By): Promise<void> {
  return changeAccount(deps, person, { action: 'person.rename', after: { name } }, by, (tx) => {
    tx.send(sql`update people set name = ${name}, updated_at = now() where person_id = ${person.personId}`)
  })
}

/**
 * Confirms a signed-in person with the password, plus the code if a second factor is set. Returns a confirmation that
 * replaces both. Audited
 */
export async function confirmByPassword(
  deps: SignInDeps,
  person: Person,
  credentials: Reauthentication,
  by: Required<By>,
): Promise<{ confirmation: string }> {
  await reauthenticate(deps, person, { ...credentials, address: by.address })
  await deps.db.tx(async (tx) =>
    audit(tx, deps.ids, { tenantId: person.tenantId, ...by, action: 'person.confirm', subject: person.email }),
  )
  return { confirmation: createConfirmation(deps, person, credentials.sessionId) }
}

export function confirmOwnSecondFactor(
  deps: SignInDeps,
  person: Person,
  code: string,
  by: By,
): Promise<{ recoveryCodes: string[] }> {
  return changeAccount(deps, person, { action: 'person.set_second_factor' }, by, (tx) =>
    confirmSecondFactor(tx, deps, person.personId, code),
  )
}

export function removeOwnSecondFactor(deps: SignInDeps, person: Person, by: By): Promise<void> {
  return changeAccount(deps, person, { action: 'person.remove_second_factor' }, by, (tx, locked) => {
    checkSecondFactorLeft(locked, { authenticator: false, passkeys: locked.hasPasskey ? 1 : 0 })
    removeAuthenticator(tx, person.personId)
    if (!locked.hasPasskey) deleteRecoveryCodes(tx, person.personId)
  })
}

export function endOwnSession(deps: SignInDeps, person: Person, sessionId: string, by: By): Promise<void> {
  return changeAccount(deps, person, { action: 'person.end_session' }, by, async (tx) => {
    if (!(await endSession(tx, person.personId, sessionId))) throw notFound('session')
  })
}

export function endOtherSessions(deps: SignInDeps, person: Person, keep: string, by: By): Promise<void> {
  return changeAccount(deps, person, { action: 'person.end_sessions' }, by, async (tx) => {
    await endSessions(tx, person.personId, keep)
  })
}

/** Chooses which kinds of alerts are not e-mailed to the person. */
export function muteAlerts(deps: SignInDeps, person: Person, kinds: readonly string[], by: By): Promise<void> {
  return changeAccount(deps, person, { action: 'person.mute_alerts', after: { muted: kinds } }, by, (tx) => {
    tx.send(sql`
      update people set muted_alerts = ${[...kinds]}::text[], updated_at = now() where person_id = ${person.personId}`)
  })
}

export function createOwnToken(
  deps: SignInDeps,
  person: Person,
  input: { name: string; scope: AccessScope; days: number | null },
  by: By,
): Promise<{ tokenId: string; token: string }> {
  return changeAccount(deps, person, { action: 'person.make_token', after: input }, by, (tx) =>
    createAccessToken(tx, deps.ids, person.personId, input),
  )
}

export function deleteOwnToken(deps: SignInDeps, person: Person, tokenId: string, by: By): Promise<void> {
  return changeAccount(deps, person, { action: 'person.delete_token', before: { tokenId } }, by, async (tx) => {
    if (!(await deleteAccessToken(tx, person.personId, tokenId))) throw notFound('token')
  })
}

/** Locks the person, then makes and records the change, in one transaction. */
export async function changeAccount<Result>(
  deps: SignInDeps,
  person: Person,
  entry: Pick<AuditEntry, 'action' | 'before' | 'after'>,
  by: By,
  change: (tx: Tx, locked: Person) => Result | Promise<Result>,
): Promise<Result> {
  checkPasswordChosen(person)
  return deps.db.tx(async (tx) => {
    const locked = await lockUnchanged(tx, person)
    if (!locked) throw notSignedIn()
    const result = await change(tx, locked)
    audit(tx, deps.ids, { tenantId: person.tenantId, ...by, subject: person.email, ...entry })
    return result
  })
}

/**
 * Changes the password and ends all other sessions. Access tokens survive a password change, because programs use them,
 * unless the person has them deleted, e.g. after a theft.
 * @returns what was ended
 */
export async function changePassword(
  deps: SignInDeps,
  person: Person,
  input: Reauthentication & { newPassword: string; endTokens: boolean; address: string },
): Promise<{ endedSessions: number; endedTokens: number }> {
  await reauthenticate(deps, person, input)
  checkPasswordRules(input.newPassword, person)
  if (input.newPassword === input.password)
    throw new Refusal(422, 'PASSWORD_WEAK', 'Choose a password that differs from the current one.')
  const passwordHash = await hashPassword(input.newPassword)
  return deps.db.tx(async (tx) => {
    if (!(await lockUnchanged(tx, person))) throw wrongPassword()
    tx.send(sql`
      update people set password_hash = ${passwordHash}, password_change_required = false, updated_at = now()
      where person_id = ${person.personId}`)
    const endedSessions = await endSessions(tx, person.personId, input.sessionId)
    const endedTokens = input.endTokens ? await deleteAccessTokens(tx, person.personId) : 0
    const by = byPerson(person, input.address)
    const { tenantId, email: subject } = person
    const ended = { endedSessions, endedTokens }
    audit(tx, deps.ids, { tenantId, ...by, action: 'person.change_password', subject, after: ended })
    return ended
  })
}
