import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By, byPerson } from '#platform/audit/audit.ts'
import { deleteAccessTokens } from './account/access-token.ts'
import { addressKey, clearFailures } from './lockout.ts'
import { checkPasswordRules, hashPassword } from './password.ts'
import { findPerson, lockPerson, type Person } from './person.ts'
import { checkPasswordAllowed, type PasswordConfig } from './provider/provider-passwords.ts'
import { createRandomToken, hashToken } from './secret-token.ts'
import { endSessions } from './session.ts'

/** FORGOTTEN_PASSWORD: anybody may have requested the link. The others were created by an administrator. */
export type LinkKind = 'INVITATION' | 'PASSWORD_RESET' | 'FORGOTTEN_PASSWORD'

/** An invitation outlasts a weekend or a few days of leave. A reset is requested when it is needed. */
export const LINK_LIFETIME = {
  INVITATION: '7 days',
  PASSWORD_RESET: '24 hours',
  FORGOTTEN_PASSWORD: '1 hour',
} as const satisfies Record<LinkKind, string>

/**
 * Creates a link's token. The person's older links stop working, unless a stranger may have requested the new one: a
 * stranger must not be able to void an invitation, or the link that the person is using.
 */
export function createLink(tx: Tx, ids: Ids, personId: string, kind: LinkKind, by: By): string {
  const { token, hash } = createRandomToken(ids)
  if (kind !== 'FORGOTTEN_PASSWORD') deleteLinks(tx, personId)
  tx.send(sql`
    insert into person_links (token_hash, person_id, kind, expires_at, created_by)
    values (${hash}, ${personId}, ${kind}, now() + ${LINK_LIFETIME[kind]}::interval, ${by.actor})`)
  return token
}

export function deleteLinks(tx: Tx, personId: string): void {
  tx.send(sql`delete from person_links where person_id = ${personId}`)
}

/**
 * Returns the person and the kind of a link, which are shown before the password is entered.
 * @throws Refusal LINK_DEAD
 */
export async function getLink(db: Db, token: string): Promise<{ person: Person; kind: LinkKind }> {
  const [link] = await db.query<{ personId: string; kind: LinkKind }>(sql`
    select person_id, kind from person_links
    where token_hash = ${hashToken(token)} and used_at is null and expires_at > now()`)
  const person = link && (await findPerson(db, link.personId))
  if (!link || person?.status !== 'ACTIVE') throw deadLink()
  return { person, kind: link.kind }
}

/**
 * Sets the password with a link, which works once. Ends all sessions and deletes all access tokens of the person, because
 * they may have been stolen too, and voids all other links. The second factor remains. A lock caused by a stranger's
 * guesses is removed.
 * @throws Refusal LINK_DEAD, PASSWORD_WEAK, PASSWORDS_BUSY, PASSWORDS_OFF
 */
export async function setPasswordByLink(
  deps: { db: Db; ids: Ids; databaseClock: Pick<DatabaseClock, 'now'>; config: PasswordConfig },
  input: { token: string; password: string; name?: string | undefined; address: string },
): Promise<Person> {
  const { person, kind } = await getLink(deps.db, input.token)
  checkPasswordAllowed(deps.config, person.email, person, deps.databaseClock.now())
  checkPasswordRules(input.password, person)
  const passwordHash = await hashPassword(input.password)
  return deps.db.tx(async (tx) => {
    // The person is locked first, as everywhere: a concurrent new link waits for the lock or has already voided this one.
    if ((await lockPerson(tx, person.personId))?.status !== 'ACTIVE') throw deadLink()
    const used = await tx.query(sql`
      update person_links set used_at = now()
      where token_hash = ${hashToken(input.token)} and used_at is null and expires_at > now() returning 1`)
    if (used.length === 0) throw deadLink()
    tx.send(sql`delete from person_links where person_id = ${person.personId} and used_at is null`)
    tx.send(sql`
      update people set password_hash = ${passwordHash}, password_change_required = false, updated_at = now(),
        name = coalesce(${input.name ?? null}, name)
      where person_id = ${person.personId}`)
    await endSessions(tx, person.personId, null)
    await deleteAccessTokens(tx, person.personId)
    await clearFailures(tx, addressKey(person.email))
    audit(tx, deps.ids, {
      tenantId: person.tenantId,
      ...byPerson(person, input.address),
      action: kind === 'INVITATION' ? 'person.accept_invitation' : 'person.reset_password',
      subject: person.email,
    })
    return person
  })
}

function deadLink(): Refusal {
  return new Refusal(404, 'LINK_DEAD', 'This link has already been used or has expired. Ask for a new one.')
}

/** The console's address for people, without a trailing slash: its own, or a path of the gateway's address. */
export function consoleUrlOf({
  consoleUrl,
  publicUrl,
}: {
  consoleUrl?: string | undefined
  publicUrl: string
}): string {
  return `${consoleUrl ?? publicUrl}/console`
}

/**
 * The page on which an invited person chooses a password. The token is after `#`, which browsers do not send, so it never
 * reaches a server's log.
 */
export function welcomeLink(consoleUrl: string, token: string): string {
  return `${consoleUrl}/welcome#${token}`
}

/** The link printed by `npm start`, such as http://127.0.0.1:8080/console/local#kqZ… */
export function localSignInLink(consoleUrl: string, token: string): string {
  return `${consoleUrl}/local#${token}`
}
