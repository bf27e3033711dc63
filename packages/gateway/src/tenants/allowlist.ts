import { type Block, isInBlocks, parseBlock, parseExactAddress, unmapAddress } from '@dealer-esim/lib/address-blocks.ts'
import { shortList } from '@dealer-esim/lib/refusal.ts'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import type { Tenant } from './tenant.ts'

/** Enough for a dealer's offices and servers. */
export const ALLOWLIST_ENTRIES_MAX = 200

export type ParsedAllowlist = { entries: string[] } | { fault: string }

/**
 * Parses addresses and CIDR blocks, IPv4 and IPv6, into their stored form: lower case, shortened, blocks by their first
 * address, a block of one address as that address, IPv4-mapped addresses as IPv4, without duplicates. Rejects ambiguous
 * spellings (`010.0.0.1`, `127.1`, `0x7f.1`, a zone, `::203.0.113.7`).
 */
export function parseAllowlist(texts: readonly string[]): ParsedAllowlist {
  const entries = new Set<string>()
  const malformed: string[] = []
  for (const text of texts) {
    const entry = canonicalEntry(text.trim())
    if (entry === undefined) malformed.push(`“${text.slice(0, 60)}”`)
    else entries.add(entry)
  }
  if (malformed.length > 0) return { fault: describeMalformed(malformed) }
  if (entries.size > ALLOWLIST_ENTRIES_MAX) {
    return {
      fault: `${entries.size} entries are too many; the limit is ${ALLOWLIST_ENTRIES_MAX}. List blocks instead of addresses.`,
    }
  }
  return { entries: [...entries] }
}

/** If there are more malformed entries, the text is probably not an allowlist at all, so a few examples are enough. */
const MALFORMED_SHOWN_MAX = 5

function describeMalformed(malformed: readonly string[]): string {
  const shown = shortList(malformed, MALFORMED_SHOWN_MAX)
  const problem =
    malformed.length === 1
      ? `${shown} is neither an address nor a CIDR block. Write it`
      : `${shown} are neither addresses nor CIDR blocks. Write them`
  return `${problem} like 203.0.113.7, 203.0.113.0/24, 2001:db8::7 or 2001:db8::/32.`
}

/** True if the address is in the allowlist (given in its stored form), or if the allowlist is empty. */
export function allows(allowlist: readonly string[], address: string): boolean {
  return allowlist.length === 0 || isInBlocks(address, blocksOf(allowlist))
}

/** Allowlists are parsed once per array, because admission keeps a tenant's settings in memory. */
const parsed = new WeakMap<readonly string[], Block[]>()

function blocksOf(allowlist: readonly string[]): Block[] {
  const known = parsed.get(allowlist)
  if (known) return known
  const blocks = allowlist.map(parseBlock)
  parsed.set(allowlist, blocks)
  return blocks
}

const IPV4_BITS = 32
const IPV6_BITS = 128
/** ::ffff:0:0/96 contains all IPv4 addresses. */
const MAPPED_BITS = 96

function canonicalEntry(text: string): string | undefined {
  const [addressText = '', bitsText, ...rest] = text.split('/')
  const address = parseExactAddress(addressText)
  if (!address || rest.length > 0) return undefined
  if (bitsText === undefined) return unmapAddress(address).toString()
  const bitsMax = address.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS
  const bits = /^(0|[1-9]\d{0,2})$/.test(bitsText) ? Number(bitsText) : Number.NaN
  if (!(bits <= bitsMax)) return undefined
  const unmapped = unmapAddress(address)
  if (unmapped === address) return blockText(address, bits)
  // A block of mapped addresses wider than all of IPv4 would only appear to allow IPv4 callers.
  return bits < MAPPED_BITS ? undefined : blockText(unmapped, bits - MAPPED_BITS)
}

function blockText(address: IPv4 | IPv6, bits: number): string {
  if (address.kind() === 'ipv4') {
    return bits === IPV4_BITS
      ? address.toString()
      : `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`
  }
  return bits === IPV6_BITS ? address.toString() : `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`
}

type Conditions = Pick<Tenant, 'currencyCode' | 'ipAllowlist' | 'dailySpendLimit'>

/** The size of an office's or a server's network. A wider block would admit others at the same provider. */
const BITS_MIN = { ipv4: 24, ipv6: 64 }

/**
 * Explains why requests without a signature cannot be accepted from a dealer, even if the switch is on. Anyone who knows
 * the AppKey could spend money from any listed address, so there must be few addresses, and a spend limit.
 * @returns undefined if all conditions are met
 */
export function unsignedFault({ currencyCode, ipAllowlist, dailySpendLimit }: Conditions): string | undefined {
  if (currencyCode !== 'USD') {
    return `The RT API is in USD, and the dealer’s wallet is in ${currencyCode}: its programs use the dealer API.`
  }
  if (ipAllowlist.length === 0) {
    return 'Requests without a signature need an IP allowlist. Add the addresses of the dealer’s servers.'
  }
  const wide = ipAllowlist.find(isWide)
  if (wide !== undefined) {
    return `Requests without a signature need an IP allowlist without blocks wider than /24 or /64, and ${wide} is wider.`
  }
  if (dailySpendLimit === null) return 'Requests without a signature need a daily spend limit. Set one.'
  return undefined
}

function isWide(entry: string): boolean {
  const [network, bits] = parseBlock(entry)
  return bits < BITS_MIN[network.kind()]
}

/** Decides whether requests without a signature are accepted from this address. */
export function acceptsUnsigned(tenant: Tenant, address: string): boolean {
  return tenant.unsignedRequests && unsignedFault(tenant) === undefined && allows(tenant.ipAllowlist, address)
}
