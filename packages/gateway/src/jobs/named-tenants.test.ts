import { describe, expect, it } from 'vitest'
import { createNamedTenants } from './named-tenants.ts'

describe('the tenants that wakeups name', () => {
  function createNamed() {
    const clock = { nowMs: 0, monotonic: () => clock.nowMs }
    return { clock, named: createNamedTenants(clock, 500) }
  }

  it('are each taken once, after a first pass that lists the tenants', () => {
    const { named } = createNamed()
    named.add(['a'])
    expect(named.take()).toBeUndefined()
    named.add(['a', 'b'])
    named.add(['b', 'c'])
    expect(named.take()).toEqual(['a', 'b', 'c'])
    expect(named.take()).toBeUndefined()
  })

  it('do not replace a listing if any wakeup named no tenant', () => {
    const { named } = createNamed()
    named.take()
    named.add(['a'])
    named.add()
    named.add(['b'])
    expect(named.take()).toBeUndefined()
    named.add(['c'])
    expect(named.take()).toEqual(['c'])
  })

  it('do not keep a busy loop from listing in time', () => {
    const { clock, named } = createNamed()
    named.take()
    const isListed: boolean[] = []
    for (; clock.nowMs < 1_500; clock.nowMs += 100) {
      named.add(['a'])
      isListed.push(named.take() === undefined)
    }
    expect(isListed.filter(Boolean)).toHaveLength(2)
  })
})
