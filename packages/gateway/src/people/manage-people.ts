import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { violatedKey } from '@dealer-esim/lib/postgres/errors.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { type AuditEntry, audit, type By, SYSTEM } from '#platform/audit/audit.ts'
import { deleteAccessTokens } from './account/access-token.ts'
import { deletePasskeys } from './passkeys/passkey.ts'
import { hashPassword } from './password.ts'
import { isOperator, isPersonAddress, lockPerson, normalEmail, type Person, type Role } from './person.ts'
import { createLink, deleteLinks, type LinkKind } from './personal-link.ts'
import { removeAuthenticator } from './second-factor/authenticator.ts'
import { deleteRecoveryCodes } from './second-factor/recovery-codes.ts'
import { endSessions } from './session.ts'
import { checkLinkLimit, checkPeopleLimit } from './sign-in-limits.ts'

export interface NewPerson {
  email: string
  name: string
  role: Role
  /** null for the operator's people. */
  tenantId: string | null
}

/**
 * Invites a person. The token is for a link through which they choose a password.
 * @throws Refusal ROLE_ELSEWHERE, EMAIL_INVALID, EMAIL_TAKEN, ORGANISATION_FULL, TOO_MANY_LINKS
 */
export async function invitePerson(
  tx: Tx,
  ids: Ids,
  input: NewPerson,
  by: By,
): Promise<{ personId: string; linkToken: string }> {
  await checkLinkLimit(tx, ids, input.tenantId, by)
  const personId = await insertPerson(tx, ids, input, null, by)
  return { personId, linkToken: createLink(tx, ids, personId, 'INVITATION', by) }
}

/** Creates a person who signs in through the operator's provider, without a password. */
export function createPersonOfProvider(tx: Tx, ids: Ids, input: NewPerson, by: By): Promise<string> {
  return insertPerson(tx, ids, input, null, by)
}

/** Creates a person with a password that must be changed at the first sign-in. */
export async function createPerson(
  tx: Tx,
  ids: Ids,
  input: NewPerson & { oneTimePassword: string },
  by: By,
): Promise<{ personId: string }> {
  const personId = await insertPerson(tx, ids, input, await hashPassword(input.oneTimePassword), by)
  return { personId }
}

/**
 * Changes name, role or status. A change of role ends the person's sessions. Disabling also deletes access tokens and
 * links.
 * @throws Refusal NOT_FOUND, ROLE_ELSEWHERE, LAST_ADMINISTRATOR
 */
export async function changePerson(
  tx: Tx,
  ids: Ids,
  personId: string,
  change: { name?: string; role?: Role; status?: Person['status'] },
  by: By,
): Promise<void> {
  const person = await lockPerson(tx, personId)
  if (!person) throw notFound('person')
  if (change.role && isOperator(change.role) !== isOperator(person.role))
    throw new Refusal(
      422,
      'ROLE_ELSEWHERE',
      'A person cannot move between the operator and a dealer. Invite them there instead.',
    )
  const next = { ...editable(person), ...change }
  tx.send(sql`
    update people set name = ${next.name}, role = ${next.role}, status = ${next.status}, updated_at = now()
    where person_id = ${personId}`)
  if (next.role !== person.role || next.status === 'DISABLED') await endSessions(tx, personId, null)
  if (next.status === 'DISABLED') {
    await deleteAccessTokens(tx, personId)
    deleteLinks(tx, personId)
  }
  if (person.role === 'OPERATOR_ADMIN') await checkAdministratorLeft(tx)
  record(tx, ids, person, { action: 'person.change', before: editable(person), after: next }, by)
}

/**
 * Creates a new invitation, or a link to reset the password. Older links stop working.
 * @throws Refusal NOT_FOUND, also for disabled people; TOO_MANY_LINKS
 */
export async function createPersonLink(
  tx: Tx,
  ids: Ids,
  personId: string,
  by: By,
): Promise<{ linkToken: string; kind: LinkKind; person: Person }> {
  const person = await lockPerson(tx, personId)
  if (person?.status !== 'ACTIVE') throw notFound('active person')
  await checkLinkLimit(tx, ids, person.tenantId, by)
  const kind = person.passwordHash === null ? 'INVITATION' : 'PASSWORD_RESET'
  record(tx, ids, person, { action: 'person.make_link', after: { kind } }, by)
  return { linkToken: createLink(tx, ids, personId, kind, by), kind, person }
}

/** For a person who has lost both their phone and their recovery codes: removes the authenticator and all passkeys. */
export async function removePersonSecondFactor(tx: Tx, ids: Ids, personId: string, by: By): Promise<void> {
  const person = await lockPerson(tx, personId)
  if (!person) throw notFound('person')
  removeAuthenticator(tx, personId)
  deletePasskeys(tx, personId)
  deleteRecoveryCodes(tx, personId)
  const before = { authenticator: person.totpConfirmed, passkeys: person.hasPasskey }
  record(tx, ids, person, { action: 'person.remove_second_factor', before }, by)
}

/** Exempts a person from OIDC_PASSWORDS=off for some hours, so that they can sign in while the provider is unreachable. */
export async function allowPassword(tx: Tx, ids: Ids, personId: string, hours: number, by: By): Promise<void> {
  const person = await lockPerson(tx, personId)
  if (!person) throw notFound('person')
  tx.send(sql`
    update people set password_allowed_until = now() + make_interval(hours => ${hours}::integer), updated_at = now()
    where person_id = ${personId}`)
  record(tx, ids, person, { action: 'person.allow_password', after: { hours } }, by)
}

function wrongRole({ role, tenantId }: Pick<NewPerson, 'role' | 'tenantId'>): Refusal {
  const [whose, available] =
    tenantId === null
      ? ["the operator's", 'OPERATOR_ADMIN, OPERATOR_STAFF or OPERATOR_READ_ONLY']
      : ["a dealer's", 'DEALER_ADMIN or DEALER_STAFF']
  return new Refusal(422, 'ROLE_ELSEWHERE', `${role} is not a role for ${whose} people. Use ${available}.`)
}

async function insertPerson(tx: Tx, ids: Ids, input: NewPerson, hash: string | null, by: By): Promise<string> {
  if (isOperator(input.role) !== (input.tenantId === null)) throw wrongRole(input)
  await checkPeopleLimit(tx, input.tenantId)
  const personId = ids.uuid()
  const email = normalEmail(input.email)
  if (!isPersonAddress(email))
    throw new Refusal(
      422,
      'EMAIL_INVALID',
      `“${email.slice(0, 100)}” is not an e-mail address such as ada@example.com.`,
    )
  try {
    await tx.query(sql`
      insert into people (person_id, tenant_id, email, name, role, password_hash, password_change_required)
      values (${personId}, ${input.tenantId}, ${email}, ${input.name}, ${input.role}, ${hash}, ${hash !== null})`)
  } catch (error) {
    if (!violatedKey(error)) throw error
    throw new Refusal(409, 'EMAIL_TAKEN', 'This address already has an account. Use a different address.')
  }
  const after = { email, name: input.name, role: input.role }
  record(tx, ids, { tenantId: input.tenantId, email }, { action: 'person.create', after }, by)
  return personId
}

/** Locks all administrators, so that no two can disable each other concurrently. @throws Refusal LAST_ADMINISTRATOR */
async function checkAdministratorLeft(tx: Tx): Promise<void> {
  const rows = await tx.query(sql`
    select 1 from people where role = 'OPERATOR_ADMIN' and status = 'ACTIVE' order by person_id for update`)
  if (rows.length === 0)
    throw new Refusal(409, 'LAST_ADMINISTRATOR', 'This is the last operator administrator. Appoint another first.')
}

function editable(person: Person) {
  return { name: person.name, role: person.role, status: person.status }
}

function record(
  tx: Tx,
  ids: Ids,
  person: { tenantId: string | null; email: string },
  change: Pick<AuditEntry, 'action' | 'before' | 'after'>,
  by: By,
): void {
  audit(tx, ids, { tenantId: person.tenantId, ...by, subject: person.email, ...change })
}

export const FIRST_OPERATOR = 'admin@localhost'

/**
 * Creates the first operator of a new local deployment.
 * @returns the password, which must be changed at the first sign-in; undefined if there are already people
 */
export async function ensureFirstOperator(deps: { db: Db; ids: Ids }): Promise<string | undefined> {
  const oneTimePassword = deps.ids.bytes(12).toString('base64url')
  return deps.db.tx(async (tx) => {
    // If several nodes start concurrently, the lock allows one of them to create the person.
    await tx.query({ text: `select pg_advisory_xact_lock(${advisoryKey('first operator')})` })
    const rows = await tx.query(sql`select 1 from people limit 1`)
    if (rows.length > 0) return undefined
    const person = { email: FIRST_OPERATOR, name: 'First operator', role: 'OPERATOR_ADMIN' as const, tenantId: null }
    await createPerson(tx, deps.ids, { ...person, oneTimePassword }, SYSTEM)
    return oneTimePassword
  })
}
