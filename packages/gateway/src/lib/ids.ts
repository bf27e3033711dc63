import { randomBytes, randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

/** Sources of identity and chance. Tests bring their own. */
export interface Ids {
  /** A UUIDv7: ids sort by the time they were made at. */
  uuid(): string
  bytes(length: number): Buffer
}

const POOL_BYTES = 4096
const UUID_BYTES = 16

/** A clock that goes back by more than this was set: ids follow it. By less, it was slewed, or read a little anew. */
const SET_BACK_MS = 10_000

export const systemIds: Ids = createIds(() => Date.now())

/**
 * Ids whose time is this clock's. A gateway's are made by the database's clock: their time says in which partition a row
 * lies, what it is listed under, and when an eSIM's days began.
 */
export function createIds(now: () => number): Ids {
  return { uuid: createUuidSource(now), bytes: (length) => randomBytes(length) }
}

/**
 * UUIDv7 by the library, from randomness drawn 4 KB at a time: 0.34 µs an id. By the library's v7() alone, which draws
 * randomness for each id: 2.4 µs.
 */
function createUuidSource(clock: () => number): () => string {
  const pool = new Uint8Array(POOL_BYTES)
  let used = POOL_BYTES
  const parts = { random: pool, msecs: 0, seq: 0 }
  return () => {
    if (used === POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    parts.random = pool.subarray(used, used + UUID_BYTES)
    used += UUID_BYTES
    // Ids of one millisecond count up from a random number; on overflow they borrow from the next millisecond.
    const now = clock()
    const isNewTime = now > parts.msecs || now < parts.msecs - SET_BACK_MS
    parts.seq = isNewTime ? randomSeq(parts.random) : (parts.seq + 1) >>> 0
    if (isNewTime) parts.msecs = now
    else if (parts.seq === 0) parts.msecs++
    return v7(parts)
  }
}

function randomSeq(random: Uint8Array): number {
  return (random[6]! << 23) | (random[7]! << 15) | (random[8]! << 7) | (random[9]! >>> 1)
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Where a walk over ids in their order begins. */
export const LOWEST_UUID = '00000000-0000-0000-0000-000000000000'

/** The character code of a UUID's hyphen. */
export const HYPHEN = 0x2d

/** Owns what concerns no tenant (audit entries and notices of the deployment). */
export const NIL_TENANT = '00000000-0000-0000-0000-000000000000'

/** The smallest UUIDv7 of a moment (ms): a bound for ranges of ids by time. */
export function firstUuidAt(timeMs: number): string {
  const hex = Math.max(0, Math.floor(timeMs)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/** The moment (ms) that a UUIDv7 was made at. */
export function timeOfUuid(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CROCKFORD_DIGITS = Buffer.from(CROCKFORD)
/** The value of a hexadecimal digit, by its character's code. */
export const HEX_VALUES = Uint8Array.from(
  { length: 128 },
  (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0,
)
const orderNoCharacters = Buffer.alloc(26)

/** orderNo on the wire: the order's id in 26 characters that can be read over a telephone and sort by time. */
export function orderNoOf(orderId: string): string {
  let held = 0
  let bits = 2 // 128 bits are 26 times five but for two in front
  let at = 0
  for (let index = 0; index < orderId.length; index++) {
    const code = orderId.charCodeAt(index)
    if (code === HYPHEN) continue
    held = ((held << 4) | HEX_VALUES[code]!) & 0xff
    bits += 4
    if (bits < 5) continue
    bits -= 5
    orderNoCharacters[at++] = CROCKFORD_DIGITS[(held >> bits) & 31]!
  }
  return orderNoCharacters.toString('latin1')
}

/** The id behind an orderNo; undefined where the text cannot be one. */
export function orderIdOf(orderNo: string): string | undefined {
  if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(orderNo)) return undefined
  let value = 0n
  for (const character of orderNo) value = (value << 5n) | BigInt(CROCKFORD.indexOf(character))
  const hex = value.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
