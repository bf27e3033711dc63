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
 * signing.ts and event-signing.ts on node:crypto, synchronous: admission verifies each request with this.
 *
 * HMAC (RFC 2104) is spelt out as its two hashes. Node's one-shot hash makes no object of its own, and what depends on
 * the key alone is made once: 3 µs for a request, where createHmac took 8.
 */

/** An AppSecret: its text, or what prepareSecret made of it, where it is kept. */
export type Secret = string | PreparedSecret

/** The key in the shape of the two blocks that HMAC hashes first: before the text, and before what came of that. */
export interface PreparedSecret {
  readonly inner: Buffer
  /** With room behind it for what came of the text; each signature writes its own there. */
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
 * The secret that the request is signed with, or undefined when it is none of them. Compares in constant time. The
 * caller has checked the form of the headers, and still has to check the clock.
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

/** Signs an event with every secret that is valid: in a grace period a receiver may still know the old one only. */
export function signEvent(secrets: readonly Secret[], parts: EventParts, body: Body): EventHeaders {
  const head = eventHead(parts)
  return eventHeaders(
    parts,
    secrets.map((secret) => hmac(secret, head, body, 'base64')),
  )
}

/** Verifies an event by its Standard Webhooks headers. `secrets` are AppSecrets as the console shows them. */
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

/** Written over the one before, unless it is long: bytes of its own for each signature were a seventh of what it costs. */
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
/** Of one UTF-16 code unit. */
const UTF8_MAX_BYTES = 3

/** The lengths are no secret: every signature of a scheme has the same. */
function equal(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}
