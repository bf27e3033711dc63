import { describe, expect, it } from 'vitest'
import { createWokenKeys } from './wakeups.ts'

describe('keys named in wakeups', () => {
  function createKeys() {
    const clock = { nowMs: 0, monotonic: () => clock.nowMs }
    return { clock, keys: createWokenKeys(clock, 500) }
  }

  it('are each taken once, after a first pass that lists all owners', () => {
    const { keys } = createKeys()
    keys.add(['a'])
    expect(keys.take()).toBeUndefined()
    keys.add(['a', 'b'])
    keys.add(['b', 'c'])
    expect(keys.take()).toEqual(['a', 'b', 'c'])
    expect(keys.take()).toBeUndefined()
  })

  it('do not replace a listing if any wakeup named no key', () => {
    const { keys } = createKeys()
    keys.take()
    keys.add(['a'])
    keys.add()
    keys.add(['b'])
    expect(keys.take()).toBeUndefined()
    keys.add(['c'])
    expect(keys.take()).toEqual(['c'])
  })

  it('do not keep a busy loop from listing all owners in time', () => {
    const { clock, keys } = createKeys()
    keys.take()
    const isListed: boolean[] = []
    for (; clock.nowMs < 1_500; clock.nowMs += 100) {
      keys.add(['a'])
      isListed.push(keys.take() === undefined)
    }
    expect(isListed.filter(Boolean)).toHaveLength(2)
  })
})
