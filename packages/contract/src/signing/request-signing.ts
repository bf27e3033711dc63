import type { RequestHeaders, SignedParts } from './request-headers.ts'

/**
 * Signs requests with Web Crypto, for every runtime. `@dealer-esim/contract/node` has the same functions on
 * node:crypto, synchronous and faster; one test checks both against the same vectors.
 *
 *     X-Signature = hex( HMAC-SHA256( AppSecret, RT-Timestamp + RT-RequestID + RT-AccessCode + rawBody ) )
 *
 * The key is the UTF-8 bytes of the AppSecret's text: the secret is not decoded. The path is not signed;
 * docs/decisions/0007-signatures.md explains why that is enough.
 */

/** The bytes of a body as sent; a string stands for its UTF-8 bytes. */
export type Body = Uint8Array | string

/** The signed bytes. */
export function stringToSign(parts: SignedParts, body: Body): Uint8Array<ArrayBuffer> {
  return concatenate(parts.timestamp + parts.requestId + parts.appKey, body)
}

/** The value of X-Signature: 64 lower-case hex digits. */
export async function signRequest(secret: string, parts: SignedParts, body: Body): Promise<string> {
  return toHex(await hmac(keyOf(secret), stringToSign(parts, body)))
}

/**
 * Returns the secret that the request is signed with, or undefined if no secret matches. During the grace period of a reset
 * two secrets are valid. Compares in constant time. The caller must first check the form of the headers and the clock.
 */
export async function verifyRequest(
  secrets: readonly string[],
  headers: RequestHeaders,
  body: Body,
): Promise<string | undefined> {
  const bytes = stringToSign(headers, body)
  const given = headers.signature.toLowerCase()
  let found: string | undefined
  for (const secret of secrets) {
    if (secret && equalText(toHex(await hmac(keyOf(secret), bytes)), given)) found ??= secret
  }
  return found
}

export function concatenate(head: Body, body: Body): Uint8Array<ArrayBuffer> {
  const start = typeof head === 'string' ? encoder.encode(head) : head
  const end = typeof body === 'string' ? encoder.encode(body) : body
  const bytes = new Uint8Array(start.length + end.length)
  bytes.set(start)
  bytes.set(end, start.length)
  return bytes
}

/** HMAC-SHA256. */
export async function hmac(key: Uint8Array<ArrayBuffer>, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, bytes))
}

/** The HMAC key of a secret. TextEncoder would turn null into "null", a key that anybody can guess. */
export function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  if (typeof secret !== 'string') throw new TypeError('A secret must be a string.')
  return utf8(secret)
}

/** The UTF-8 bytes of a text. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

/** Compares in constant time. The lengths are not secret. */
export function equalText(left: string, right: string): boolean {
  let difference = left.length ^ right.length
  for (let i = 0; i < left.length; i++) difference |= left.charCodeAt(i) ^ right.charCodeAt(i)
  return difference === 0
}

const encoder = new TextEncoder()

export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return hex
}
