import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

export type Block = [network: IPv4 | IPv6, bits: number]

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
