import { promises as dns, Resolver } from 'node:dns'
import { promisify } from 'node:util'

/** Turns a host name into addresses, IPv4 first. Literals are their own address. Rejects when there is none. */
export type Resolve = (hostname: string, options: { allowPrivate: boolean }) => Promise<string[]>

/**
 * Names that strangers chose are asked of the name server directly: getaddrinfo would read /etc/hosts and search
 * domains, and its four threads could all be held up by one slow name server. Names of the operator's own choice
 * (private ones allowed) resolve as for any other program of this machine.
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
 * Remembers an answer for as long as a burst lasts: a thousand events to one endpoint ask once. No hole: an address is
 * checked after it was resolved, and the connection goes to the address that was checked, however old the answer.
 */
export interface CachedResolver {
  /** Without waiting: an answer of a moment ago. */
  cached(host: string, allowPrivate: boolean): string[] | undefined
  resolve(host: string, allowPrivate: boolean): Promise<string[]>
}

export function createCachedResolver(resolve: Resolve, now: () => number): CachedResolver {
  const answers = new Map<string, { until: number; addresses: string[] }>()
  const asked = new Map<string, Promise<string[]>>()
  return {
    cached(host, allowPrivate) {
      const answer = answers.get(`${allowPrivate} ${host}`)
      return answer && answer.until > now() ? answer.addresses : undefined
    },
    resolve(host, allowPrivate) {
      const key = `${allowPrivate} ${host}`
      const underWay = asked.get(key)
      if (underWay) return underWay
      const addresses = resolve(host, { allowPrivate })
      asked.set(key, addresses)
      addresses
        .then((found) => {
          if (answers.size >= REMEMBERED_MAX) answers.clear()
          if (found.length > 0) answers.set(key, { until: now() + REMEMBERED_MS, addresses: found })
        })
        .catch(() => {}) // told to whoever asked
        .finally(() => asked.delete(key))
      return addresses
    },
  }
}

const REMEMBERED_MS = 1_000
const REMEMBERED_MAX = 10_000
