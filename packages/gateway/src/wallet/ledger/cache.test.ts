import { expect, test } from 'vitest'
import { type CachedWallet, createWalletCache } from './cache.ts'

const wallet = (tenantId: string) => ({ tenantId }) as CachedWallet

function openMemory() {
  const clock = { atMs: 0, monotonic: () => clock.atMs }
  return { memory: createWalletCache(clock), clock }
}

test('all or none are told, in the order of the question, and once', () => {
  const { memory } = openMemory()
  memory.keep([wallet('a'), wallet('b')])
  expect(memory.take(['a', 'c'])).toBeUndefined()
  expect(memory.take(['b', 'a'])).toEqual([wallet('b'), wallet('a')])
  expect(memory.take(['a'])).toBeUndefined()
})

test('after it was wrong of a wallet, that one is not kept for a second', () => {
  const { memory, clock } = openMemory()
  memory.wasOutdated(['a'])
  clock.atMs = 999
  memory.keep([wallet('a'), wallet('b')])
  expect(memory.take(['a'])).toBeUndefined()
  expect(memory.take(['b'])).toEqual([wallet('b')])
  clock.atMs = 1_000
  memory.keep([wallet('a')])
  expect(memory.take(['a'])).toEqual([wallet('a')])
})

test('of more than ten thousand the least recently kept is forgotten', () => {
  const { memory } = openMemory()
  const ids = Array.from({ length: 10_000 }, (_, index) => `${index}`)
  memory.keep(ids.map(wallet))
  memory.keep([wallet('0'), wallet('new')])
  expect(memory.take(['1'])).toBeUndefined()
  expect(memory.take(['0', '2', 'new'])).toHaveLength(3)
})
