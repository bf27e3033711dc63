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

export const systemIds: Ids = idsBy(() => Date.now())

/**
 * Ids whose time is this clock's. A gateway's are made by the database's clock: their time says in which partition a row
 * lies, what it is listed under, and when an eSIM's days began.
 */
export function idsBy(now: () => number): Ids {
  return { uuid: uuidSource(now), bytes: (length) => randomBytes(length) }
}

/** Fresh randomness for each id, drawn from the system by the page: one by one took 4 µs, of each order twice. */
function uuidSource(clock: () => number): () => string {
  const pool = Buffer.alloc(POOL_BYTES)
  let used = POOL_BYTES
  let msecs = 0
  let seq = 0
  return () => {
    if (used === POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    const random = pool.subarray(used, used + UUID_BYTES)
    used += UUID_BYTES
    // Ids of one millisecond count up from a random number; should that overflow, they borrow from the next one.
    const now = clock()
    const follows = now > msecs || now < msecs - SET_BACK_MS
    seq = follows ? random.readUInt32BE(6) >>> 1 : (seq + 1) >>> 0
    msecs = follows ? now : seq === 0 ? msecs + 1 : msecs
    return v7({ random, msecs, seq })
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Where a walk over ids in their order begins. */
export const LOWEST_UUID = '00000000-0000-0000-0000-000000000000'

/** Owns what concerns no tenant (audit entries and notices of the deployment). */
export const NIL_TENANT = '00000000-0000-0000-0000-000000000000'

/** The smallest UUIDv7 of a moment (ms): a bound for ranges of ids by time. */
export function firstUuidAt(time_ms: number): string {
  const hex = Math.max(0, Math.floor(time_ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/** The moment (ms) that a UUIDv7 was made at. */
export function timeOfUuid(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** Two digits for each ten bits. */
const PAIRS = Array.from(CROCKFORD, (first) => Array.from(CROCKFORD, (second) => first + second)).flat()

/** orderNo on the wire: the order's id in 26 characters that can be read over a telephone and sort by time. */
export function orderNoOf(orderId: string): string {
  const hex = orderId.replaceAll('-', '')
  let text = PAIRS[Number.parseInt(hex.slice(0, 2), 16)] as string
  // 20 bits are five digits of the one and four of the other.
  for (let at = 2; at < 32; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16)
    text += (PAIRS[bits >> 10] as string) + PAIRS[bits & 1023]
  }
  return text
}

/** The id behind an orderNo; undefined where the text cannot be one. */
export function orderIdOf(orderNo: string): string | undefined {
  if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(orderNo)) return undefined
  let value = 0n
  for (const character of orderNo) value = (value << 5n) | BigInt(CROCKFORD.indexOf(character))
  const hex = value.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
