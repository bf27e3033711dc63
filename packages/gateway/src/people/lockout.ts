import sql from 'sql-template-tag'
import { createToken, readToken } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Person } from './person.ts'
import { normalEmail } from './person.ts'
import { hashToken } from './token.ts'

// Ten failures within a quarter of an hour close an address for a quarter of an hour. A guesser gets forty tries an
// hour; a person who forgot is never shut out for long. Counted for addresses that nobody has just the same, so that
// what an outsider sees never depends on who exists. Somebody who is signed in is counted apart: a stranger's guesses
// must not keep the owner from a reset of the secret that they may be after.
const FAILURES_MAX = 10
const WINDOW = '15 minutes'

/** What failures are counted under. */
export type LockKey = Buffer

/** For sign-ins from anywhere: anybody can feed it. */
export function addressKey(email: string): LockKey {
  return hashToken(normalEmail(email))
}

/** For sign-ins in a browser that somebody has signed in with before (known-browser.ts): that browser alone feeds it. */
export function browserKey(token: string): LockKey {
  return hashToken(`BROWSER ${token}`)
}

/** For whoever has a session of this person. Its capitals keep it apart: a normal address has none. */
export function personKey(personId: string): LockKey {
  return hashToken(`PERSON ${personId}`)
}

/** Whether tries under this key are refused for now. Ask before the password costs anything. */
export async function isLocked(db: Db, key: LockKey): Promise<boolean> {
  const rows = await db.query(sql`
    select 1 from sign_in_failures where email_hash = ${key} and locked_until > now()`)
  return rows.length > 0
}

/** Counts a failure in a statement of its own: it stands even though the sign-in is refused. */
export async function countFailure(db: Db, key: LockKey): Promise<{ lockedNow: boolean }> {
  const rows = await db.query<{ lockedNow: boolean }>(sql`
    insert into sign_in_failures as f (email_hash, failures, first_failed_at) values (${key}, 1, now())
    on conflict (email_hash) do update set
      failures = case when f.first_failed_at < now() - ${WINDOW}::interval then 1 else f.failures + 1 end,
      first_failed_at = case when f.first_failed_at < now() - ${WINDOW}::interval then now() else f.first_failed_at end,
      locked_until = case when f.first_failed_at >= now() - ${WINDOW}::interval and f.failures + 1 >= ${FAILURES_MAX}
                     then now() + ${WINDOW}::interval end
    returning f.failures >= ${FAILURES_MAX} and f.locked_until is not null as locked_now`)
  return rows[0] ?? { lockedNow: false }
}

export async function forgetFailures(db: Pick<Db, 'query'>, key: LockKey): Promise<void> {
  await db.query(sql`delete from sign_in_failures where email_hash = ${key}`)
}

/*
 * A browser in which somebody has signed in keeps a token that says so. It opens nothing: it only tells its guesses from
 * strangers', who could keep its owner out otherwise by ten wrong passwords every quarter of an hour. It is void after half
 * a year, after a change of password, and after a second factor is added or removed: earlier sign-ins no longer count.
 */

export const BROWSER_KNOWN_S = 180 * 24 * 3_600

const RANDOM_BYTES = 16
const TIME_BYTES = 8

type Subject = Pick<Person, 'personId' | 'passwordHash' | 'totpConfirmed'>

/** A token for the browser in which this person has just signed in. */
export function newKnownBrowser(linkKey: Buffer, ids: Pick<Ids, 'bytes'>, person: Subject, nowMs: number): string {
  const signedIn = Buffer.alloc(TIME_BYTES)
  signedIn.writeBigUInt64BE(BigInt(Math.round(nowMs)))
  return createToken(linkKey, purposeFor(person), Buffer.concat([ids.bytes(RANDOM_BYTES), signedIn]))
}

/** @param person undefined: nobody has the address that was given; it costs the same */
export function isKnownBrowser(linkKey: Buffer, token: string, person: Subject | undefined, nowMs: number): boolean {
  const opened = readToken(linkKey, purposeFor(person), token)
  if (person === undefined || opened?.length !== RANDOM_BYTES + TIME_BYTES) return false
  return nowMs - Number(opened.readBigUInt64BE(RANDOM_BYTES)) < BROWSER_KNOWN_S * 1_000
}

function purposeFor(person: Subject | undefined): string {
  return `known browser of ${person?.personId} ${person?.passwordHash} ${person?.totpConfirmed}`
}
