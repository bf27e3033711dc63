import { createHmac, timingSafeEqual } from 'node:crypto'

/*
 * A text that we recognise as ours without having stored it:
 *
 *   base64url( bytes | HMAC-SHA256(key, purpose | newline | bytes) cut to 16 bytes )
 *
 * 128 bits of it cannot be guessed without the key. What is sealed for one purpose opens for no other.
 */

const TAG_BYTES = 16

export function sealToken(key: Buffer, purpose: string, bytes: Buffer): string {
  return Buffer.concat([bytes, tagOf(key, purpose, bytes)]).toString('base64url')
}

/** @returns undefined for a token that we did not make */
export function openToken(key: Buffer, purpose: string, token: string): Buffer | undefined {
  const sealed = Buffer.from(token, 'base64url')
  // Base64 ignores what is none of it: only the very text that we gave out passes.
  if (sealed.length <= TAG_BYTES || sealed.toString('base64url') !== token) return undefined
  const bytes = sealed.subarray(0, -TAG_BYTES)
  return timingSafeEqual(sealed.subarray(-TAG_BYTES), tagOf(key, purpose, bytes)) ? bytes : undefined
}

function tagOf(key: Buffer, purpose: string, bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(`${purpose}\n`).update(bytes).digest().subarray(0, TAG_BYTES)
}
