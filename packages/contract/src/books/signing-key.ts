import { createPrivateKey, createPublicKey, hash, sign } from 'node:crypto'
import { signatureLine } from './signed-note.ts'

/** An Ed25519 key that signs notes, on node:crypto. */
export interface SigningKey {
  /** 32 bytes. */
  readonly publicKey: Buffer
  /** Returns the line that signs a note's text under a key name. */
  signatureOf(keyName: string, text: string): string
}

/** @param seed the private key: 32 random bytes (RFC 8032 §5.1.5) */
export function createSigningKey(seed: Buffer): SigningKey {
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_START, seed]), format: 'der', type: 'pkcs8' })
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' })
  const publicKey = Buffer.from(x!, 'base64url')
  return {
    publicKey,
    signatureOf(keyName, text) {
      const named = Buffer.concat([Buffer.from(`${keyName}\n\x01`), publicKey])
      const keyId = hash('sha256', named, 'buffer').subarray(0, 4).toString('base64')
      return signatureLine(keyName, keyId, sign(null, Buffer.from(text), privateKey))
    },
  }
}

/** What precedes the seed in the DER form of an Ed25519 key (RFC 8410 §7). */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex')
