import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { hashToken } from '../secret-token.ts'

const RECOVERY_CODES = 10
const RECOVERY_CODE_BYTES = 8

/**
 * Creates recovery codes with a person's first second factor, an authenticator or a passkey. They are never shown again.
 * Returns none if the person already has codes.
 */
export async function ensureRecoveryCodes(tx: Tx, ids: Ids, personId: string): Promise<string[]> {
  const existing = await tx.query(sql`select 1 from recovery_codes where person_id = ${personId} limit 1`)
  if (existing.length > 0) return []
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    ids.bytes(RECOVERY_CODE_BYTES).toString('hex').toUpperCase(),
  )
  const hashes = codes.map((code) => hashToken(code))
  tx.send(sql`insert into recovery_codes (person_id, code_hash) select ${personId}, unnest(${hashes}::bytea[])`)
  return codes.map((code) => code.match(/.{4}/g)?.join('-') ?? code)
}

/** `used`: the code was correct, but has already been redeemed. */
export type Redeemed = 'accepted' | 'wrong' | 'used'

/** @param plain without separators, in capitals */
export async function redeemRecoveryCode(tx: Tx, personId: string, plain: string): Promise<Redeemed> {
  const [code] = await tx.query<{ usedNow: boolean }>(sql`
    with code as (
      select code_hash, used_at from recovery_codes where person_id = ${personId} and code_hash = ${hashToken(plain)}
      for update),
    used as (
      update recovery_codes r set used_at = now() from code
      where r.person_id = ${personId} and r.code_hash = code.code_hash and code.used_at is null)
    select used_at is null as used_now from code`)
  if (code === undefined) return 'wrong'
  return code.usedNow ? 'accepted' : 'used'
}

/** Deletes the codes of a person who no longer has a second factor, which the codes only replace. */
export function deleteRecoveryCodes(tx: Tx, personId: string): void {
  tx.send(sql`delete from recovery_codes where person_id = ${personId}`)
}
