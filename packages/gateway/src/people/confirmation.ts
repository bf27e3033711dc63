import type { ChallengeDeps } from './challenge.ts'
import type { Person } from './person.ts'
import { ageOfTimedTokenMs, createTimedToken } from './secret-token.ts'

/** As long as a form is open after its person was confirmed. */
const LIFETIME_MS = 5 * 60_000

type Subject = Pick<Person, 'personId' | 'passwordHash'>

/**
 * Confirms for a few minutes who a signed-in person is, in place of the password and the code: after a passkey, or after
 * another sign-in at the provider. The page keeps it in memory, so a stolen cookie does not contain it. A change of the
 * password ends it.
 */
export function createConfirmation({ ids, databaseClock, linkKey }: ChallengeDeps, person: Subject): string {
  return createTimedToken(linkKey, ids, purposeFor(person), databaseClock.now())
}

export function isConfirmation(
  { databaseClock, linkKey }: Pick<ChallengeDeps, 'databaseClock' | 'linkKey'>,
  person: Subject,
  confirmation: string,
): boolean {
  const ageMs = ageOfTimedTokenMs(linkKey, purposeFor(person), confirmation, databaseClock.now())
  return ageMs !== undefined && ageMs < LIFETIME_MS
}

function purposeFor({ personId, passwordHash }: Subject): string {
  return `confirmation of ${personId} ${passwordHash}`
}
