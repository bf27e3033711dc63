import sql from 'sql-template-tag'
import { audit, type By, byPerson } from '../audit/audit.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { Refusal } from '../lib/refusal.ts'
import { deleteAccessTokens } from './access-token.ts'
import { addressKey, forgetFailures } from './lockout.ts'
import { checkPasswordRules, hashPassword } from './password.ts'
import { lockPerson, type Person, personById } from './person.ts'
import { endSessions } from './session.ts'
import { hashToken, newToken } from './token.ts'

export type LinkKind = 'INVITATION' | 'PASSWORD_RESET'

/** An invitation waits over a weekend and a week's leave; a reset is asked for when it is needed. */
const LIFE: Record<LinkKind, string> = { INVITATION: '7 days', PASSWORD_RESET: '24 hours' }

/** Makes a link's token; links of the person that were made before stop working. */
export function makeLink(tx: Tx, ids: Ids, personId: string, kind: LinkKind, by: By): string {
  const { token, hash } = newToken(ids)
  deleteLinks(tx, personId)
  tx.send(sql`
    insert into person_links (token_hash, person_id, kind, expires_at, created_by)
    values (${hash}, ${personId}, ${kind}, now() + ${LIFE[kind]}::interval, ${by.actor})`)
  return token
}

/** Makes every link of a person void. */
export function deleteLinks(tx: Tx, personId: string): void {
  tx.send(sql`delete from person_links where person_id = ${personId}`)
}

/** Whom a link is for: shown before the password is asked for. */
export async function readLink(db: Db, token: string): Promise<{ person: Person; kind: LinkKind }> {
  const rows = await db.query<{ personId: string; kind: LinkKind }>(sql`
    select person_id, kind from person_links
    where token_hash = ${hashToken(token)} and used_at is null and expires_at > now()`)
  const link = rows[0]
  const person = link && (await personById(db, link.personId))
  if (!link || person?.status !== 'ACTIVE') throw linkDead()
  return { person, kind: link.kind }
}

/**
 * Sets the password by a link, once, and ends every session and access token that the person had: whoever needs a link
 * may have lost more than the memory of a password. A second factor stays. An address that a stranger's guesses have
 * closed is open again.
 */
export async function setPasswordByLink(
  deps: { db: Db; ids: Ids },
  given: { token: string; password: string; name?: string | undefined; address: string },
): Promise<Person> {
  const { person, kind } = await readLink(deps.db, given.token)
  checkPasswordRules(given.password, person)
  const passwordHash = await hashPassword(given.password)
  return deps.db.tx(async (tx) => {
    // The person first, as everywhere: whoever makes a new link at this moment waits, or has made this one void.
    if ((await lockPerson(tx, person.personId))?.status !== 'ACTIVE') throw linkDead()
    const used = await tx.query(sql`
      update person_links set used_at = now()
      where token_hash = ${hashToken(given.token)} and used_at is null and expires_at > now() returning 1`)
    if (used.length === 0) throw linkDead()
    tx.send(sql`
      update people set password_hash = ${passwordHash}, password_change_required = false, updated_at = now(),
        name = coalesce(${given.name ?? null}, name)
      where person_id = ${person.personId}`)
    endSessions(tx, person.personId, null)
    deleteAccessTokens(tx, person.personId)
    await forgetFailures(tx, addressKey(person.email))
    audit(tx, deps.ids, {
      tenantId: person.tenantId,
      ...byPerson(person, given.address),
      action: kind === 'INVITATION' ? 'person.accept_invitation' : 'person.reset_password',
      subject: person.email,
    })
    return person
  })
}

function linkDead(): Refusal {
  return new Refusal(404, 'LINK_DEAD', 'This link is used up or too old. Ask for a new one.')
}

/** Where people reach the console, without a slash at its end: an address of its own, or the gateway's. */
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
 * Where an invited person chooses a password. The token stands after `#`: browsers do not send that part, so it never
 * reaches a server's log.
 */
export function welcomeLink(consoleUrl: string, token: string): string {
  return `${consoleUrl}/welcome#${token}`
}
