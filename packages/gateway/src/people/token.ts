import { createHash } from 'node:crypto'
import type { Ids } from '../lib/ids.ts'

const TOKEN_BYTES = 32

/** Creates a token of 256 random bits. Only its hash is stored; a plain hash is enough for so many bits. */
export function createRandomToken(ids: Ids, prefix = ''): { token: string; hash: Buffer } {
  const token = prefix + ids.bytes(TOKEN_BYTES).toString('base64url')
  return { token, hash: hashToken(token) }
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
