import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { normalEmail, type Person } from './person.ts'
import { ageOfTimedTokenMs, createTimedToken, hashToken } from './secret-token.ts'

// Ten failures within 15 minutes lock an address for 15 minutes. That allows 40 guesses an hour, and locks out a person
// who forgot the password only briefly. Unknown addresses are counted too, so that outsiders cannot find out who has an
// account. Failures of signed-in people are counted separately, so that a stranger's guesses cannot keep the owner from
// resetting a secret.
const FAILURES_MAX = 10
const WINDOW = '15 minutes'

/** The key that failures are counted under. */
export type LockKey = Buffer

/** For sign-ins from unknown browsers. Anybody can cause failures under it. */
export function addressKey(email: string): LockKey {
  return hashToken(normalEmail(email))
}

/** For sign-ins in a known browser (see below). Only that browser can cause failures under it. */
export function browserKey(token: string): LockKey {
  return hashToken(`BROWSER ${token}`)
}

/** For signed-in people. The capital letters distinguish it from an address: normalised addresses contain none. */
export function personKey(personId: string): LockKey {
  return hashToken(`PERSON ${personId}`)
}

/** Checked before a password is hashed, so that refused attempts cost nothing. */
export async function isLocked(db: Db, key: LockKey): Promise<boolean> {
  const rows = await db.query(sql`
    select 1 from sign_in_failures where email_hash = ${key} and locked_until > now()`)
  return rows.length > 0
}

/** Counts a failure in a separate transaction, so that it is counted even though the sign-in fails. */
export async function countFailure(db: Db, key: LockKey): Promise<{ lockedNow: boolean }> {
  const rows = await db.query<{ lockedNow: boolean }>(sql`
    insert into sign_in_failures as f (email_hash, failures, first_failed_at) values (${key}, 1, now())
    on conflict (email_hash) do update set
      failures = case when f.first_failed_at < now() - ${WINDOW}::interval then 1 else f.failures + 1 end,
      first_failed_at = case when f.first_failed_at < now() - ${WINDOW}::interval then now() else f.first_failed_at end,
      locked_until = case when f.first_failed_at >= now() - ${WINDOW}::interval and f.failures + 1 >= ${FAILURES_MAX}::bigint
                     then now() + ${WINDOW}::interval end
    returning f.failures >= ${FAILURES_MAX} and f.locked_until is not null as locked_now`)
  return rows[0] ?? { lockedNow: false }
}

export async function clearFailures(db: Pick<Db, 'query'>, key: LockKey): Promise<void> {
  await db.query(sql`delete from sign_in_failures where email_hash = ${key}`)
}

/**
 * A browser stores a token after a sign-in. The token grants nothing; it only separates the browser's failures from those
 * of strangers, who could otherwise lock its owner out with ten wrong passwords every 15 minutes. It expires after half a
 * year, when the password changes, and when a second factor is added or removed.
 */
export const BROWSER_KNOWN_S = 180 * 24 * 3_600

type Subject = Pick<Person, 'personId' | 'passwordHash' | 'totpConfirmed'>

/** Creates the token for the browser in which this person has just signed in. */
export function createBrowserToken(linkKey: Buffer, ids: Pick<Ids, 'bytes'>, person: Subject, nowMs: number): string {
  return createTimedToken(linkKey, ids, purposeFor(person), nowMs)
}

/** @param person undefined for an unknown address, which takes as long to check */
export function isKnownBrowser(linkKey: Buffer, token: string, person: Subject | undefined, nowMs: number): boolean {
  const ageMs = ageOfTimedTokenMs(linkKey, purposeFor(person), token, nowMs)
  return person !== undefined && ageMs !== undefined && ageMs < BROWSER_KNOWN_S * 1_000
}

function purposeFor(person: Subject | undefined): string {
  return `known browser of ${person?.personId} ${person?.passwordHash} ${person?.totpConfirmed}`
}
