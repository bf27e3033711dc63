import { hash } from 'node:crypto'
import type { Ids } from '@dealer-esim/lib/ids.ts'

/**
 * Creates the id of an attempt to send an event, which is also its RT-RequestID: a UUIDv7 whose last 40 bits prove that a
 * gateway with this key made an attempt in that quarter of a second. If a receiver posts a captured event to an API, the
 * event is recognised without a look-up.
 */
export function createAttemptId({ ids, linkKey }: { ids: Ids; linkKey: Buffer }): string {
  const id = ids.uuid()
  const time = id.slice(0, TIME_LENGTH)
  if (latest.time !== time || latest.linkKey !== linkKey) latest = { linkKey, time, proof: proofOf(linkKey, time) }
  return id.slice(0, PROOF_AT) + latest.proof
}

/** Calculated four times a second, however many attempts begin. */
let latest: { linkKey: Buffer | undefined; time: string; proof: string } = { linkKey: undefined, time: '', proof: '' }

/** True for the RequestID of an attempt to send an event. A dealer's own RequestID passes with a probability of 2^-40. */
export function isAttemptId(linkKey: Buffer, requestId: string): boolean {
  if (requestId[VERSION_AT] !== '7') return false
  const id = requestId.toLowerCase()
  return id.slice(PROOF_AT) === proofOf(linkKey, id.slice(0, TIME_LENGTH))
}

/** The length of the time's hexadecimal digits, including their hyphen but not the last 8 bits. */
const TIME_LENGTH = 11
const VERSION_AT = 14
/**
 * Ids from the same millisecond differ before this position: the low bits of their counter are in the two preceding digits.
 */
const PROOF_AT = 26
const PROOF_LENGTH = 10

/** A hash that begins with the key is enough, because the hashed text always has the same length. HMAC takes 5 µs more. */
function proofOf(linkKey: Buffer, time: string): string {
  return hash('sha256', `${linkKey.toString('hex')} event attempt ${time}`, 'hex').slice(0, PROOF_LENGTH)
}
