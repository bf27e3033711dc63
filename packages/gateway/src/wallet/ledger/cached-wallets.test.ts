import { expect, test } from 'vitest'
import { type CachedWallet, createWalletCache } from './cached-wallets.ts'

const wallet = (tenantId: string) => ({ tenantId }) as CachedWallet

function createCache() {
  const clock = { atMs: 0, monotonic: () => clock.atMs }
  return { cache: createWalletCache(clock), clock }
}

test('the wallet cache returns all requested wallets in order, or no wallets', () => {
  const { cache } = createCache()
  cache.put([wallet('a'), wallet('b')])
  expect(cache.take(['a', 'c'])).toBeUndefined()
  expect(cache.take(['b', 'a'])).toEqual([wallet('b'), wallet('a')])
  expect(cache.take(['a'])).toBeUndefined()
})

test('an outdated wallet is kept out of the cache for a second', () => {
  const { cache, clock } = createCache()
  cache.markOutdated(['a'])
  clock.atMs = 999
  cache.put([wallet('a'), wallet('b')])
  expect(cache.take(['a'])).toBeUndefined()
  expect(cache.take(['b'])).toEqual([wallet('b')])
  clock.atMs = 1_000
  cache.put([wallet('a')])
  expect(cache.take(['a'])).toEqual([wallet('a')])
})

test('the wallet cache drops the least recently stored wallet beyond ten thousand', () => {
  const { cache } = createCache()
  const ids = Array.from({ length: 10_000 }, (_, index) => `${index}`)
  cache.put(ids.map(wallet))
  cache.put([wallet('0'), wallet('new')])
  expect(cache.take(['1'])).toBeUndefined()
  expect(cache.take(['0', '2', 'new'])).toHaveLength(3)
})
