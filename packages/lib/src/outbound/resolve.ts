import { promises as dns, Resolver } from 'node:dns'
import { promisify } from 'node:util'
import ipaddr from 'ipaddr.js'

/** Resolves a host name to addresses, IPv4 first. A literal resolves to itself. Rejects if there is no address. */
export type Resolve = (hostname: string, options: { allowPrivate: boolean }) => Promise<string[]>

/**
 * Resolves names. Names that dealers chose are resolved by the name server directly: getaddrinfo would use /etc/hosts and
 * search domains, and one slow name server could block all of its four threads. Names that the operator chose (private
 * addresses allowed) resolve as for any other program on this machine.
 */
export const systemResolve: Resolve = async (hostname, { allowPrivate }) => {
  if (allowPrivate) return (await dns.lookup(hostname, { all: true, order: 'ipv4first' })).map((found) => found.address)
  const resolver = new Resolver({ timeout: NAME_SERVER_TIMEOUT_MS, tries: 2 })
  const [four, six] = await Promise.allSettled([
    promisify(resolver.resolve4.bind(resolver) as ResolveAddresses)(hostname),
    promisify(resolver.resolve6.bind(resolver) as ResolveAddresses)(hostname),
  ])
  const addresses = [four, six].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length === 0) throw four.status === 'rejected' ? four.reason : new Error(`no address for ${hostname}`)
  return addresses
}

type ResolveAddresses = (name: string, callback: (error: Error | null, addresses: string[]) => void) => void

const NAME_SERVER_TIMEOUT_MS = 2_000

/**
 * Caches answers for one second, so that a burst of events to one endpoint resolves its name once. This is safe: every
 * request checks its address, and connects to the address that was checked.
 */
export interface CachedResolver {
  /** The cached answer, if any. */
  cached(host: string, allowPrivate: boolean): string[] | undefined
  resolve(host: string, allowPrivate: boolean): Promise<string[]>
}

export function createCachedResolver(resolve: Resolve, now: () => number): CachedResolver {
  const answers = new Map<string, { until: number; addresses: string[] }>()
  const pending = new Map<string, Promise<string[]>>()
  return {
    cached(host, allowPrivate) {
      const answer = answers.get(`${allowPrivate} ${host}`)
      return answer && answer.until > now() ? answer.addresses : undefined
    },
    resolve(host, allowPrivate) {
      const key = `${allowPrivate} ${host}`
      const current = pending.get(key)
      if (current) return current
      const addresses = resolve(host, { allowPrivate })
      pending.set(key, addresses)
      addresses
        .then((found) => {
          if (answers.size >= CACHED_MAX) answers.clear()
          if (found.length > 0) answers.set(key, { until: now() + CACHED_MS, addresses: found })
        })
        .catch(() => {}) // the callers handle it
        .finally(() => pending.delete(key))
      return addresses
    },
  }
}

const CACHED_MS = 1_000
const CACHED_MAX = 10_000

/**
 * Describes why the gateway must not connect to an address that a dealer chose; undefined if it may. Only globally routable
 * addresses are allowed: all ranges that ipaddr.js lists as special are refused, and all of IPv6 except 2000::/3, the only
 * block from which global unicast is assigned. Addresses that embed IPv4 (mapped, NAT64, 6to4, Teredo) are refused too.
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

/** Checks for an address of this machine or of a private network: 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7, link-local. */
export function isPrivate(address: string): boolean {
  return ipaddr.isValid(address) && PRIVATE.has(ipaddr.process(address).range())
}

const PRIVATE: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'])

/** Finds an address of a name that is not private; undefined if all are private or the name does not resolve. */
export async function findPublicAddress(host: string): Promise<string | undefined> {
  const addresses = await systemResolve(host, { allowPrivate: true }).catch(() => [])
  return addresses.find((address) => !isPrivate(address))
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
