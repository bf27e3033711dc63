import { networkKey } from '@dealer-esim/lib/address-blocks.ts'
import { ApiError, tooManyRequests } from '@dealer-esim/lib/api-error.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'

/**
 * Limits failed authentications per IPv4 address or IPv6 /64, before they cause a database call (contract §3).
 * Each network has a bucket that holds the failures it may still make. Only the look-up shows whether an attempt fails, so
 * no more attempts run at the same time than may fail; the others wait briefly. A successful attempt leaves the bucket
 * unchanged.
 */
export interface FailureLimit {
  /**
   * Runs an authentication attempt. An attempt that throws 101003, 101004 or 000101 has failed.
   * @throws ApiError 101007 instead of running it if the network has failed too often
   */
  attempt<Result>(address: string, work: () => Promise<Result>): Promise<Result>
}

const BURST = 30
const REGAINED_PER_S = 0.5
/** The number of networks that are remembered. The network whose last attempt is oldest is forgotten first. */
const NETWORKS_MAX = 20_000

interface Bucket {
  tokens: number
  /** When the bucket held this many tokens (monotonic). */
  at: number
  inProgress: number
  waiting: (() => void)[]
}

export function createFailureLimit(clock: Clock): FailureLimit {
  const buckets = new Map<string, Bucket>()

  function bucketOf(network: string): Bucket {
    const known = buckets.get(network)
    if (known) return known
    const bucket = { tokens: BURST, at: clock.monotonic(), inProgress: 0, waiting: [] }
    buckets.set(network, bucket)
    if (buckets.size > NETWORKS_MAX) buckets.delete(buckets.keys().next().value as string)
    return bucket
  }

  function refill(bucket: Bucket): void {
    const now = clock.monotonic()
    bucket.tokens = Math.min(BURST, bucket.tokens + ((now - bucket.at) / 1000) * REGAINED_PER_S)
    bucket.at = now
  }

  async function begin(bucket: Bucket): Promise<void> {
    for (;;) {
      refill(bucket)
      if (bucket.tokens - bucket.inProgress >= 1) break
      if (bucket.tokens < 1) throw refused(bucket.tokens)
      await new Promise<void>((resume) => bucket.waiting.push(resume))
    }
    bucket.inProgress++
  }

  function end(network: string, bucket: Bucket, failed: boolean): void {
    refill(bucket)
    bucket.inProgress--
    if (failed) bucket.tokens = Math.max(0, bucket.tokens - 1)
    buckets.delete(network)
    const isWorthKeeping = bucket.tokens < BURST || bucket.inProgress > 0 || bucket.waiting.length > 0
    if (isWorthKeeping) buckets.set(network, bucket) // set again at the end: the map is ordered by last use
    // Each waiting attempt checks again: it begins, continues to wait, or is refused.
    for (const resume of bucket.waiting.splice(0)) resume()
  }

  return {
    async attempt(address, work) {
      const network = networkKey(address)
      const bucket = bucketOf(network)
      await begin(bucket)
      let failed = false
      try {
        return await work()
      } catch (error) {
        failed = error instanceof ApiError && FAILURES.has(error.code)
        throw error
      } finally {
        end(network, bucket, failed)
      }
    },
  }
}

const FAILURES: ReadonlySet<string> = new Set(['101003', '101004', '000101'])

function refused(tokens: number): ApiError {
  return tooManyRequests({
    limit: BURST,
    waitS: Math.max(1, Math.ceil((1 - tokens) / REGAINED_PER_S)),
    message: 'Too many authentication attempts from this address have failed: correct the credentials, then wait.',
  })
}
