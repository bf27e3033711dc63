import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

export type Block = [network: IPv4 | IPv6, bits: number]

/**
 * Four decimal parts without leading zeros, or IPv6 without a zone. Spellings that readers take differently are none:
 * `010.0.0.1`, `127.1`, `0x7f.1`, and `::203.0.113.7`, which was once IPv4 and is not any more.
 */
export function parseExactAddress(text: string): IPv4 | IPv6 | undefined {
  if (!text.includes(':'))
    return ipaddr.IPv4.isValidFourPartDecimal(text) && !LEADING_ZERO.test(text) ? ipaddr.IPv4.parse(text) : undefined
  const isOdd = text.includes('%') || COMPATIBLE.test(text)
  return !isOdd && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined
}

const LEADING_ZERO = /(^|\.)0\d/
const COMPATIBLE = /^::\d+\./

/** `::ffff:a.b.c.d` is `a.b.c.d`. */
export function unmapAddress(address: IPv4 | IPv6): IPv4 | IPv6 {
  return address.kind() === 'ipv6' && (address as IPv6).isIPv4MappedAddress()
    ? (address as IPv6).toIPv4Address()
    : address
}

/** `10.0.0.0/8`, or one address, which is a block of its own. @throws for what is neither */
export function parseBlock(text: string): Block {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** An IPv4 address that is written as IPv6 (`::ffff:a.b.c.d`) counts as what it is. What is no address is in no block. */
export function isInBlocks(address: string, blocks: readonly Block[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const caller = ipaddr.process(address)
  return blocks.some(([network, bits]) => network.kind() === caller.kind() && caller.match(network, bits))
}

/**
 * Whom to count as one: an IPv4 address alone; of an IPv6 address the /64, which one caller owns whole. By hand, because
 * floods are counted by it: ipaddr.js takes four times as long.
 * @param address as callers are read (http/caller.ts): its canonical spelling, IPv4 never as IPv6
 */
export function networkKey(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail = ''] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const behind = tail === '' ? [] : tail.split(':')
  while (groups.length + behind.length < 8) groups.push('0') // what :: stands for
  return [...groups, ...behind]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
