import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { ageOfTimedTokenMs, createTimedToken, hashToken } from './secret-token.ts'

/*
 * A challenge for a passkey to sign or a provider to return. Its MAC proves that we issued it, so nothing is stored when it
 * is issued, and anonymous visitors of the sign-in page cause no writes. Its purpose binds it to what it was issued for: a
 * sign-in in one browser, or a person and a session. Redeeming it stores its hash, so it works only once.
 */

export interface ChallengeDeps {
  ids: Pick<Ids, 'bytes'>
  databaseClock: Pick<DatabaseClock, 'now'>
  linkKey: Buffer
}

/** Enough time to find a security key, or to sign in at a provider with a second factor. */
const LIFETIME_MS = 10 * 60_000

export function createChallenge({ ids, databaseClock, linkKey }: ChallengeDeps, purpose: string): string {
  return createTimedToken(linkKey, ids, `challenge ${purpose}`, databaseClock.now())
}

export function isChallenge({ databaseClock, linkKey }: ChallengeDeps, purpose: string, challenge: string): boolean {
  const ageMs = ageOfTimedTokenMs(linkKey, `challenge ${purpose}`, challenge, databaseClock.now())
  return ageMs !== undefined && ageMs < LIFETIME_MS
}

/** Redeems a challenge in the transaction of the action that it authorises. @throws Refusal CHALLENGE_DEAD the second time */
export async function spendChallenge(tx: Tx, challenge: string): Promise<void> {
  const rows = await tx.query(sql`
    insert into spent_challenges (challenge_hash, expires_at)
    values (${hashToken(challenge)}, now() + ${LIFETIME_MS} * interval '1 millisecond')
    on conflict do nothing returning 1`)
  if (rows.length === 0) throw deadChallenge()
}

export function deadChallenge(): Refusal {
  return new Refusal(422, 'CHALLENGE_DEAD', 'This attempt took too long, or has already been used. Start again.')
}
