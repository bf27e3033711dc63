import { parseBlock } from '../lib/address-blocks.ts'
import { allows } from './allowlist.ts'
import type { Tenant } from './tenant.ts'

type Conditions = Pick<Tenant, 'currencyCode' | 'ipAllowlist' | 'dailySpendLimit'>

/** An office or a server's network, so that a neighbour at the same provider is not let in. */
const BITS_MIN = { ipv4: 24, ipv6: 64 }

/**
 * Describes why requests without a signature cannot be accepted from a dealer, whatever the switch says: anyone who knows the
 * AppKey could spend from any listed address, so there must be few of them, and a limit.
 * @returns undefined if all conditions hold
 */
export function unsignedFault({ currencyCode, ipAllowlist, dailySpendLimit }: Conditions): string | undefined {
  if (currencyCode !== 'USD') {
    return `The compatible API is in USD, and the dealer’s wallet is in ${currencyCode}: its programs use the dealer API.`
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
