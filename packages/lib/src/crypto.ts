import { createCipheriv, createDecipheriv, createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { randomBytes } from './ids.ts'

/** Encrypts secrets before they are stored. The master keys never enter the database. */
export interface Cipher {
  /** AES-256-GCM under the current key, bound to `owner` (an id): moved to another owner, a ciphertext fails to decrypt. */
  encrypt(plain: string | Buffer, owner: string): Buffer
  /** @throws DecryptionFailed for another owner, an unknown key or a changed byte */
  decrypt(ciphertext: Buffer, owner: string): Buffer
  /** Fingerprint of the current key. A database remembers it and refuses other keys. */
  readonly fingerprint: string
  /** The id of the current key, as ciphertexts carry it. A rotation rewrites ciphertexts with other ids. */
  readonly keyId: Buffer
  /** Ids of all keys in hexadecimal; the first key encrypts. */
  readonly keyIds: readonly string[]
  /** The id of the key with this fingerprint, if it is configured. */
  keyIdOf(fingerprint: string): string | undefined
}

export class DecryptionFailed extends Error {
  override readonly name = 'DecryptionFailed'
}

// Layout: version (1) | key id (4) | nonce (12) | tag (16) | ciphertext
const VERSION = 1
const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES

/** The first key encrypts; the others still decrypt (during a rotation). Keys are 32 bytes. */
export function createCipher(keys: readonly [Buffer, ...Buffer[]]): Cipher {
  const byId = new Map(keys.map((key) => [keyId(key).toString('hex'), key]))
  const current = keys[0]
  const currentId = keyId(current)
  return {
    fingerprint: fingerprintOf(current),
    keyId: currentId,
    keyIds: [...byId.keys()],
    keyIdOf: (fingerprint) => [...byId].find(([, key]) => fingerprintOf(key) === fingerprint)?.[0],
    encrypt(plain, owner) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', current, nonce)
      cipher.setAAD(Buffer.from(owner))
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), currentId, nonce, cipher.getAuthTag(), sealed])
    },
    decrypt(ciphertext, owner) {
      if (ciphertext.length < HEADER_BYTES || ciphertext[0] !== VERSION)
        throw new DecryptionFailed('not a ciphertext of this gateway')
      const key = byId.get(ciphertext.subarray(1, 1 + KEY_ID_BYTES).toString('hex'))
      if (!key) throw new DecryptionFailed('encrypted with a master key that is not configured')
      const nonceEnd = 1 + KEY_ID_BYTES + NONCE_BYTES
      const decipher = createDecipheriv('aes-256-gcm', key, ciphertext.subarray(1 + KEY_ID_BYTES, nonceEnd))
      decipher.setAAD(Buffer.from(owner))
      decipher.setAuthTag(ciphertext.subarray(nonceEnd, HEADER_BYTES))
      try {
        return Buffer.concat([decipher.update(ciphertext.subarray(HEADER_BYTES)), decipher.final()])
      } catch (cause) {
        throw new DecryptionFailed('the ciphertext was changed, or belongs to another owner', { cause })
      }
    },
  }
}

function fingerprintOf(key: Buffer): string {
  return createHash('sha256').update('master-key-fingerprint').update(key).digest('hex').slice(0, 32)
}

function keyId(key: Buffer): Buffer {
  return createHash('sha256').update('master-key-id').update(key).digest().subarray(0, KEY_ID_BYTES)
}

/*
 * A token that we recognise as ours without storing it:
 *
 *   base64url( bytes | HMAC-SHA256(key, purpose | newline | bytes) cut to 16 bytes )
 *
 * Its 128-bit MAC cannot be guessed without the key. A token made for one purpose is invalid for any other.
 */

const MAC_BYTES = 16

export function createToken(key: Buffer, purpose: string, bytes: Buffer): string {
  return Buffer.concat([bytes, tagOf(key, purpose, bytes)]).toString('base64url')
}

/** The token's bytes; undefined if the token is not ours. */
export function readToken(key: Buffer, purpose: string, token: string): Buffer | undefined {
  const sealed = Buffer.from(token, 'base64url')
  // Decoding ignores invalid characters: accept only the exact text that we issued.
  if (sealed.length <= MAC_BYTES || sealed.toString('base64url') !== token) return undefined
  const bytes = sealed.subarray(0, -MAC_BYTES)
  return timingSafeEqual(sealed.subarray(-MAC_BYTES), tagOf(key, purpose, bytes)) ? bytes : undefined
}

function tagOf(key: Buffer, purpose: string, bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(`${purpose}\n`).update(bytes).digest().subarray(0, MAC_BYTES)
}
