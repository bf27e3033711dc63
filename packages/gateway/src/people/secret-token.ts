import { createHash } from 'node:crypto'
import { createToken, readToken } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'

const TOKEN_BYTES = 32

/** Creates a token of 256 random bits. Only its hash is stored; a plain hash is enough for this many bits. */
export function createRandomToken(ids: Ids, prefix = ''): { token: string; hash: Buffer } {
  const token = prefix + ids.bytes(TOKEN_BYTES).toString('base64url')
  return { token, hash: hashToken(token) }
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

const RANDOM_BYTES = 32
const TIME_BYTES = 8

/** Creates a token that is not stored: its MAC proves that we issued it, its purpose, and the time. */
export function createTimedToken(linkKey: Buffer, ids: Pick<Ids, 'bytes'>, purpose: string, nowMs: number): string {
  const issuedAt = Buffer.alloc(TIME_BYTES)
  issuedAt.writeBigUInt64BE(BigInt(Math.round(nowMs)))
  return createToken(linkKey, purpose, Buffer.concat([ids.bytes(RANDOM_BYTES), issuedAt]))
}

/** @returns how long ago we issued the token for this purpose; undefined if we did not */
export function ageOfTimedTokenMs(linkKey: Buffer, purpose: string, token: string, nowMs: number): number | undefined {
  const content = readToken(linkKey, purpose, token)
  if (content === undefined || content.length < TIME_BYTES) return undefined
  return nowMs - Number(content.readBigUInt64BE(content.length - TIME_BYTES))
}
