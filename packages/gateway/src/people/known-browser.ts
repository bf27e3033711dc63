import type { Ids } from '../lib/ids.ts'
import { openToken, sealToken } from '../lib/sealed-token.ts'

/*
 * A browser in which somebody has signed in keeps a token that says so. It opens nothing: it only tells its guesses from
 * strangers', who could keep its owner out otherwise by ten wrong passwords every quarter of an hour.
 */

const RANDOM_BYTES = 16
const PURPOSE = 'known browser'

/** A token for the browser in which this person has signed in. */
export function newKnownBrowser(linkKey: Buffer, ids: Pick<Ids, 'bytes'>, personId: string): string {
  return sealToken(linkKey, PURPOSE, Buffer.concat([ids.bytes(RANDOM_BYTES), Buffer.from(personId)]))
}

export function isKnownBrowser(linkKey: Buffer, token: string, personId: string): boolean {
  return openToken(linkKey, PURPOSE, token)?.subarray(RANDOM_BYTES).toString() === personId
}
