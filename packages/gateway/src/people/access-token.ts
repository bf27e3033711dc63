import sql from 'sql-template-tag'
import type { Ids } from '../lib/ids.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { Refusal } from '../lib/refusal.ts'
import { hashToken, newToken } from './token.ts'

/** Recognisable in a log or a repository by whoever looks for leaked secrets. */
export const ACCESS_TOKEN_PREFIX = 'dep_'
const TOKENS_MAX = 20

/** READ: only what changes nothing. WRITE: whatever the person's role may do, but never accounts or secrets. */
export type AccessScope = 'READ' | 'WRITE'

export interface AccessTokenRow {
  tokenId: string
  name: string
  scope: AccessScope
  hint: string
  expiresAt: Date | null
  usedAt: Date | null
  createdAt: Date
}

/** Makes a personal access token; its text is shown this once. */
export async function makeAccessToken(
  tx: Tx,
  ids: Ids,
  personId: string,
  asked: { name: string; scope: AccessScope; days: number | null },
): Promise<{ tokenId: string; token: string }> {
  const held = await tx.query<{ count: bigint }>(sql`
    select count(*) as count from access_tokens where person_id = ${personId}`)
  if (Number(held[0]?.count ?? 0) >= TOKENS_MAX)
    throw new Refusal(422, 'TOO_MANY_TOKENS', `You have ${TOKENS_MAX} tokens. Delete one that is no longer used.`)
  const { token, hash } = newToken(ids, ACCESS_TOKEN_PREFIX)
  const tokenId = ids.uuid()
  tx.send(sql`
    insert into access_tokens (token_id, person_id, name, scope, token_hash, hint, expires_at)
    values (${tokenId}, ${personId}, ${asked.name}, ${asked.scope}, ${hash}, ${token.slice(-4)},
            now() + make_interval(days => ${asked.days}::integer))`)
  return { tokenId, token }
}

export async function accessTokenOf(
  db: Db,
  token: string,
): Promise<{ tokenId: string; personId: string; scope: AccessScope } | undefined> {
  const rows = await db.query<{ tokenId: string; personId: string; scope: AccessScope; stale: boolean }>(sql`
    select token_id, person_id, scope,
           used_at is null or used_at < now() - interval '1 minute' as stale
    from access_tokens where token_hash = ${hashToken(token)} and (expires_at is null or expires_at > now())`)
  const found = rows[0]
  if (found?.stale) await db.query(sql`update access_tokens set used_at = now() where token_id = ${found.tokenId}`)
  return found
}

export function accessTokensOf(db: Db, personId: string): Promise<AccessTokenRow[]> {
  return db.query<AccessTokenRow>(sql`
    select token_id, name, scope, hint, expires_at, used_at,
           created_at
    from access_tokens where person_id = ${personId} order by token_id desc`)
}

/** Deletes every token of a person. */
export function deleteAccessTokens(tx: Tx, personId: string): void {
  tx.send(sql`delete from access_tokens where person_id = ${personId}`)
}

/** @returns the name of the token that was, if it was the person's. */
export async function deleteAccessToken(tx: Tx, personId: string, tokenId: string): Promise<string | undefined> {
  const rows = await tx.query<{ name: string }>(sql`
    delete from access_tokens where person_id = ${personId} and token_id = ${tokenId} returning name`)
  return rows[0]?.name
}
