import { createToken, readToken } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Person } from './person.ts'

/*
 * A browser in which somebody has signed in keeps a token that says so. It opens nothing: it only tells its guesses from
 * strangers', who could keep its owner out otherwise by ten wrong passwords every quarter of an hour. It is void after half
 * a year, for another password, and where a second factor has come or gone: whoever signed in before is a stranger then.
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
