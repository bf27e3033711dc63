import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { createRandomToken, hashToken } from '../secret-token.ts'

/** Allows secret scanners to recognise a leaked token. */
export const ACCESS_TOKEN_PREFIX = 'dep_'
const TOKENS_MAX = 20

/** READ allows reading only. WRITE allows what the person's role allows, except for accounts and secrets. */
export type AccessScope = 'READ' | 'WRITE'

export interface AccessToken {
  tokenId: string
  name: string
  scope: AccessScope
  hint: string
  expiresAt: Date | null
  usedAt: Date | null
  createdAt: Date
}

/** Creates a personal access token. Its text is returned only this once. */
export async function createAccessToken(
  tx: Tx,
  ids: Ids,
  personId: string,
  input: { name: string; scope: AccessScope; days: number | null },
): Promise<{ tokenId: string; token: string }> {
  const [existing] = await tx.query<{ count: bigint }>(sql`
    select count(*) as count from access_tokens where person_id = ${personId}`)
  if ((existing?.count ?? 0n) >= TOKENS_MAX)
    throw new Refusal(
      422,
      'TOO_MANY_TOKENS',
      `You have ${TOKENS_MAX} tokens, the maximum. Delete one that you no longer use.`,
    )
  const { token, hash } = createRandomToken(ids, ACCESS_TOKEN_PREFIX)
  const tokenId = ids.uuid()
  tx.send(sql`
    insert into access_tokens (token_id, person_id, name, scope, token_hash, hint, expires_at)
    values (${tokenId}, ${personId}, ${input.name}, ${input.scope}, ${hash}, ${token.slice(-4)},
            now() + make_interval(days => ${input.days}::integer))`)
  return { tokenId, token }
}

/** Finds a token that has not expired, and records that it was used, at most once a minute. */
export async function findAccessToken(
  db: Db,
  token: string,
): Promise<{ tokenId: string; personId: string; scope: AccessScope } | undefined> {
  const [found] = await db.query<{ tokenId: string; personId: string; scope: AccessScope; stale: boolean }>(sql`
    select token_id, person_id, scope,
           used_at is null or used_at < now() - interval '1 minute' as stale
    from access_tokens where token_hash = ${hashToken(token)} and (expires_at is null or expires_at > now())`)
  if (found?.stale) await db.query(sql`update access_tokens set used_at = now() where token_id = ${found.tokenId}`)
  return found
}

export function listAccessTokens(db: Db, personId: string): Promise<AccessToken[]> {
  return db.query<AccessToken>(sql`
    select token_id, name, scope, hint, expires_at, used_at, created_at
    from access_tokens where person_id = ${personId} order by token_id desc`)
}

/** @returns how many of them had not expired */
export async function deleteAccessTokens(tx: Tx, personId: string): Promise<number> {
  const rows = await tx.query<{ isValid: boolean }>(sql`
    delete from access_tokens where person_id = ${personId} returning coalesce(expires_at > now(), true) as is_valid`)
  return rows.filter(({ isValid }) => isValid).length
}

/** @returns false if the person has no such token */
export async function deleteAccessToken(tx: Tx, personId: string, tokenId: string): Promise<boolean> {
  const rows = await tx.query(sql`
    delete from access_tokens where person_id = ${personId} and token_id = ${tokenId} returning 1`)
  return rows.length > 0
}
