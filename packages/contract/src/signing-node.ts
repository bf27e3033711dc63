import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RequestHeaders, SignedParts } from './request-headers.ts'
import type { Body } from './signing.ts'

/** The value of X-Signature: 64 lower-case hex digits. The parts go into the hash one by one: nothing is copied. */
export function signRequest(secret: string, parts: SignedParts, body: Body): string {
  return hmac(secret, parts.timestamp + parts.requestId + parts.appKey, body).toString('hex')
}

/**
 * The secret that the request is signed with, or undefined when it is none of them. Compares in constant time. The
 * caller has checked the form of the headers, and still has to check the clock.
 */
export function verifyRequest(secrets: readonly string[], headers: RequestHeaders, body: Body): string | undefined {
  const given = Buffer.from(headers.signature, 'hex')
  const head = headers.timestamp + headers.requestId + headers.appKey
  for (const secret of secrets) {
    if (secret !== '' && equal(hmac(secret, head, body), given)) return secret
  }
  return undefined
}

function hmac(secret: string, head: string, body: Body): Buffer {
  return createHmac('sha256', secret).update(head).update(body).digest()
}

/** The lengths are no secret: every signature of this scheme has 32 bytes. */
function equal(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}
