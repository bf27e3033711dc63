import { hash } from 'node:crypto'
import type { Ids } from '../lib/ids.ts'

/**
 * Creates the id of an attempt to send an event, which is also its RT-RequestID: a UUIDv7 whose last 48 bits prove that a
 * gateway with this key made it. A receiver that posts a captured event to an API is recognised without a look-up.
 */
export function createAttemptId({ ids, linkKey }: { ids: Ids; linkKey: Buffer }): string {
  const head = ids.uuid().slice(0, HEAD_LENGTH)
  return head + proofOf(linkKey, head)
}

/** True for a RequestID that was an attempt to send an event; one of a dealer is with a chance of 2^-48. */
export function isAttemptId(linkKey: Buffer, requestId: string): boolean {
  if (requestId[VERSION_AT] !== '7') return false
  const id = requestId.toLowerCase()
  return id.slice(HEAD_LENGTH) === proofOf(linkKey, id.slice(0, HEAD_LENGTH))
}

/** Everything but the last group of digits. */
const HEAD_LENGTH = 24
const VERSION_AT = 14

const PROOF_LENGTH = 12

/** The text has one length, so a hash that begins with the key proves it. HMAC takes 5 µs more of each attempt. */
function proofOf(linkKey: Buffer, head: string): string {
  return hash('sha256', `${linkKey.toString('hex')} event attempt ${head}`, 'hex').slice(0, PROOF_LENGTH)
}
