import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

export type Block = [network: IPv4 | IPv6, bits: number]

/**
 * Parses four decimal parts without leading zeros, or IPv6 without a zone. Rejects spellings that programs interpret
 * differently: `010.0.0.1`, `127.1`, `0x7f.1`, and the deprecated IPv4-compatible form `::203.0.113.7`.
 */
export function parseExactAddress(text: string): IPv4 | IPv6 | undefined {
  if (!text.includes(':'))
    return ipaddr.IPv4.isValidFourPartDecimal(text) && !LEADING_ZERO.test(text) ? ipaddr.IPv4.parse(text) : undefined
  const isOdd = text.includes('%') || COMPATIBLE.test(text)
  return !isOdd && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined
}

const LEADING_ZERO = /(^|\.)0\d/
const COMPATIBLE = /^::\d+\./

/** Converts `::ffff:a.b.c.d` to `a.b.c.d`. */
export function unmapAddress(address: IPv4 | IPv6): IPv4 | IPv6 {
  return address.kind() === 'ipv6' && (address as IPv6).isIPv4MappedAddress()
    ? (address as IPv6).toIPv4Address()
    : address
}

export function isAddressOrBlock(text: string): boolean {
  return text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text)
}

/** Parses `10.0.0.0/8`, or a single address as its own block. @throws if the text is neither */
export function parseBlock(text: string): Block {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/**
 * True if the address is in one of the blocks. An IPv4-mapped address (`::ffff:a.b.c.d`) counts as IPv4. A text that is not
 * an address is in no block.
 */
export function isInBlocks(address: string, blocks: readonly Block[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const caller = ipaddr.process(address)
  return blocks.some(([network, bits]) => network.kind() === caller.kind() && caller.match(network, bits))
}

/**
 * The unit by which callers are counted: an IPv4 address, or the /64 of an IPv6 address, because one caller has a whole /64.
 * Hand-written, because it runs on every request of a flood: ipaddr.js takes four times as long.
 * @param address in canonical spelling, IPv4 never mapped into IPv6
 */
export function networkKey(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail = ''] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const behind = tail === '' ? [] : tail.split(':')
  while (groups.length + behind.length < 8) groups.push('0') // the groups that `::` omits
  return [...groups, ...behind]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
