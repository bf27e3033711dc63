import { createToken, readToken } from '../lib/crypto.ts'
import type { ChallengeDeps } from './challenge.ts'
import type { Person } from './person.ts'

/** As long as a form is open after its person was confirmed. */
const LIFETIME_MS = 5 * 60_000
const RANDOM_BYTES = 16
const TIME_BYTES = 8

type Subject = Pick<Person, 'personId' | 'passwordHash'>

/**
 * Confirms for a few minutes who a signed-in person is, in place of the password and the code: after a passkey, or after
 * another sign-in at the provider. The page keeps it in memory, so a stolen cookie does not contain it. A change of the
 * password ends it.
 */
export function createConfirmation({ ids, databaseClock, linkKey }: ChallengeDeps, person: Subject): string {
  const confirmedAt = Buffer.alloc(TIME_BYTES)
  confirmedAt.writeBigUInt64BE(BigInt(Math.round(databaseClock.now())))
  return createToken(linkKey, purposeFor(person), Buffer.concat([ids.bytes(RANDOM_BYTES), confirmedAt]))
}

export function isConfirmation(
  { databaseClock, linkKey }: Pick<ChallengeDeps, 'databaseClock' | 'linkKey'>,
  person: Subject,
  confirmation: string,
): boolean {
  const content = readToken(linkKey, purposeFor(person), confirmation)
  if (content?.length !== RANDOM_BYTES + TIME_BYTES) return false
  return databaseClock.now() - Number(content.readBigUInt64BE(RANDOM_BYTES)) < LIFETIME_MS
}

function purposeFor({ personId, passwordHash }: Subject): string {
  return `confirmation of ${personId} ${passwordHash}`
}
