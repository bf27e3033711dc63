import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import { firstUuidAt, type Ids, timeOfUuid } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { audit, NIL_TENANT } from '#platform/audit/audit.ts'
import { findPersonByEmail, lockPerson, type Person } from './person.ts'
import { createLink } from './personal-link.ts'
import { isPasswordOff, type PasswordConfig } from './provider/provider-passwords.ts'

/** Anybody can request a link for any address. This is few enough not to flood a mailbox, and enough if an e-mail is lost. */
const LINKS_PER_HOUR_MAX = 3
const HOUR_MS = 3_600_000

export interface ForgottenPasswordDeps {
  db: Db
  ids: Ids
  databaseClock: Pick<DatabaseClock, 'now'>
  config: PasswordConfig
}

/**
 * Creates a link for a person who forgot their password and passes it to `send`, in one transaction. Does nothing for an
 * unknown address, for people who are disabled, have no password or must use the provider, or beyond the limit. Callers
 * must not learn any of that, so there is no result.
 */
export async function requestForgottenPassword(
  deps: ForgottenPasswordDeps,
  input: { email: string; address: string },
  send: (tx: Tx, person: Person, linkToken: string) => void,
): Promise<void> {
  const claimed = await findPersonByEmail(deps.db, input.email)
  await deps.db.tx(async (tx) => {
    const person = claimed && (await lockPerson(tx, claimed.personId))
    const isEligible = person?.status === 'ACTIVE' && person.passwordHash !== null
    if (!isEligible || isPasswordOff(deps.config, person.email, person, deps.databaseClock.now())) return
    if ((await countLinks(tx, deps.ids, person)) >= LINKS_PER_HOUR_MAX) return
    const by = { actor: 'visitor', address: input.address } as const
    const { tenantId, email: subject } = person
    audit(tx, deps.ids, { tenantId, ...by, action: 'person.forget_password', subject })
    send(tx, person, createLink(tx, deps.ids, person.personId, 'FORGOTTEN_PASSWORD', by))
  })
}

/** Counts links in the audit log, so that used and expired links are included. The caller has locked the person. */
async function countLinks(tx: Tx, ids: Ids, { tenantId, email }: Person): Promise<number> {
  const rows = await tx.query(sql`
    select 1 from audit_log
    where tenant_id = ${tenantId ?? NIL_TENANT} and audit_id >= ${firstUuidAt(timeOfUuid(ids.uuid()) - HOUR_MS)}
      and action = 'person.forget_password' and subject = ${email}
    limit ${LINKS_PER_HOUR_MAX}`)
  return rows.length
}
