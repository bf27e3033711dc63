import type { ChallengeDeps } from './challenge.ts'
import type { Person } from './person.ts'
import { ageOfTimedTokenMs, createTimedToken } from './secret-token.ts'

/** As long as a form stays open after the person was confirmed. */
const LIFETIME_MS = 5 * 60_000

type Subject = Pick<Person, 'personId' | 'passwordHash' | 'totpConfirmed' | 'totpSecret' | 'hasPasskey'>

/**
 * Proves for a few minutes that a signed-in person has confirmed their identity: with the password and the code, a passkey,
 * or another sign-in at the provider. The page keeps it in memory, so stealing the cookie does not suffice. It is valid for
 * one session, and ends with the session or when the password or the second factor is changed.
 */
export function createConfirmation(
  { ids, databaseClock, linkKey }: ChallengeDeps,
  person: Subject,
  sessionId: string,
): string {
  return createTimedToken(linkKey, ids, purposeFor(person, sessionId), databaseClock.now())
}

export function isConfirmation(
  { databaseClock, linkKey }: Pick<ChallengeDeps, 'databaseClock' | 'linkKey'>,
  person: Subject,
  sessionId: string,
  confirmation: string,
): boolean {
  const ageMs = ageOfTimedTokenMs(linkKey, purposeFor(person, sessionId), confirmation, databaseClock.now())
  return ageMs !== undefined && ageMs < LIFETIME_MS
}

function purposeFor(
  { personId, passwordHash, totpConfirmed, totpSecret, hasPasskey }: Subject,
  sessionId: string,
): string {
  const authenticator = totpConfirmed ? totpSecret?.toString('base64') : 'none'
  return `confirmation of ${personId} in ${sessionId}: ${passwordHash} ${authenticator} ${hasPasskey}`
}
