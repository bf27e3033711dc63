import { networkKey } from '@dealer-esim/lib/address-blocks.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'

const MINUTE_MS = 60_000
/** Bounds memory when requests come from very many addresses. The oldest are forgotten first. */
const ADDRESSES_MAX = 50_000

/** Limits calls by route and IPv4 address or IPv6 /64, in this process. Lockout (people/) is the real protection. */
export function createRateLimiter(clock: { monotonic(): number }) {
  const counts = new Map<string, { since: number; calls: number }>()
  return (name: string, perMinute: number, address: string): void => {
    const key = `${name} ${networkKey(address)}`
    const now = clock.monotonic()
    const entry = counts.get(key)
    if (!entry || now - entry.since >= MINUTE_MS) {
      counts.delete(key)
      counts.set(key, { since: now, calls: 1 })
      if (counts.size > ADDRESSES_MAX) counts.delete(counts.keys().next().value as string)
      return
    }
    entry.calls++
    if (entry.calls > perMinute)
      throw new Refusal(429, 'TOO_MANY_CALLS', 'Too many calls from your address. Wait a minute and try again.')
  }
}
