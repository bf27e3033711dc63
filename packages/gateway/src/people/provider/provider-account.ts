import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { lockPerson } from '../person.ts'
import { endSessionsOfProvider } from '../session.ts'

/** Finds the person linked to an account at a provider, and records that the account was used. */
export async function findAccountPerson(tx: Tx, issuer: string, subject: string): Promise<string | undefined> {
  const [account] = await tx.query<{ personId: string }>(sql`
    update provider_accounts set used_at = now() where issuer = ${issuer} and subject = ${subject}
    returning person_id`)
  return account?.personId
}

/**
 * Permanently links an account to a person: the provider may later give the address to somebody else.
 * @throws Refusal PROVIDER_ACCOUNT_OTHER if the person has a different account there
 */
export async function linkAccount(tx: Tx, personId: string, issuer: string, subject: string): Promise<void> {
  const rows = await tx.query(sql`
    insert into provider_accounts (issuer, subject, person_id) values (${issuer}, ${subject}, ${personId})
    on conflict do nothing returning 1`)
  if (rows.length > 0) return
  // Another sign-in with the same account may have linked it since.
  if ((await findAccountPerson(tx, issuer, subject)) === personId) return
  const message =
    'This address now belongs to a different account at the provider. Ask an administrator to unlink the earlier one.'
  throw new Refusal(403, 'PROVIDER_ACCOUNT_OTHER', message)
}

/**
 * Unlinks a person's accounts, so that the next sign-in with a verified address links a new one. Ends the sessions that
 * began with a sign-in at the provider, because they may by now be somebody else's.
 * @returns the number of accounts
 * @throws Refusal NOT_FOUND
 */
export async function unlinkProvider(tx: Tx, ids: Ids, personId: string, by: By): Promise<number> {
  // A sign-in also locks the account before the person.
  await tx.query(sql`select from provider_accounts where person_id = ${personId} order by issuer, subject for update`)
  const person = await lockPerson(tx, personId)
  if (!person) throw notFound('person')
  const rows = await tx.query(sql`delete from provider_accounts where person_id = ${personId} returning 1`)
  endSessionsOfProvider(tx, personId)
  const { tenantId, email: subject } = person
  audit(tx, ids, { tenantId, ...by, action: 'person.unlink_provider', subject, after: { unlinked: rows.length } })
  return rows.length
}
