import { describe, expect, test } from 'vitest'
import { isDeeper, lowBalanceStep } from './low-balance.ts'

describe('the step is the deepest that the balance has fallen below', () => {
  test.each([
    [1_001n, 0],
    [1_000n, 0],
    [999n, 100],
    [750n, 100],
    [749n, 75],
    [500n, 75],
    [499n, 50],
    [100n, 50],
    [99n, 10],
    [0n, 10],
    [-5n, 10],
  ])('%s of a threshold of 1000 is step %s', (balance, step) => {
    expect(lowBalanceStep(balance, 1_000n)).toBe(step)
  })

  test('without a threshold there is none', () => {
    expect(lowBalanceStep(-1n, null)).toBe(0)
  })

  test('a threshold of zero tells of an overdraft only', () => {
    expect([lowBalanceStep(0n, 0n), lowBalanceStep(-1n, 0n)]).toEqual([0, 10])
  })

  test('amounts that a double cannot multiply are exact', () => {
    const threshold = 9_007_199_254_740_991n
    expect(lowBalanceStep((threshold * 3n) / 4n, threshold)).toBe(75)
    expect(lowBalanceStep((threshold * 3n) / 4n + 1n, threshold)).toBe(100)
  })
})

test('only the way down is told of', () => {
  const ways: [number, number, boolean][] = [
    [100, 0, true],
    [75, 100, true],
    [10, 0, true],
    [10, 10, false],
    [75, 50, false],
    [0, 10, false],
    [0, 0, false],
  ]
  for (const [step, before, told] of ways) expect(isDeeper(step, before)).toBe(told)
})
