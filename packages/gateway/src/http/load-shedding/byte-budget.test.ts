import { describe, expect, it } from 'vitest'
import { createByteBudget } from './byte-budget.ts'

describe('a byte budget', () => {
  it('when exceeded, drops the connection that holds most, whichever one exceeded it', () => {
    const dropped: string[] = []
    const budget = createByteBudget<string>(10, (holder) => dropped.push(holder))
    budget.hold('large', 4)
    budget.hold('small', 3)
    budget.hold('large', 2)
    expect(dropped).toEqual([])
    budget.hold('small', 2)
    expect(dropped).toEqual(['large'])
    budget.release('large', 6)
    budget.hold('other', 5)
    expect(dropped).toEqual(['large'])
    budget.release('small')
    budget.hold('other', 5)
    expect(dropped).toEqual(['large'])
    budget.hold('other', 1)
    expect(dropped).toEqual(['large', 'other'])
  })
})
