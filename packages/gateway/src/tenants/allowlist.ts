import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'
import { type Block, isInBlocks, parseBlock, parseExactAddress, unmapAddress } from '../lib/address-blocks.ts'

/** Entries that one tenant may list: offices and servers, not customers. */
export const ALLOWLIST_ENTRIES_MAX = 200

export type ParsedAllowlist = { entries: string[] } | { fault: string }

/**
 * Addresses and CIDR blocks, IPv4 and IPv6, in the one spelling that is stored: lower-case, shortened, blocks by their
 * first address, a block of one address as the address, IPv4-mapped ones as IPv4, each once.
 * Spellings that readers take differently (`010.0.0.1`, `127.1`, `0x7f.1`, a zone, `::203.0.113.7`) are refused.
 */
export function parseAllowlist(texts: readonly string[]): ParsedAllowlist {
  const entries = new Set<string>()
  for (const text of texts) {
    const entry = canonical(text.trim())
    if (entry === undefined) {
      return {
        fault: `“${text.slice(0, 60)}” is neither an address nor a CIDR block. Write it like 203.0.113.7, 203.0.113.0/24, 2001:db8::7 or 2001:db8::/32.`,
      }
    }
    entries.add(entry)
  }
  if (entries.size > ALLOWLIST_ENTRIES_MAX) {
    return {
      fault: `${entries.size} entries are too many: the most is ${ALLOWLIST_ENTRIES_MAX}. List blocks, not addresses.`,
    }
  }
  return { entries: [...entries] }
}

/** Whether the allowlist (as stored) lets an address call. An empty one lets any. */
export function allows(allowlist: readonly string[], address: string): boolean {
  return allowlist.length === 0 || isInBlocks(address, blocksOf(allowlist))
}

/** Parsed once for as long as the same array is asked about: admission keeps a tenant's settings in memory. */
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
/** ::ffff:0:0/96 holds all of IPv4. */
const MAPPED_BITS = 96

function canonical(text: string): string | undefined {
  const [addressText = '', bitsText, ...rest] = text.split('/')
  const address = parseExactAddress(addressText)
  if (!address || rest.length > 0) return undefined
  if (bitsText === undefined) return unmapAddress(address).toString()
  const most = address.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS
  const bits = /^(0|[1-9]\d{0,2})$/.test(bitsText) ? Number(bitsText) : Number.NaN
  if (!(bits <= most)) return undefined
  const folded = unmapAddress(address)
  // A block of mapped addresses wider than all of IPv4 would only seem to let IPv4 callers in.
  if (folded !== address && bits < MAPPED_BITS) return undefined
  const kept = folded === address ? bits : bits - MAPPED_BITS
  return blockText(folded, kept)
}

function blockText(address: IPv4 | IPv6, bits: number): string {
  if (address.kind() === 'ipv4') {
    return bits === IPV4_BITS
      ? address.toString()
      : `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`
  }
  return bits === IPV6_BITS ? address.toString() : `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`
}
