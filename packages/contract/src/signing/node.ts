import { type BinaryToTextEncoding, hash, timingSafeEqual } from 'node:crypto'
import {
  type EventHeaders,
  type EventParts,
  type EventVerdict,
  eventHead,
  eventHeaders,
  readEventHeaders,
} from './event-signing.ts'
import type { IncomingHeaders, RequestHeaders, SignedParts } from './request-headers.ts'
import type { Body } from './request-signing.ts'

/**
 * The functions of request-signing.ts and event-signing.ts on node:crypto, synchronous. Admission verifies each request
 * with them. HMAC (RFC 2104) is written as its two hashes: Node's one-shot hash allocates no object, and the blocks that
 * depend only on the key are computed once. A request takes 3 µs instead of the 8 µs of createHmac.
 */

/** An AppSecret: its text, or the result of prepareSecret where it is cached. */
export type Secret = string | PreparedSecret

/** The key as the two blocks that HMAC hashes first: before the text, and before the inner hash. */
export interface PreparedSecret {
  readonly inner: Buffer
  /** Followed by space for the inner hash, which each signature overwrites. */
  readonly outer: Buffer
}

export function prepareSecret(secret: string): PreparedSecret {
  const bytes = Buffer.from(secret)
  const key = bytes.length > BLOCK_BYTES ? hash('sha256', bytes, 'buffer') : bytes
  const inner = Buffer.alloc(BLOCK_BYTES, 0x36)
  const outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, 0x5c)
  for (const [i, byte] of key.entries()) {
    inner[i]! ^= byte
    outer[i]! ^= byte
  }
  return { inner, outer }
}

const BLOCK_BYTES = 64
const HASH_BYTES = 32

/** The value of X-Signature: 64 lower-case hex digits. */
export function signRequest(secret: Secret, parts: SignedParts, body: Body): string {
  return hmac(secret, parts.timestamp + parts.requestId + parts.appKey, body, 'hex')
}

/**
 * Returns the secret that the request is signed with, or undefined if no secret matches. Compares in constant time. The
 * caller must first check the form of the headers and the clock.
 */
export function verifyRequest<S extends Secret>(
  secrets: readonly S[],
  headers: RequestHeaders,
  body: Body,
): S | undefined {
  const given = Buffer.from(headers.signature, 'hex')
  for (const secret of secrets) {
    if (secret && equal(Buffer.from(signRequest(secret, headers, body), 'hex'), given)) return secret
  }
  return undefined
}

/** Signs an event with every valid secret: during a grace period, a receiver may still have only the old one. */
export function signEvent(secrets: readonly Secret[], parts: EventParts, body: Body): EventHeaders {
  const head = eventHead(parts)
  return eventHeaders(
    parts,
    secrets.map((secret) => hmac(secret, head, body, 'base64')),
  )
}

/** Verifies an event by its Standard Webhooks headers. `secrets` are AppSecrets as shown in the console. */
export function verifyEvent(
  secrets: readonly string[],
  incoming: IncomingHeaders,
  body: Body,
  nowS: number,
): EventVerdict {
  const read = readEventHeaders(incoming, nowS)
  if (typeof read === 'string') return { ok: false, reason: read }
  const head = eventHead(read.parts)
  for (const secret of secrets) {
    if (!secret) continue
    const expected = Buffer.from(hmac(secret, head, body, 'base64'))
    if (read.signatures.some((given) => equal(expected, Buffer.from(given)))) {
      return { ok: true, id: read.parts.id, secret }
    }
  }
  return { ok: false, reason: 'MISMATCH' }
}

function hmac(secret: Secret, head: string, body: Body, encoding: BinaryToTextEncoding): string {
  const key = typeof secret === 'string' ? prepareSecret(secret) : secret
  key.outer.write(hash('sha256', innerText(key, head, body), 'binary'), BLOCK_BYTES, 'latin1')
  return hash('sha256', key.outer, encoding)
}

/** Reuses one buffer unless the text is long: allocating one per signature took a seventh of the time. */
function innerText({ inner }: PreparedSecret, head: string, body: Body): Buffer {
  const neededBytes =
    BLOCK_BYTES + UTF8_MAX_BYTES * head.length + (typeof body === 'string' ? UTF8_MAX_BYTES : 1) * body.length
  const text = neededBytes <= scratch.length ? scratch : Buffer.allocUnsafe(neededBytes)
  text.set(inner)
  let end = BLOCK_BYTES + text.write(head, BLOCK_BYTES)
  if (typeof body === 'string') end += text.write(body, end)
  else {
    text.set(body, end)
    end += body.length
  }
  return text.subarray(0, end)
}

const scratch = Buffer.alloc(16 * 1024)
/** Bytes for one UTF-16 code unit. */
const UTF8_MAX_BYTES = 3

/** The lengths are not secret: all signatures of a scheme have the same length. */
function equal(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}
