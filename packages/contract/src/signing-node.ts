import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import {
  type EventHeaders,
  type EventParts,
  type EventVerdict,
  eventHead,
  eventHeaders,
  readEventHeaders,
} from './event-headers.ts'
import type { IncomingHeaders, RequestHeaders, SignedParts } from './request-headers.ts'
import type { Body } from './signing.ts'

/**
 * signing.ts and event-signing.ts on node:crypto, synchronous: admission verifies each request with this. Head and body
 * go into the hash one after the other, so the body is not copied.
 */

/** An AppSecret: its text, or a key made of its UTF-8 bytes, which saves a sixth of the time where it is kept. */
export type Secret = string | KeyObject

/** The value of X-Signature: 64 lower-case hex digits. */
export function signRequest(secret: Secret, parts: SignedParts, body: Body): string {
  return hmac(secret, parts.timestamp + parts.requestId + parts.appKey, body).toString('hex')
}

/**
 * The secret that the request is signed with, or undefined when it is none of them. Compares in constant time. The
 * caller has checked the form of the headers, and still has to check the clock.
 */
export function verifyRequest<S extends Secret>(
  secrets: readonly S[],
  headers: RequestHeaders,
  body: Body,
): S | undefined {
  const given = Buffer.from(headers.signature, 'hex')
  const head = headers.timestamp + headers.requestId + headers.appKey
  for (const secret of secrets) {
    if (secret !== '' && equal(hmac(secret, head, body), given)) return secret
  }
  return undefined
}

/** Signs an event with every secret that is valid: in a grace period a receiver may still know the old one only. */
export function signEvent(secrets: readonly Secret[], parts: EventParts, body: Body): EventHeaders {
  const head = eventHead(parts)
  return eventHeaders(
    parts,
    secrets.map((secret) => hmac(secret, head, body).toString('base64')),
  )
}

/** Verifies an event by its Standard Webhooks headers. `secrets` are AppSecrets as the console shows them. */
export function verifyEvent(
  secrets: readonly string[],
  incoming: IncomingHeaders,
  body: Body,
  now_s: number,
): EventVerdict {
  const read = readEventHeaders(incoming, now_s)
  if (typeof read === 'string') return { ok: false, reason: read }
  const head = eventHead(read.parts)
  for (const secret of secrets) {
    if (secret === '') continue
    const expected = Buffer.from(hmac(secret, head, body).toString('base64'))
    if (read.signatures.some((given) => equal(expected, Buffer.from(given)))) {
      return { ok: true, id: read.parts.id, secret }
    }
  }
  return { ok: false, reason: 'MISMATCH' }
}

function hmac(secret: Secret, head: string, body: Body): Buffer {
  return createHmac('sha256', secret).update(head).update(body).digest()
}

/** The lengths are no secret: every signature of a scheme has the same. */
function equal(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}
