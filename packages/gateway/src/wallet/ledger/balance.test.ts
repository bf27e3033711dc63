import { describe, expect, test } from 'vitest'
import { isLower, lowBalancePercent } from './balance.ts'

describe('the alert percentage is the lowest one that the balance has fallen below', () => {
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
  ])('a balance of %s with a threshold of 1000 gets the percentage %s', (balance, percent) => {
    expect(lowBalancePercent(balance, 1_000n)).toBe(percent)
  })

  test('a wallet without a threshold never has a low balance', () => {
    expect(lowBalancePercent(-1n, null)).toBe(0)
  })

  test('a threshold of zero raises an alert only for an overdraft', () => {
    expect([lowBalancePercent(0n, 0n), lowBalancePercent(-1n, 0n)]).toEqual([0, 10])
  })

  test('amounts beyond double precision are computed exactly', () => {
    const threshold = 9_007_199_254_740_991n
    expect(lowBalancePercent((threshold * 3n) / 4n, threshold)).toBe(75)
    expect(lowBalancePercent((threshold * 3n) / 4n + 1n, threshold)).toBe(100)
  })
})

test('only a falling balance raises an alert', () => {
  const changes: [number, number, boolean][] = [
    [100, 0, true],
    [75, 100, true],
    [10, 0, true],
    [10, 10, false],
    [75, 50, false],
    [0, 10, false],
    [0, 0, false],
  ]
  for (const [percent, before, isAlerted] of changes) expect(isLower(percent, before)).toBe(isAlerted)
})
