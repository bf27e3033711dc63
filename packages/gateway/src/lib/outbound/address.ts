import ipaddr from 'ipaddr.js'

/**
 * Why we must not connect to an address that a dealer chose; undefined if it is allowed. Only globally routable addresses
 * are: all ranges that ipaddr.js lists as special are refused, and all of IPv6 except 2000::/3, the only block from which
 * global unicast is assigned. Addresses that embed IPv4 (mapped, NAT64, 6to4, Teredo) are refused too.
 */
export function whyForbidden(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return 'it is not an address'
  const parsed = ipaddr.parse(address)
  const range = parsed.range()
  if (range !== 'unicast') return `it is ${DESCRIPTIONS[range] ?? `in a special range (${range})`}`
  if (parsed.kind() === 'ipv6' && !parsed.match(GLOBAL_UNICAST)) return 'it is not global unicast'
  if (METADATA.has(parsed.toString())) return "it is a cloud provider's metadata service"
  return undefined
}

const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

// Metadata services at public addresses; the others are link-local, CGNAT or unique local.
const METADATA = new Set(['168.63.129.16'])

const DESCRIPTIONS: Record<string, string | undefined> = {
  unspecified: 'the unspecified address or "this network"',
  broadcast: 'a broadcast address',
  multicast: 'a multicast address',
  linkLocal: 'link-local (metadata services live there)',
  loopback: 'a loopback address',
  carrierGradeNat: 'a carrier-grade NAT address',
  private: 'a private address',
  uniqueLocal: 'a private (unique local) address',
  ipv4Mapped: 'an IPv4-mapped IPv6 address',
  rfc6052: 'a NAT64 address',
  rfc6145: 'a translated IPv4 address',
  '6to4': 'a 6to4 address',
  teredo: 'a Teredo address',
  reserved: 'a reserved address',
}
