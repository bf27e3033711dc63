import { hash } from 'node:crypto'
import type { Ids } from '../lib/ids.ts'

/**
 * Creates the id of an attempt to send an event, which is also its RT-RequestID: a UUIDv7 whose last 40 bits prove that a
 * gateway with this key made an attempt in that quarter of a second. A receiver that posts a captured event to an API is
 * recognised without a look-up.
 */
export function createAttemptId({ ids, linkKey }: { ids: Ids; linkKey: Buffer }): string {
  const id = ids.uuid()
  const time = id.slice(0, TIME_LENGTH)
  if (latest.time !== time || latest.linkKey !== linkKey) latest = { linkKey, time, proof: proofOf(linkKey, time) }
  return id.slice(0, PROOF_AT) + latest.proof
}

/** Calculated four times a second, however many attempts begin. */
let latest: { linkKey: Buffer | undefined; time: string; proof: string } = { linkKey: undefined, time: '', proof: '' }

/** True for the RequestID of an attempt to send an event. A dealer's own is mistaken for one with a chance of 2^-40. */
export function isAttemptId(linkKey: Buffer, requestId: string): boolean {
  if (requestId[VERSION_AT] !== '7') return false
  const id = requestId.toLowerCase()
  return id.slice(PROOF_AT) === proofOf(linkKey, id.slice(0, TIME_LENGTH))
}

/** The milliseconds since 1970, with their hyphen, but for the last 8 bits. */
const TIME_LENGTH = 11
const VERSION_AT = 14
/** What makes ids of one millisecond different ends here: the last bits of their count are in the two digits before. */
const PROOF_AT = 26
const PROOF_LENGTH = 10

/** The text has one length, so a hash that begins with the key proves it. HMAC takes 5 µs more. */
function proofOf(linkKey: Buffer, time: string): string {
  return hash('sha256', `${linkKey.toString('hex')} event attempt ${time}`, 'hex').slice(0, PROOF_LENGTH)
}
