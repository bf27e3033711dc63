import { MONEY_MAX } from '@dealer-esim/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  convertCost,
  formatRounding,
  MalformedRounding,
  NO_ROUNDING,
  parseRounding,
  priceFromCost,
  type Rounding,
  roundToNearest,
  roundUp,
} from './price-engine.ts'

const money = fc.bigInt({ min: 0n, max: 10_000_000_000n })
const rounding = fc
  .tuple(fc.bigInt({ min: 1n, max: 1_000_000n }), fc.bigInt({ min: 0n, max: 1_000_000n }))
  .map(([unit, ending]): Rounding => ({ unit, ending: ending % unit }))
const costPlus = fc.record({
  percent: fc.bigInt({ min: 0n, max: 10_000_000n }),
  fixed: money,
  minMargin: money,
  rounding,
})
const fits = (price: bigint, { unit, ending }: Rounding) => price % unit === ending

describe('a price calculated from a cost', () => {
  it('covers the cost plus the minimum margin, and the cost plus the percentage and the fixed amount', () => {
    fc.assert(
      fc.property(money, costPlus, (cost, rule) => {
        const price = priceFromCost(cost, rule)!
        expect(price - cost).toBeGreaterThanOrEqual(rule.minMargin)
        // price ≥ cost × (1 + percent) + fixed, without a division
        expect((price - rule.fixed) * 1_000_000n).toBeGreaterThanOrEqual(cost * (1_000_000n + rule.percent))
        expect(fits(price, rule.rounding)).toBe(true)
      }),
    )
  })

  it('is the lowest price that does so', () => {
    fc.assert(
      fc.property(money, costPlus, (cost, rule) => {
        const lower = priceFromCost(cost, rule)! - rule.rounding.unit
        const isMarkup = (lower - rule.fixed) * 1_000_000n >= cost * (1_000_000n + rule.percent)
        expect(isMarkup && lower - cost >= rule.minMargin && lower >= 0n).toBe(false)
      }),
    )
  })

  it('never falls when the cost rises', () => {
    fc.assert(
      fc.property(money, money, costPlus, (cost, more, rule) => {
        expect(priceFromCost(cost + more, rule)!).toBeGreaterThanOrEqual(priceFromCost(cost, rule)!)
      }),
    )
  })

  it('is undefined if it would exceed the largest amount', () => {
    const rule = { percent: 1n, fixed: 0n, minMargin: 0n, rounding: NO_ROUNDING }
    expect(priceFromCost(BigInt(MONEY_MAX), rule)).toBeUndefined()
  })
})

describe('a rounding', () => {
  it('rounds up to the next allowed price, or to the nearest one within half a unit', () => {
    fc.assert(
      fc.property(money, rounding, (price, rule) => {
        const up = roundUp(price, rule)
        expect(fits(up, rule)).toBe(true)
        expect(up - price).toBeGreaterThanOrEqual(0n)
        expect(up - price).toBeLessThan(rule.unit)
        const near = roundToNearest(price, rule)!
        expect(fits(near, rule)).toBe(true)
        const distance = near > price ? near - price : price - near
        expect(2n * distance <= rule.unit || near === rule.ending).toBe(true)
      }),
    )
  })

  it.each([
    ['none', 12_345n, 12_345n],
    ['.99', 12_345n, 19_900n],
    ['.99', 19_900n, 19_900n],
    ['.99', 19_901n, 29_900n],
    ['.00', 10_001n, 20_000n],
    ['.49/.99', 12_345n, 14_900n],
    ['.49/.99', 15_000n, 19_900n],
    ['0.05', 12_345n, 12_500n],
    ['10', 12_345n, 100_000n],
  ])('%s rounds %d up to %d', (text, price, expected) => {
    expect(roundUp(price, parseRounding(text))).toBe(expected)
    expect(formatRounding(parseRounding(text)).replace('10.00', '10')).toBe(text)
  })

  it.each(['', '.99/.49', '.29/.99', '.1/.2/.3', '0', '-1', '1,5'])('refuses “%s”', (text) => {
    expect(() => parseRounding(text)).toThrow(MalformedRounding)
  })
})

it('a converted cost is never below its exact value, and exceeds it by less than one unit', () => {
  fc.assert(
    fc.property(money, fc.bigInt({ min: 1n, max: 1_000_000_000n }), (cost, rate) => {
      const converted = convertCost(cost, rate)
      expect(converted * 1_000_000n).toBeGreaterThanOrEqual(cost * rate)
      expect((converted - 1n) * 1_000_000n).toBeLessThan(cost * rate || 1n)
    }),
  )
})
