import type { RequestHeaders, SignedParts } from './request-headers.ts'

/**
 * Signing of requests on Web Crypto, for every runtime. `@dealer-esim/contract/node` has the same functions,
 * synchronous and faster, on node:crypto; one test holds both to the same vectors.
 *
 *     X-Signature = hex( HMAC-SHA256( AppSecret, RT-Timestamp + RT-RequestID + RT-AccessCode + rawBody ) )
 *
 * The key is the UTF-8 bytes of the AppSecret's text: the secret is not decoded. The path is not signed; why that is
 * enough is written in docs/decisions/0010-request-signature.md.
 */

/** Bytes as they go over the wire; a string stands for its UTF-8 bytes. */
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
 * The secret that the request is signed with, or undefined when it is none of them. Several secrets are valid at once
 * in the grace period of a reset. Compares in constant time. The caller has checked the form of the headers, and still
 * has to check the clock.
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

/** Both as one run of bytes. */
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

/** The key that a secret is. TextEncoder would make "null" of null: a key that everybody knows. */
export function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  if (typeof secret !== 'string') throw new TypeError('a secret must be a text')
  return utf8(secret)
}

/** The UTF-8 bytes of a text. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

/** Compares without telling by the time it takes how much is equal. The lengths are no secret. */
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
