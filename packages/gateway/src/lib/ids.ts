import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'

/** Sources of identity and chance. Tests bring their own. */
export interface Ids {
  /** A UUIDv7: ids sort by the time they were made at. */
  uuid(): string
  bytes(length: number): Buffer
}

export const systemIds: Ids = { uuid: () => v7(), bytes: (length) => randomBytes(length) }

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

/** orderNo on the wire: the order's id in 26 characters that can be read over a telephone and sort by time. */
export function orderNoOf(orderId: string): string {
  let rest = BigInt(`0x${orderId.replaceAll('-', '')}`)
  let text = ''
  for (let digit = 0; digit < 26; digit++) {
    text = CROCKFORD[Number(rest & 31n)] + text
    rest >>= 5n
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
