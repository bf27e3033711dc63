import sql from 'sql-template-tag'
import { type AuditEntry, audit, type By, byPerson } from '../audit/audit.ts'
import type { Tx } from '../lib/postgres/db.ts'
import { notFound, Refusal } from '../lib/refusal.ts'
import { type AccessScope, deleteAccessToken, makeAccessToken } from './access-token.ts'
import { checkPasswordRules, hashPassword } from './password.ts'
import { lockProven, type Person, requireOwnPassword } from './person.ts'
import { beginSecondFactor, confirmSecondFactor, removeSecondFactor } from './second-factor.ts'
import { endSession, endSessions, signedOut } from './session.ts'
import { passwordWrong, type SignInDeps, signInAgain } from './sign-in.ts'

/*
 * What people change of their own account. A change is refused to whoever has not chosen a password of their own yet, and
 * to who got another one, or was disabled, since they were identified.
 */

/** Asked for again before what a stolen session must not reach. */
export interface Proof {
  password: string
  code?: string | undefined
}

export function renameOneself(deps: SignInDeps, person: Person, name: string, by: By): Promise<void> {
  return change(deps, person, { action: 'person.rename', after: { name } }, by, (tx) => {
    tx.send(sql`update people set name = ${name}, updated_at = now() where person_id = ${person.personId}`)
  })
}

/** Nothing holds yet, so nothing is recorded: that is for `confirmOwnSecondFactor`. */
export async function beginOwnSecondFactor(
  deps: SignInDeps,
  person: Person,
  { password }: Pick<Proof, 'password'>,
  { address }: Required<By>,
): Promise<{ secret: string; uri: string }> {
  await signInAgain(deps, person, { password, address }, { codeToo: false })
  return deps.db.tx((tx) => beginSecondFactor(tx, deps, person.personId))
}

/** Turns it on with its first code. */
export function confirmOwnSecondFactor(
  deps: SignInDeps,
  person: Person,
  code: string,
  by: By,
): Promise<{ recoveryCodes: string[] }> {
  return change(deps, person, { action: 'person.set_second_factor' }, by, (tx) =>
    confirmSecondFactor(tx, deps, person.personId, code),
  )
}

export async function removeOwnSecondFactor(
  deps: SignInDeps,
  person: Person,
  proof: Proof,
  by: Required<By>,
): Promise<void> {
  await signInAgain(deps, person, { ...proof, address: by.address })
  await change(deps, person, { action: 'person.remove_second_factor' }, by, (tx) =>
    removeSecondFactor(tx, person.personId),
  )
}

export function endOwnSession(deps: SignInDeps, person: Person, sessionId: string, by: By): Promise<void> {
  return change(deps, person, { action: 'person.end_session' }, by, async (tx) => {
    if (!(await endSession(tx, person.personId, sessionId))) throw notFound('session')
  })
}

export function endOtherSessions(deps: SignInDeps, person: Person, keep: string, by: By): Promise<void> {
  return change(deps, person, { action: 'person.end_sessions' }, by, (tx) => endSessions(tx, person.personId, keep))
}

/** A token outlives the session: one that was stolen must not become lasting, so the password is asked for. */
export async function makeOwnToken(
  deps: SignInDeps,
  person: Person,
  { password, code, ...asked }: Proof & { name: string; scope: AccessScope; days: number | null },
  by: Required<By>,
): Promise<{ tokenId: string; token: string }> {
  await signInAgain(deps, person, { password, code, address: by.address })
  return change(deps, person, { action: 'person.make_token', after: asked }, by, (tx) =>
    makeAccessToken(tx, deps.ids, person.personId, asked),
  )
}

export function deleteOwnToken(deps: SignInDeps, person: Person, tokenId: string, by: By): Promise<void> {
  return change(deps, person, { action: 'person.delete_token', before: { tokenId } }, by, async (tx) => {
    if ((await deleteAccessToken(tx, person.personId, tokenId)) === undefined) throw notFound('token')
  })
}

/** Locks the person, makes the change and records it, in one transaction. */
async function change<Result>(
  deps: SignInDeps,
  person: Person,
  said: Pick<AuditEntry, 'action' | 'before' | 'after'>,
  by: By,
  work: (tx: Tx) => Result | Promise<Result>,
): Promise<Result> {
  requireOwnPassword(person)
  return deps.db.tx(async (tx) => {
    if (!(await lockProven(tx, person))) throw signedOut()
    const result = await work(tx)
    audit(tx, deps.ids, { tenantId: person.tenantId, ...by, subject: person.email, ...said })
    return result
  })
}

/** Changes the own password; the other sessions end, the one that asks stays. */
export async function changePassword(
  deps: SignInDeps,
  person: Person,
  given: { password: string; code?: string | undefined; newPassword: string; sessionId: string; address: string },
): Promise<void> {
  await signInAgain(deps, person, given)
  checkPasswordRules(given.newPassword, person)
  if (given.newPassword === given.password)
    throw new Refusal(422, 'PASSWORD_WEAK', 'Choose a password that differs from the present one.')
  const passwordHash = await hashPassword(given.newPassword)
  await deps.db.tx(async (tx) => {
    if (!(await lockProven(tx, person))) throw passwordWrong()
    tx.send(sql`
      update people set password_hash = ${passwordHash}, password_change_required = false, updated_at = now()
      where person_id = ${person.personId}`)
    endSessions(tx, person.personId, given.sessionId)
    const by = byPerson(person, given.address)
    const { tenantId, email: subject } = person
    audit(tx, deps.ids, { tenantId, ...by, action: 'person.change_password', subject })
  })
}
