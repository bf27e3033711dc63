import sql from 'sql-template-tag'
import { type AuditEntry, audit, type By, SYSTEM } from '../audit/audit.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { violatedKey } from '../lib/postgres/errors.ts'
import { notFound, Refusal } from '../lib/refusal.ts'
import { deleteAccessTokens } from './access-token.ts'
import { deleteLinks, type LinkKind, makeLink } from './link.ts'
import { roomForLink, roomForPerson } from './limits.ts'
import { hashPassword } from './password.ts'
import { isOperator, lockPerson, normalEmail, type Person, type Role } from './person.ts'
import { removeSecondFactor } from './second-factor.ts'
import { endSessions } from './session.ts'

export interface NewPerson {
  email: string
  name: string
  role: Role
  /** null for the operator's own people. */
  tenantId: string | null
}

/**
 * Invites a person: the token goes into a link by which they choose a password.
 * @throws Refusal ROLE_ELSEWHERE, EMAIL_TAKEN, ORGANISATION_FULL, TOO_MANY_LINKS
 */
export async function invitePerson(
  tx: Tx,
  ids: Ids,
  asked: NewPerson,
  by: By,
): Promise<{ personId: string; linkToken: string }> {
  await roomForLink(tx, ids, asked.tenantId, by)
  const personId = await insertPerson(tx, ids, asked, null, by)
  return { personId, linkToken: makeLink(tx, ids, personId, 'INVITATION', by) }
}

/** Creates a person with a password that they must change at their first sign-in. */
export async function createPerson(
  tx: Tx,
  ids: Ids,
  asked: NewPerson & { oneTimePassword: string },
  by: By,
): Promise<{ personId: string }> {
  const personId = await insertPerson(tx, ids, asked, await hashPassword(asked.oneTimePassword), by)
  return { personId }
}

/**
 * Changes name, role or status. Whoever is disabled is signed out at once, and loses access tokens and links for good; who
 * gets another role is signed out.
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
    throw new Refusal(422, 'ROLE_ELSEWHERE', "An operator's person cannot become a dealer's, or the other way round.")
  const next = { ...pick(person), ...change }
  tx.send(sql`
    update people set name = ${next.name}, role = ${next.role}, status = ${next.status}, updated_at = now()
    where person_id = ${personId}`)
  if (next.role !== person.role || next.status === 'DISABLED') endSessions(tx, personId, null)
  if (next.status === 'DISABLED') {
    deleteAccessTokens(tx, personId)
    deleteLinks(tx, personId)
  }
  if (person.role === 'OPERATOR_ADMIN') await keepAnAdministrator(tx)
  record(tx, ids, person, { action: 'person.change', before: pick(person), after: next }, by)
}

/**
 * A new invitation, or a link to reset the password: links made before stop working.
 * @throws Refusal NOT_FOUND for nobody and for the disabled, TOO_MANY_LINKS
 */
export async function makePersonLink(
  tx: Tx,
  ids: Ids,
  personId: string,
  by: By,
): Promise<{ linkToken: string; kind: LinkKind; person: Person }> {
  const person = await lockPerson(tx, personId)
  if (person?.status !== 'ACTIVE') throw notFound('active person')
  await roomForLink(tx, ids, person.tenantId, by)
  const kind = person.passwordHash === null ? 'INVITATION' : 'PASSWORD_RESET'
  record(tx, ids, person, { action: 'person.make_link', after: { kind } }, by)
  return { linkToken: makeLink(tx, ids, personId, kind, by), kind, person }
}

/** For a person who lost phone and recovery codes. */
export async function dropSecondFactor(tx: Tx, ids: Ids, personId: string, by: By): Promise<void> {
  const person = await lockPerson(tx, personId)
  if (!person) throw notFound('person')
  removeSecondFactor(tx, personId)
  const before = { secondFactor: person.totpConfirmed }
  record(tx, ids, person, { action: 'person.remove_second_factor', before }, by)
}

function roleElsewhere({ role, tenantId }: Pick<NewPerson, 'role' | 'tenantId'>): Refusal {
  const [whose, fitting] =
    tenantId === null
      ? ["the operator's", 'OPERATOR_ADMIN, OPERATOR_STAFF or OPERATOR_READ_ONLY']
      : ["a dealer's", 'DEALER_ADMIN or DEALER_STAFF']
  return new Refusal(422, 'ROLE_ELSEWHERE', `${role} is no role of ${whose} people. Take ${fitting}.`)
}

async function insertPerson(tx: Tx, ids: Ids, asked: NewPerson, hash: string | null, by: By): Promise<string> {
  if (isOperator(asked.role) !== (asked.tenantId === null)) throw roleElsewhere(asked)
  await roomForPerson(tx, asked.tenantId)
  const personId = ids.uuid()
  const email = normalEmail(asked.email)
  try {
    await tx.query(sql`
      insert into people (person_id, tenant_id, email, name, role, password_hash, password_change_required)
      values (${personId}, ${asked.tenantId}, ${email}, ${asked.name}, ${asked.role}, ${hash}, ${hash !== null})`)
  } catch (error) {
    if (!violatedKey(error)) throw error
    throw new Refusal(409, 'EMAIL_TAKEN', 'This address belongs to somebody already. Use another one.')
  }
  const after = { email, name: asked.name, role: asked.role }
  record(tx, ids, { tenantId: asked.tenantId, email }, { action: 'person.create', after }, by)
  return personId
}

/** Two administrators who disable each other at once: the lock on all of them lets only the first. */
async function keepAnAdministrator(tx: Tx): Promise<void> {
  const rows = await tx.query(sql`
    select 1 from people where role = 'OPERATOR_ADMIN' and status = 'ACTIVE' order by person_id for update`)
  if (rows.length === 0)
    throw new Refusal(
      409,
      'LAST_ADMINISTRATOR',
      'At least one operator administrator has to stay. Appoint another first.',
    )
}

function pick(person: Person) {
  return { name: person.name, role: person.role, status: person.status }
}

function record(
  tx: Tx,
  ids: Ids,
  person: { tenantId: string | null; email: string },
  said: Pick<AuditEntry, 'action' | 'before' | 'after'>,
  by: By,
): void {
  audit(tx, ids, { tenantId: person.tenantId, ...by, subject: person.email, ...said })
}

export const FIRST_OPERATOR = 'admin@localhost'

/**
 * On a fresh local deployment: makes the first operator.
 * @returns the password, which works until the first sign-in changes it; undefined once there is anybody
 */
export async function ensureFirstOperator(deps: { db: Db; ids: Ids }): Promise<string | undefined> {
  const oneTimePassword = deps.ids.bytes(12).toString('base64url')
  return deps.db.tx(async (tx) => {
    // Several nodes may start at once: the lock lets one of them create the person.
    await tx.query(sql`select pg_advisory_xact_lock(hashtext('people.first_operator'))`)
    const rows = await tx.query(sql`select 1 from people limit 1`)
    if (rows.length > 0) return undefined
    const person = { email: FIRST_OPERATOR, name: 'First operator', role: 'OPERATOR_ADMIN' as const, tenantId: null }
    await createPerson(tx, deps.ids, { ...person, oneTimePassword }, SYSTEM)
    return oneTimePassword
  })
}
