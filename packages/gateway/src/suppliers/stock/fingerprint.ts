import { createHmac } from 'node:crypto'

/** Of an activation code, to find it again by. Keyed, so that a matching id that is short cannot be found by trying. */
export function fingerprint(linkKey: Buffer, smdpAddress: string, matchingId: string): string {
  return createHmac('sha256', linkKey).update(`stock\n${smdpAddress.toLowerCase()}\n${matchingId}`).digest('hex')
}
