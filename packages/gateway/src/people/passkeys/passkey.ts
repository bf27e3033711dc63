import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'

/** More than the devices and security keys of any one person. */
export const PASSKEYS_MAX = 20

export interface Passkey {
  passkeyId: string
  name: string
  createdAt: Date
  usedAt: Date | null
}

/** The data for verifying an authenticator's answer. */
export interface StoredCredential {
  passkeyId: string
  personId: string
  credentialId: Buffer
  publicKey: Buffer
  signCount: bigint
  transports: string[]
}

export function listPasskeys(db: Db | Tx, personId: string): Promise<Passkey[]> {
  return db.query<Passkey>(sql`
    select passkey_id, name, created_at, used_at from passkeys where person_id = ${personId} order by passkey_id`)
}

export function listCredentials(db: Db | Tx, personId: string): Promise<StoredCredential[]> {
  return db.query<StoredCredential>(sql`select ${columns} from passkeys where person_id = ${personId}`)
}

export async function findCredential(db: Db | Tx, credentialId: Buffer): Promise<StoredCredential | undefined> {
  const [found] = await db.query<StoredCredential>(sql`
    select ${columns} from passkeys where credential_id = ${credentialId}`)
  return found
}

/** Records a use. @returns false if another use has recorded this count or a higher one, or the passkey was removed */
export async function recordUse(tx: Tx, passkeyId: string, signCount: number): Promise<boolean> {
  const rows = await tx.query(sql`
    update passkeys set used_at = now(), sign_count = ${signCount}
    where passkey_id = ${passkeyId} and (sign_count < ${signCount} or (sign_count = 0 and ${signCount}::bigint = 0))
    returning 1`)
  return rows.length > 0
}

/** Inserts a passkey. @throws Refusal PASSKEY_KNOWN, also if it belongs to someone else */
export async function insertPasskey(
  tx: Tx,
  { passkeyId, personId, name, ...credential }: StoredCredential & { name: string },
): Promise<void> {
  const { credentialId, publicKey, signCount, transports } = credential
  const rows = await tx.query(sql`
    insert into passkeys (passkey_id, person_id, name, credential_id, public_key, sign_count, transports)
    values (${passkeyId}, ${personId}, ${name}, ${credentialId}, ${publicKey}, ${signCount}, ${transports}::text[])
    on conflict (credential_id) do nothing returning 1`)
  if (rows.length === 0)
    throw new Refusal(409, 'PASSKEY_KNOWN', 'This passkey is already registered. Use it to sign in.')
}

/** @returns false if the person has no such passkey */
export async function renamePasskey(tx: Tx, personId: string, passkeyId: string, name: string): Promise<boolean> {
  const rows = await tx.query(sql`
    update passkeys set name = ${name} where person_id = ${personId} and passkey_id = ${passkeyId} returning 1`)
  return rows.length > 0
}

/** @returns false if the person has no such passkey */
export async function deletePasskey(tx: Tx, personId: string, passkeyId: string): Promise<boolean> {
  const rows = await tx.query(sql`
    delete from passkeys where person_id = ${personId} and passkey_id = ${passkeyId} returning 1`)
  return rows.length > 0
}

export function deletePasskeys(tx: Tx, personId: string): void {
  tx.send(sql`delete from passkeys where person_id = ${personId}`)
}

const columns = sql`passkey_id, person_id, credential_id, public_key, sign_count, transports`
