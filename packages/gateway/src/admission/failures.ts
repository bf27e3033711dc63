import { ApiError } from '../lib/api-error.ts'
import type { Clock } from '../lib/clock.ts'

/** Failed authentications per address, before they cost a database call. Successful requests never count. */
export interface FailureLimit {
  /** @throws ApiError 101007 while the address has failed too often. */
  check(address: string): void
  count(address: string): void
}

const BURST = 30
const REGAINED_PER_S = 0.5
/** Addresses remembered at most; the one longest without a failure is forgotten first. */
const MOST_ADDRESSES = 20_000

export function failureLimit(clock: Clock): FailureLimit {
  const buckets = new Map<string, { tokens: number; at: number }>()

  function bucketOf(network: string) {
    const bucket = buckets.get(network)
    const at = clock.monotonic()
    if (!bucket) return { tokens: BURST, at }
    return { tokens: Math.min(BURST, bucket.tokens + ((at - bucket.at) / 1000) * REGAINED_PER_S), at }
  }

  return {
    check(address) {
      const { tokens } = bucketOf(networkOf(address))
      if (tokens >= 1) return
      const wait_s = String(Math.ceil((1 - tokens) / REGAINED_PER_S))
      throw new ApiError('101007', {
        message: 'Too many failed authentications from this address: mend the credentials, then wait.',
        headers: {
          'Retry-After': wait_s,
          'RateLimit-Limit': String(BURST),
          'RateLimit-Remaining': '0',
          'RateLimit-Reset': wait_s,
        },
      })
    },
    count(address) {
      const network = networkOf(address)
      const bucket = bucketOf(network)
      buckets.delete(network) // to the end: the map is in order of the latest failure
      buckets.set(network, { tokens: Math.max(0, bucket.tokens - 1), at: bucket.at })
      if (buckets.size > MOST_ADDRESSES) buckets.delete(buckets.keys().next().value as string)
    },
  }
}

/** An IPv4 address counts alone; of an IPv6 address the /64 counts, which one caller owns whole. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const behind = tail === '' ? 0 : tail.split(':').length
    while (groups.length < 8 - behind) groups.push('0')
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
